/** Work that ends with its own time or with its caller's signal, whether or not it listens. */
import type { Clock } from "@superstep/engine"

export interface TimeLimit {
  readonly clock: Clock
  readonly milliseconds: number
  readonly signal?: AbortSignal | undefined
  readonly timedOut: () => Error
}

export async function within<T>(limit: TimeLimit, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const { clock, milliseconds, signal, timedOut } = limit
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
  const disarm = clock.setTimer(clock.now() + milliseconds, () => stop(timedOut()))
  try {
    return await Promise.race([work(controller.signal), stopped])
  } finally {
    disarm()
    signal?.removeEventListener("abort", onAbort)
  }
}

/** Waits; rejects with the signal's reason when that is aborted first. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const onAbort = () => {
      disarm()
      reject(signal.reason)
    }
    const disarm = clock.setTimer(clock.now() + milliseconds, () => {
      signal.removeEventListener("abort", onAbort)
      resolve()
    })
    signal.addEventListener("abort", onAbort, { once: true })
  })
}
