/**
 * Listens to signals that fire at most once, such as that of a task, which every call of an agent listens to for a while. A
 * signal gets one native listener, which stays: adding and removing one for each call takes as long as much of the call.
 */

type Stop = () => void

/** A list, because a set allocates when its last member leaves, and few calls listen at the same time. */
const listening = new WeakMap<AbortSignal, Stop[]>()

/** Calls `stop` when the signal fires, unless the returned function is called before. Not if it has fired already. */
export function onAbort(signal: AbortSignal, stop: Stop): () => void {
  const all = listening.get(signal) ?? listenTo(signal)
  all.push(stop)
  return () => {
    const at = all.lastIndexOf(stop)
    if (at === all.length - 1) all.pop()
    else if (at >= 0) all.splice(at, 1)
  }
}

function listenTo(signal: AbortSignal): Stop[] {
  const all: Stop[] = []
  const stopAll = () => {
    for (let stop = all.shift(); stop !== undefined; stop = all.shift()) stop()
  }
  signal.addEventListener("abort", stopAll, { once: true })
  listening.set(signal, all)
  return all
}
