/** Timers are part of the state, under names that say what waits for them. */
import { grown } from "./grow.ts"
import type { RequestId, TaskId, TimerId } from "./ids.ts"
import type { MachineState } from "./state.ts"

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

export function setTimer(m: MachineState, timer: TimerId, at: number): void {
  m.timers.set(timer, at)
  m.out = grown(m.out, { type: "timer", timer, at })
}

export function clearTimer(m: MachineState, timer: TimerId): void {
  if (m.timers.delete(timer)) m.out = grown(m.out, { type: "clear-timer", timer })
}

/** The part before the first colon, and the rest. */
export function splitName(name: string): [string, string] {
  const at = name.indexOf(":")
  return at < 0 ? [name, ""] : [name.slice(0, at), name.slice(at + 1)]
}
