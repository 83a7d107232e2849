/** The consumers that this process subscribes: see `Subscriptions` for what a store keeps of them. */
import { SuperstepError } from "../core/index.ts"
import type { Clock, EventType, Keeper } from "../runtime/index.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "../runtime/internal.ts"
import type { RuntimeProblem } from "./options.ts"
import { type EventHandler, ServedConsumer } from "./served-consumer.ts"

export interface SubscriptionOptions {
  /** The name under which the store keeps its position. Subscriptions with the same name share the events. */
  readonly consumer: string
  /** Where a new consumer begins: with events from now on, or with the oldest that the store has. Default: `now`. */
  readonly from?: "now" | "beginning" | undefined
  /** How often an event is tried before it is given up. Default: until it is handled. */
  readonly maxAttempts?: number | undefined
}

/** A consumer that this process serves, or waits to serve. */
export interface Subscription {
  readonly consumer: string
  /**
   * Stops serving the consumer here, once the handler has returned. Its position stays, and another process may continue
   * from there.
   */
  close(): Promise<void>
}

const OPTIONS: OptionNames<SubscriptionOptions> = { consumer: true, from: true, maxAttempts: true }

const TYPES: { readonly [Type in EventType]: true } = {
  "run.queued": true,
  "run.started": true,
  "run.ended": true,
  "run.quarantined": true,
  "request.opened": true,
  "request.closed": true,
}

/** Long names would not fit an index. */
const MAX_NAME = 200

export class Consumers {
  readonly #keeper: Keeper
  readonly #clock: Clock
  readonly #onProblem: ((problem: RuntimeProblem) => void) | undefined
  readonly #served = new Map<string, ServedConsumer>()

  constructor(keeper: Keeper, clock: Clock, onProblem: ((problem: RuntimeProblem) => void) | undefined) {
    this.#keeper = keeper
    this.#clock = clock
    this.#onProblem = onProblem
  }

  /** Resolves when the store has the consumer: it misses nothing from then on. */
  async subscribe(
    types: EventType | readonly EventType[],
    options: SubscriptionOptions,
    handler: EventHandler,
  ): Promise<Subscription> {
    const wanted = checkTypes(types)
    checkOptions(options, handler)
    const { consumer, from = "now", maxAttempts = Number.POSITIVE_INFINITY } = options
    if (this.#served.has(consumer)) throw consumerTaken(consumer)
    const served = new ServedConsumer({
      consumer,
      types: wanted,
      maxAttempts,
      handler,
      keeper: this.#keeper,
      clock: this.#clock,
      onProblem: (error, runId) => this.#onProblem?.({ runId, error }),
    })
    this.#served.set(consumer, served)
    try {
      await this.#keeper.store.subscriptions.add(consumer, from)
    } catch (error) {
      this.#served.delete(consumer)
      throw error
    }
    served.begin()
    return {
      consumer,
      close: async () => {
        await served.close()
        if (this.#served.get(consumer) === served) this.#served.delete(consumer)
      },
    }
  }

  /** There may be new events. */
  wake(): void {
    for (const served of this.#served.values()) served.wake()
  }

  /** Waits at most so many milliseconds for handlers. */
  async close(grace: number): Promise<void> {
    const all = [...this.#served.values()]
    const closed = Promise.all(all.map((served) => served.close()))
    if (grace > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#clock.setTimer(this.#clock.now() + grace, resolve)
        closed.finally(() => {
          cancel()
          resolve()
        })
      })
    }
    await Promise.all(all.map((served) => served.abandon()))
  }
}

function checkTypes(types: EventType | readonly EventType[]): ReadonlySet<EventType> {
  const list: readonly unknown[] = Array.isArray(types) ? types : [types]
  const unknown = list.find((type) => typeof type !== "string" || !Object.hasOwn(TYPES, type))
  if (unknown !== undefined || list.length === 0) {
    throw invalid(`the events are ${Object.keys(TYPES).join(", ")}, not ${shown(unknown)}`)
  }
  return new Set(list as readonly EventType[])
}

function checkOptions(options: SubscriptionOptions, handler: unknown): void {
  if (!isOptions(options)) throw invalid(`the options are an object such as { consumer: "billing" }`)
  const problem = unknownOption(options, OPTIONS)
  if (problem !== undefined) throw invalid(problem)
  const { consumer, from, maxAttempts } = options
  if (typeof consumer !== "string" || consumer === "" || consumer.length > MAX_NAME) {
    throw invalid(`consumer must be a name of 1 to ${MAX_NAME} characters, not ${shown(consumer)}`)
  }
  if (from !== undefined && from !== "now" && from !== "beginning") {
    throw invalid(`from must be "now" or "beginning", not ${shown(from)}`)
  }
  if (maxAttempts !== undefined && !(Number.isInteger(maxAttempts) && maxAttempts >= 1)) {
    throw invalid(`maxAttempts must be a whole number of at least 1, not ${shown(maxAttempts)}`)
  }
  if (typeof handler !== "function") throw invalid(`the handler must be a function, not ${shown(handler)}`)
}

function invalid(message: string): SuperstepError {
  return new SuperstepError(
    "OPTION_INVALID",
    `Bad subscription: ${message}${message.endsWith("?") ? "" : "."}`,
  )
}

function consumerTaken(consumer: string): SuperstepError {
  const text = `This runtime already subscribes consumer "${consumer}": close that subscription first, or subscribe to all its events at once.`
  return new SuperstepError("CONSUMER_TAKEN", text)
}

export function consumerUnknown(consumer: string): SuperstepError {
  return new SuperstepError("CONSUMER_UNKNOWN", `The store has no consumer "${consumer}".`)
}
