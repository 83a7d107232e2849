/** Ends a call before its model replies: the caller stops it, or its time is up. */
import { isSuperstepError, SuperstepError } from "../../core/index.ts"
import type { Clock } from "../../runtime/index.ts"
import { onAbort } from "../../runtime/internal.ts"

/** The error of a stopped call: the reason of its signal, if that is an error of the engine. */
export function stopError(signal: AbortSignal): SuperstepError {
  const { reason } = signal
  if (isSuperstepError(reason)) return reason
  const text = "The model call was stopped by its caller."
  return new SuperstepError("CANCELLED", text, { cause: reason, retryable: false })
}

/**
 * Begins work, and resolves with what `use` makes of its result, or rejects with the signal's error if that comes first, so
 * that a model that ignores its signal does not block the caller. `late` disposes of a result that arrives later.
 */
export function orStopped<T, R>(
  begin: () => PromiseLike<T>,
  signal: AbortSignal,
  use: (value: T) => R | Promise<R>,
  late?: (value: T) => Promise<void>,
): Promise<R> {
  return new Promise((resolve, reject) => {
    const work = begin()
    const stop = () => reject(stopError(signal))
    let leave: (() => void) | undefined
    if (signal.aborted) stop()
    else leave = onAbort(signal, stop)
    work.then(
      (value) => {
        leave?.()
        if (signal.aborted) {
          late?.(value).catch(() => undefined)
          return
        }
        try {
          resolve(use(value))
        } catch (error) {
          reject(error)
        }
      },
      (error) => {
        leave?.()
        reject(signal.aborted ? stopError(signal) : error)
      },
    )
  })
}

export function pause(milliseconds: number, clock: Clock, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopError(signal))
    const stop = () => {
      cancelTimer()
      reject(stopError(signal))
    }
    const cancelTimer = clock.setTimer(clock.now() + milliseconds, () => {
      signal.removeEventListener("abort", stop)
      resolve()
    })
    signal.addEventListener("abort", stop, { once: true })
  })
}

/** A signal that fires with its parent or when time is up. Close it: otherwise its parent keeps it alive. */
export class Deadline {
  readonly #clock: Clock
  readonly #parent: AbortSignal
  readonly #controller = new AbortController()
  readonly #onParent: () => void
  #cancelTimer: (() => void) | undefined

  constructor(parent: AbortSignal, clock: Clock) {
    this.#clock = clock
    this.#parent = parent
    this.#onParent = () => this.#controller.abort(parent.reason)
    if (parent.aborted) this.#onParent()
    else parent.addEventListener("abort", this.#onParent, { once: true })
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Expires after this many milliseconds, replacing any earlier deadline. */
  set(milliseconds: number, error: () => SuperstepError): void {
    this.clear()
    this.#cancelTimer = this.#clock.setTimer(this.#clock.now() + milliseconds, () => {
      this.#cancelTimer = undefined
      this.#controller.abort(error())
    })
  }

  clear(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
  }

  close(): void {
    this.clear()
    this.#parent.removeEventListener("abort", this.#onParent)
  }
}
