/**
 * Serves one consumer in this process, while no other process does: hands its events to the handler, one after another in
 * the order of the store, and saves its position as it goes. Progress is saved while the next event is handled, so a
 * crash repeats the events since the last save. An event whose handler fails is retried, with growing pauses, and those
 * after it wait.
 */
import { type RunId, SuperstepError } from "../core/index.ts"
import {
  type Clock,
  type ConsumerFailure,
  type ConsumerLease,
  type EventType,
  type Keeper,
  type StoredEvent,
  TICK,
} from "../runtime/index.ts"
import { isOptions, type OptionNames, Signal, shown, unknownOption } from "../runtime/internal.ts"
import { isInternal } from "./internal-runs.ts"
import type { RuntimeProblem } from "./options.ts"

/** Events per query. */
const BATCH = 250
const FIRST_PAUSE = 1_000
const MAX_PAUSE = 300_000

export type EventOf<Type extends EventType> = Extract<StoredEvent, { readonly type: Type }>

/** An event counts as handled when the returned promise resolves. */
export type EventHandler<Type extends EventType = EventType> = (
  event: EventOf<Type>,
  delivery: EventDelivery,
) => unknown

export interface EventDelivery {
  /** 1, 2, 3, … */
  readonly attempt: number
  /** Aborted when the subscription or its runtime closes. */
  readonly signal: AbortSignal
}

export interface ServedConsumerOptions {
  readonly consumer: string
  readonly types: ReadonlySet<EventType>
  readonly maxAttempts: number
  readonly handler: EventHandler
  readonly keeper: Keeper
  readonly clock: Clock
  onProblem(error: Error, runId?: RunId): void
}

export class ServedConsumer {
  readonly #options: ServedConsumerOptions
  readonly #abort = new AbortController()
  readonly #woken = new Signal()
  #hasNews = false
  #lease: ConsumerLease | undefined
  #position = 0
  #failure: ConsumerFailure | undefined
  /** How many events were given up since the last save. */
  #missed = 0
  #isSaved = true
  #saving: Promise<void> | undefined
  /** The handler has control. */
  #isHandling = false
  #isAbandoned = false
  #running: Promise<void> | undefined

  constructor(options: ServedConsumerOptions) {
    this.#options = options
  }

  begin(): void {
    this.#running ??= this.#run()
  }

  /** There may be new events. */
  wake(): void {
    this.#hasNews = true
    this.#woken.notify()
  }

  /** Begins nothing more; resolves when the handler has returned and its progress is saved. */
  async close(): Promise<void> {
    this.#abort.abort()
    this.wake()
    await this.#running
  }

