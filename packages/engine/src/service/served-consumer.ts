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
import { Signal } from "../runtime/internal.ts"

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
    const error = types.has(event.type) ? await this.#handle(event, attempt) : undefined
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
