/** Work that ends with its own time or with its caller's signal, whether or not it listens. */
import type { Clock } from "../runtime/index.ts"

/** Runs work that can be stopped: by `signal`, or by whoever is given `stop`. What it says after that is dropped. */
export async function stoppable<T>(
  signal: AbortSignal | undefined,
  work: (signal: AbortSignal, stop: (reason: unknown) => void) => T | Promise<T>,
): Promise<T> {
  signal?.throwIfAborted()
  const controller = new AbortController()
  let stop!: (reason: unknown) => void
  const stopped = new Promise<never>((_, reject) => {
    stop = (reason) => {
      reject(reason)
      controller.abort(reason)
    }
  })
  const onAbort = () => stop(signal?.reason)
  signal?.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([(async () => work(controller.signal, stop))(), stopped])
  } finally {
    signal?.removeEventListener("abort", onAbort)
  }
}

export interface TimeLimit {
  readonly clock: Clock
  readonly milliseconds: number
  readonly signal?: AbortSignal | undefined
  /** What is wrong when the time is up. */
  readonly timedOut: () => Error
}

export function withTimeLimit<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, milliseconds, timedOut } = limit
  return stoppable(limit.signal, async (signal, stop) => {
    const disarm = clock.setTimer(clock.now() + milliseconds, () => stop(timedOut()))
    // Also when it is stopped and does not listen.
    signal.addEventListener("abort", disarm, { once: true })
    try {
      return await work(signal)
    } finally {
      disarm()
    }
  })
}

/** Waits for something that cannot be called back; rejects with the signal's reason when that is aborted first. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  // What fails after it was given up fails for nobody, also where that was before it came here.
  work.catch(() => undefined)
  return stoppable(signal, () => work)
}

/** Waits; rejects with the signal's reason when that is aborted first. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  let disarm: (() => void) | undefined
  const over = new Promise<void>((resolve) => {
    disarm = clock.setTimer(clock.now() + milliseconds, resolve)
  })
  return untilAborted(over, signal).finally(disarm)
}
