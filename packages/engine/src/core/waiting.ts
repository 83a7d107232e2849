/**
 * When a run is `waiting`: no task runs, and only an answer, a signal or a timer can continue it. Timers are part of the state, under
 * names that show what waits for them.
 */

import { pushSized, putEntry, removeEntry } from "./collections.ts"
import { emit, watched } from "./emit.ts"
import type { RequestId, TaskId, TimerId } from "./ids.ts"
import type { MachineState } from "./state.ts"

/**
 * Whether the run waits for a person, a signal or a timer. An executing sub-workflow does not count, nor does the run's own deadline.
 */
export function isBlockedExternally(m: MachineState): boolean {
  return m.requests.size > 0 || m.signalWaits > 0 || m.timers.size > (m.timers.has(RUN_TIMER) ? 1 : 0)
}

export function startWaiting(m: MachineState): void {
  // A paused run stays paused.
  if (m.status !== "running") return
  m.status = "waiting"
  if (watched(m)) emit(m, { type: "run.waiting" })
}

/** Something that the run waited for happened: the run continues. */
export function stopWaiting(m: MachineState): void {
  if (m.status !== "waiting") return
  m.status = "running"
  if (watched(m)) emit(m, { type: "run.resumed" })
}

export const RUN_TIMER: TimerId = "run"

export function retryTimer(task: TaskId): TimerId {
  return `retry:${task}`
}

export function sleepTimer(task: TaskId, key: string): TimerId {
  return `sleep:${task}:${key}`
}

export function requestTimer(id: RequestId): TimerId {
  return `request:${id}`
}

/** The request whose deadline the timer is. */
export function requestOfTimer(timer: TimerId): RequestId | undefined {
  const [kind, id] = splitName(timer)
  return kind === "request" ? id : undefined
}

export function signalTimer(task: TaskId, key: string): TimerId {
  return `signal:${task}:${key}`
}

export function setTimer(m: MachineState, timer: TimerId, at: number): void {
  m.timers = putEntry(m.timers, timer, at)
  m.out = pushSized(m.out, { type: "timer", timer, at })
}

export function clearTimer(m: MachineState, timer: TimerId): void {
  if (removeEntry(m.timers, timer)) m.out = pushSized(m.out, { type: "clear-timer", timer })
}

/** The part before the first colon, and the rest. */
export function splitName(name: string): [string, string] {
  const at = name.indexOf(":")
  return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)]
}
