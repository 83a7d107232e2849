/** Time limits: work that ends with its time or with its caller's signal, whether or not it listens to the signal. */
import type { Clock, Context } from "../runtime/index.ts"
import { isPromise, type MaybePromise, onAbort } from "../runtime/internal.ts"

/**
 * Runs work that `signal` or `stop` can stop. What it returns after that is dropped. It has a signal of its own, so that its
 * listeners end with it; most work does not read it, and a signal costs more than the rest.
 */
export function stoppable<T>(
  signal: AbortSignal | undefined,
  work: (own: () => AbortSignal, stop: (reason: unknown) => void) => MaybePromise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted()
    let controller: AbortController | undefined
    let stoppedBy: { readonly reason: unknown } | undefined
    let leave: (() => void) | undefined
    const stop = (reason: unknown) => {
      leave?.()
      stoppedBy ??= { reason }
      reject(reason)
      controller?.abort(reason)
    }
    const own = () => {
      controller ??= new AbortController()
      if (stoppedBy !== undefined) controller.abort(stoppedBy.reason)
      return controller.signal
    }
    if (signal !== undefined) leave = onAbort(signal, () => stop(signal.reason))
    const done = (value: T) => {
      leave?.()
      resolve(value)
    }
    const failed = (error: unknown) => {
      leave?.()
      reject(error)
    }
    try {
      const made = work(own, stop)
      if (isPromise(made)) made.then(done, failed)
      else done(made)
    } catch (error) {
      failed(error)
    }
  })
}

export interface TimeLimit {
  readonly clock: Clock
  readonly milliseconds: number
  readonly signal?: AbortSignal | undefined
  /** Creates the error for when the time is up. */
  readonly timedOut: () => Error
}

export function withTimeLimit<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, milliseconds, timedOut } = limit
  return stoppable(limit.signal, async (own, stop) => {
    const signal = own()
    const disarm = clock.setTimer(clock.now() + milliseconds, () => stop(timedOut()))
    // Applies even if the work ignores its signal.
    signal.addEventListener("abort", disarm, { once: true })
    try {
      return await work(signal)
    } finally {
      disarm()
    }
  })
}

/** Waits for work that cannot be stopped; rejects with the signal's reason if the signal aborts first. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  // A failure after the abort is ignored, even if the signal was already aborted.
  work.catch(() => undefined)
  return stoppable(signal, () => work)
}

/** Waits; rejects with the signal's reason if the signal aborts first. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  let disarm: (() => void) | undefined
  const over = new Promise<void>((resolve) => {
    disarm = clock.setTimer(clock.now() + milliseconds, resolve)
  })
  return untilAborted(over, signal).finally(disarm)
}

/** The time limit of one attempt. It is paused while the attempt waits for a person, a timer or a workflow. */
export class AttemptTimer {
  readonly #clock: Clock
  readonly #onTimeout: () => void
  #left: number
  #since = 0
  #waits = 0
  #disarm: (() => void) | undefined

  constructor(clock: Clock, milliseconds: number, onTimeout: () => void) {
    this.#clock = clock
    this.#left = milliseconds
    this.#onTimeout = onTimeout
    this.#start()
  }

  #start(): void {
    this.#since = this.#clock.now()
    this.#disarm = this.#clock.setTimer(this.#since + this.#left, this.#onTimeout)
  }

  end(): void {
    this.#disarm?.()
    this.#disarm = undefined
    this.#left = 0
  }

  /** The `ctx` for the tool: `ask`, `sleep` and `call` pause the timer. */
  watching(ctx: Context): Context {
    const paused =
      <Args extends readonly unknown[], T>(wait: (...args: Args) => Promise<T>) =>
      (...args: Args) =>
        this.#whilePaused(() => wait(...args))
    const replaced: Readonly<Record<PropertyKey, unknown>> = {
      ask: paused(ctx.ask.bind(ctx)),
      sleep: paused(ctx.sleep.bind(ctx)),
      call: paused(ctx.call.bind(ctx)),
      scope: (name: string) => this.watching(ctx.scope(name)),
    }
    return new Proxy(ctx, {
      // With the context itself as `this`, because its getters read private fields.
      get: (target, key) => (Object.hasOwn(replaced, key) ? replaced[key] : Reflect.get(target, key, target)),
    })
  }

  async #whilePaused<T>(wait: () => Promise<T>): Promise<T> {
    if (this.#waits++ === 0 && this.#disarm !== undefined) {
      this.#disarm()
      this.#left = Math.max(0, this.#left - Math.max(0, this.#clock.now() - this.#since))
    }
    try {
      return await wait()
    } finally {
      if (--this.#waits === 0 && this.#disarm !== undefined) this.#start()
    }
  }
}
