/**
 * Whether the server answers. Every request of the studio reports it, so that all screens agree: streams that connect again, lists
 * that look for news, and what a person does. It does not depend on timers that browsers slow down in the background.
 *
 * A request without an answer may be an accident. It is an outage when a request that began after such a failure fails,
 * too: the client repeats requests at once, so an outage is seen within moments, and an accident never is.
 */
import { useSyncExternalStore } from "react"

/** What a proxy answers in the place of a server that it cannot reach. */
const GATEWAY_ERRORS: readonly number[] = [502, 504]

/** Requests without an answer since the last answer. */
let failures = 0
let isOut = false
const listeners = new Set<() => void>()

/** Sends a request, and reports whether it was answered. One that is aborted says nothing about the server. */
export async function watched(send: () => Promise<Response>, signal?: AbortSignal | null): Promise<Response> {
  const before = failures
  try {
    const response = await send()
    if (GATEWAY_ERRORS.includes(response.status)) report(failures + 1, before > 0)
    else report(0, false)
    return response
  } catch (error) {
    if (signal?.aborted !== true) report(failures + 1, before > 0)
    throw error
  }
}

function report(count: number, isRepeated: boolean): void {
  const isReturn = count === 0 && failures > 0
  const wasOut = isOut
  failures = count
  isOut = count > 0 && (isOut || isRepeated)
  if (isReturn || isOut !== wasOut) for (const listener of listeners) listener()
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

export function isOutage(): boolean {
  return isOut
}

export function useIsAnswering(): boolean {
  return !useSyncExternalStore(subscribe, isOutage)
}

/** Calls the function each time that the server answers after a request that it did not answer. Returns a function that ends it. */
export function onReturn(listener: () => void): () => void {
  return subscribe(() => {
    if (failures === 0) listener()
  })
}

/** Resolves when the server answers: at once if the last request was answered. Rejects when the signal is aborted. */
export async function answering(signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (failures === 0) return
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
