/**
 * Listens to signals that fire at most once, such as that of a task, which every call of an agent listens to for a while. A
 * signal gets one native listener, which stays: adding and removing one for each call takes as long as much of the call.
 */

const listening = new WeakMap<AbortSignal, Set<() => void>>()

/** Calls `stop` when the signal fires, unless the returned function is called before. Not if it has fired already. */
export function onAbort(signal: AbortSignal, stop: () => void): () => void {
  const all = listening.get(signal) ?? listenTo(signal)
  all.add(stop)
  return () => all.delete(stop)
}

function listenTo(signal: AbortSignal): Set<() => void> {
  const all = new Set<() => void>()
  signal.addEventListener(
    "abort",
    () => {
      for (const stop of all) stop()
      all.clear()
    },
    { once: true },
  )
  listening.set(signal, all)
  return all
}