  /** The same without waiting for a handler, whose event is then delivered again. */
  async abandon(): Promise<void> {
    const closed = this.close()
    if (!this.#isHandling) return await closed
    this.#isAbandoned = true
    await this.#saving
  }

  get #isClosed(): boolean {
    return this.#abort.signal.aborted
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      let pauseUntil: number | undefined
      try {
        pauseUntil = await this.#serve()
      } catch (error) {
        // The store may be back with the next tick.
        this.#options.onProblem(asError(error))
      }
      if (!this.#isClosed) await this.#pause(pauseUntil)
    }
    if (!this.#isAbandoned) await this.#release()
  }

  /** Until that time, whatever happens; without one, until there may be new events. */
  async #pause(until: number | undefined): Promise<void> {
    if (until === undefined && this.#hasNews) return
    const { clock } = this.#options
    const end = until ?? clock.now() + TICK
    const cancel = clock.setTimer(end, () => this.wake())
    do await this.#woken.wait()
    while (until !== undefined && clock.now() < end && !this.#isClosed)
    cancel()
  }

  /** Handles what there is. Returns when a failed event is tried again. */
  async #serve(): Promise<number | undefined> {
    const { keeper, clock } = this.#options
    this.#hasNews = false
    await keeper.begin()
    if (!(await this.#claim())) return undefined
    if (!this.#isSaved) await this.#save()
    const retryAt = retryTime(this.#failure)
    if (retryAt !== undefined && retryAt > clock.now()) return retryAt
    for (;;) {
      const events = await keeper.store.subscriptions.events(this.#position, BATCH)
      for (const event of events) {
        if (this.#isClosed || this.#lease === undefined) return undefined
        if (!(await this.#pass(event))) return retryTime(this.#failure)
      }
      if (events.length < BATCH) break
    }
    await this.#saving
    return undefined
  }

  async #claim(): Promise<boolean> {
    if (this.#lease !== undefined) return true
    const { keeper, consumer } = this.#options
    const claimed = await keeper.store.subscriptions.claim(consumer, keeper.id)
    if (claimed === undefined) return false
    this.#lease = claimed.lease
    this.#position = claimed.position
    this.#failure = claimed.failure
    this.#missed = 0
    this.#isSaved = true
    return true
  }

  /** False when the event is to be tried again. */
  async #pass(event: StoredEvent): Promise<boolean> {
    const { types, maxAttempts, clock } = this.#options
    const attempt = (this.#failure?.attempts ?? 0) + 1
    const error =
      types.has(event.type) && !isInternal(event.workflow) ? await this.#handle(event, attempt) : undefined
    if (this.#isAbandoned || (error !== undefined && this.#isClosed)) return false
    const isGivenUp = attempt >= maxAttempts
    if (error === undefined || isGivenUp) {
      this.#position = event.position
      this.#failure = undefined
      if (error !== undefined) this.#missed++
    } else {
      this.#failure = { message: error.message, at: clock.now(), attempts: attempt }
    }
    if (error !== undefined) this.#report(event, attempt, isGivenUp, error)
    const saved = this.#save()
    if (error === undefined || isGivenUp) return true
    await saved
    return false
  }

  async #handle(event: StoredEvent, attempt: number): Promise<Error | undefined> {
    const { handler, keeper } = this.#options
    this.#isHandling = true
    try {
      await keeper.sure()
      this.#abort.signal.throwIfAborted()
      await handler(event as never, { attempt, signal: this.#abort.signal })
      return undefined
    } catch (error) {
      return asError(error)
    } finally {
      this.#isHandling = false
    }
  }

  #report({ type, runId }: StoredEvent, attempt: number, isGivenUp: boolean, cause: Error): void {
    const next = isGivenUp ? "It is given up" : `It is tried again in ${pauseAfter(attempt) / 1_000} s`
    const text = `Consumer "${this.#options.consumer}" failed to handle ${type} of run "${runId}", attempt ${attempt}: ${cause.message}. ${next}.`
    this.#options.onProblem(new SuperstepError("CONSUMER_FAILED", text, { run: runId, cause }), runId)
  }

  /** Saves where it is now, or after the save in progress where it is then. Never rejects. */
  #save(): Promise<void> {
    this.#isSaved = false
    this.#saving ??= this.#saveAll().finally(() => {
      this.#saving = undefined
    })
    return this.#saving
  }

  async #saveAll(): Promise<void> {
    const { subscriptions } = this.#options.keeper.store
    while (!this.#isSaved && this.#lease !== undefined) {
      const missed = this.#missed
      this.#isSaved = true
      this.#missed = 0
      const progress = { position: this.#position, failure: this.#failure }
      try {
        // Another process serves the consumer, or it was removed.
        if (!(await subscriptions.advance(this.#lease, progress, missed))) this.#lease = undefined
      } catch (error) {
        this.#isSaved = false
        this.#missed += missed
        this.#options.onProblem(asError(error))
        return
      }
    }
  }

  async #release(): Promise<void> {
    const { store } = this.#options.keeper
    await this.#saving
    if (this.#lease === undefined) return
    try {
      await store.subscriptions.release(this.#lease)
    } catch (error) {
      this.#options.onProblem(asError(error))
    }
  }
}

function retryTime(failure: ConsumerFailure | undefined): number | undefined {
  return failure && failure.at + pauseAfter(failure.attempts)
}

function pauseAfter(attempts: number): number {
  return Math.min(FIRST_PAUSE * 2 ** (attempts - 1), MAX_PAUSE)
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

// The consumers that this process subscribes: see `Subscriptions` for what a store keeps of them.

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
  "run.paused": true,
  "run.resumed": true,
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
