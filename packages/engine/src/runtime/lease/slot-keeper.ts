/**
 * Takes slots for the tasks and requests of this process, and waits for those that are not free. The store notifies it; it also
 * looks again when time may have admitted one, and polls, because notifications may be lost.
 *
 * Invariants:
 * W1 Everything that waits has a place in the store's line from the moment at which it was asked for.
 * W2 A slot that is left, taken or not, is left in the store: leaving is retried until the store has answered.
 */
import type { Clock } from "../ports/clock.ts"
import { andThen, isPromise, type MaybePromise } from "../ports/maybe-promise.ts"
import type { PoolSlots, SlotEnd, SlotRequest, Slots } from "../ports/slots.ts"
import { newRunId } from "../run/options.ts"

/** Milliseconds between two looks, where the store notifies, and where it does not. */
const POLL = 1_000
const POLL_OFTEN = 100

export type SlotWish = Pick<SlotRequest, "pool" | "lanes" | "score" | "by">

interface SlotListener {
  /** Once, unless the slot is left before. May be called at once. */
  onTaken(): void
  /** The store cannot be asked. */
  onError(error: unknown): void
}

/** A slot that was asked for. */
export interface AskedSlot {
  readonly isTaken: boolean
  /** Gives the slot back, or the place in line. The first call counts. */
  leave(end?: Pick<SlotEnd, "costs" | "closeFor">): void
}

interface Waiter {
  readonly request: Omit<SlotRequest, "now">
  /** The store has it in line. */
  isKnown: boolean
  readonly onTaken: () => void
}

interface WaitingPool {
  readonly waiters: Map<string, Waiter>
  isChecking: boolean
  cancelTimer: (() => void) | undefined
}

export class SlotKeeper {
  readonly #slots: Slots
  readonly #clock: Clock
  readonly #holder: string
  readonly #pools = new Map<string, WaitingPool>()
  #service: { close(): void } | undefined
  #closed = false

  readonly #now = () => this.#clock.now()

  constructor(slots: Slots, clock: Clock, holder: string) {
    this.#slots = slots
    this.#clock = clock
    this.#holder = holder
  }

  take(wish: SlotWish, { onTaken, onError }: SlotListener): AskedSlot {
    const id = newRunId()
    const request = { ...wish, id, holder: this.#holder }
    let isTaken = false
    let isLeft = false
    const taken = () => {
      isTaken = true
      onTaken()
    }
    const waiter: Waiter = { request, isKnown: false, onTaken: taken }
    this.#poolOf(wish.pool).waiters.set(id, waiter)
    const asked = this.#ask(waiter, (error) => {
      this.#forget(wish.pool, id)
      if (!isLeft) onError(error)
    })
    return {
      get isTaken() {
        return isTaken
      },
      leave: (end = {}) => {
        if (isLeft) return
        isLeft = true
        this.#forget(wish.pool, id)
        andThen(asked, () => this.#leave({ ...end, id, pool: wish.pool, now: this.#now }))
      },
    }
  }

  #poolOf(name: string): WaitingPool {
    let pool = this.#pools.get(name)
    if (pool === undefined) {
      pool = { waiters: new Map(), isChecking: false, cancelTimer: undefined }
      this.#pools.set(name, pool)
    }
    return pool
  }

  #forget(name: string, id: string): void {
    const pool = this.#pools.get(name)
    pool?.waiters.delete(id)
    if (pool === undefined || pool.waiters.size > 0) return
    pool.cancelTimer?.()
    this.#pools.delete(name)
    if (this.#pools.size > 0) return
    this.#service?.close()
    this.#service = undefined
  }

  /** W1. Resolves when the store has answered. */
  #ask(waiter: Waiter, onError: (error: unknown) => void): MaybePromise<void> {
    const { request } = waiter
    let state: MaybePromise<PoolSlots>
    try {
      state = this.#slots.take({ ...request, now: this.#now })
    } catch (error) {
      return onError(error)
    }
    const answered = (found: PoolSlots) => {
      waiter.isKnown = true
      this.#apply(request.pool, found)
    }
    return isPromise(state) ? state.then(answered, onError) : answered(state)
  }

  #apply(name: string, { taken, waiting, retryIn }: PoolSlots): void {
    const pool = this.#pools.get(name)
    if (pool === undefined) return
    for (const [id, waiter] of [...pool.waiters]) {
      if (taken.has(id)) {
        this.#forget(name, id)
        waiter.onTaken()
      } else if (waiter.isKnown && !waiting.has(id)) {
        // The store did not know this process for a while. It gets its place by its score.
        waiter.isKnown = false
        this.#ask(waiter, () => {
          waiter.isKnown = true
        })
      }
    }
    this.#lookLater(name, retryIn)
  }

  #lookLater(name: string, retryIn = POLL): void {
    const pool = this.#pools.get(name)
    if (pool === undefined || this.#closed) return
    this.#service ??= this.#slots.watch?.(this.#holder, () => this.#checkAll())
    pool.cancelTimer?.()
    const poll = this.#slots.watch === undefined ? POLL_OFTEN : POLL
    const at = this.#clock.now() + Math.min(Math.max(1, Math.ceil(retryIn)), poll)
    pool.cancelTimer = this.#clock.setTimer(at, () => this.#check(name))
  }

  #checkAll(): void {
    for (const name of [...this.#pools.keys()]) this.#check(name)
  }

  #check(name: string): void {
    const pool = this.#pools.get(name)
    if (pool === undefined || pool.isChecking || this.#closed) return
    pool.isChecking = true
    const done = (state?: PoolSlots) => {
      pool.isChecking = false
      if (state !== undefined) this.#apply(name, state)
      // A store that does not answer is asked again.
      else this.#lookLater(name)
    }
    attempt(
      () => this.#slots.check({ holder: this.#holder, pool: name, now: this.#now }),
      done,
      () => done(),
    )
  }

  /** W2. */
  #leave(end: SlotEnd): void {
    if (this.#closed) return
    attempt(
      () => this.#slots.leave(end),
      () => this.#check(end.pool),
      () => {
        this.#clock.setTimer(this.#clock.now() + POLL, () => this.#leave(end))
      },
    )
  }

  /** Its holder is about to be dismissed, which gives everything back. */
  close(): void {
    this.#closed = true
    this.#service?.close()
    for (const { cancelTimer } of this.#pools.values()) cancelTimer?.()
  }
}

function attempt<T>(
  act: () => MaybePromise<T>,
  then: (value: T) => void,
  onError: (error: unknown) => void,
): void {
  let value: MaybePromise<T>
  try {
    value = act()
  } catch (error) {
    return onError(error)
  }
  if (isPromise(value)) value.then(then, onError)
  else then(value)
}
