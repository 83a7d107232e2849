/**
 * Whether the server answers. Every request of the studio reports it, so that all screens agree: streams that connect again, lists
 * that look for news, and what a person does. It does not depend on timers that browsers slow down in the background.
 */
import { useSyncExternalStore } from "react"

/** What a proxy answers in the place of a server that it cannot reach. */
const GATEWAY_ERRORS: readonly number[] = [502, 504]

let isAnswering = true
const listeners = new Set<() => void>()

/** A request ended with a response of this status; undefined: without a response. */
export function reportAnswer(status: number | undefined): void {
  const value = status !== undefined && !GATEWAY_ERRORS.includes(status)
  if (value === isAnswering) return
  isAnswering = value
  for (const listener of listeners) listener()
}

/** Whether a request failed because the server does not answer: it can be sent again when it does. */
export function isUnanswered(error: unknown): boolean {
  const { status } = error as { readonly status?: number }
  return status === undefined || GATEWAY_ERRORS.includes(status)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

export function useIsAnswering(): boolean {
  return useSyncExternalStore(subscribe, () => isAnswering)
}

/** Calls the function each time that the server answers again. Returns a function that ends it. */
export function onReturn(listener: () => void): () => void {
  return subscribe(() => {
    if (isAnswering) listener()
  })
}

/** Resolves when the server answers: at once if it does. Rejects when the signal is aborted. */
export async function answering(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (isAnswering) return
  await new Promise<void>((resolve, reject) => {
    const end = onReturn(() => {
      end()
      resolve()
    })
    signal.addEventListener("abort", () => {
      end()
      reject(signal.reason)
    })
  })
}
