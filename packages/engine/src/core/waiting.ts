/** When a run is `waiting`: nothing runs, and only the outside can bring it on. */
import { emit, watched } from "./emit.ts"
import type { MachineState } from "./state.ts"
import { RUN_TIMER } from "./timers.ts"

/** For a person or a timer. A sub-workflow at work is no waiting, and the end of the run's time is no aim. */
export function waitsForTheOutside(m: MachineState): boolean {
  return m.requests.size > 0 || m.timers.size > (m.timers.has(RUN_TIMER) ? 1 : 0)
}

export function startWaiting(m: MachineState): void {
  if (m.status === "waiting") return
  m.status = "waiting"
  if (watched(m)) emit(m, { type: "run.waiting" })
}

/** Something that was waited for came: the run goes on. */
export function stopWaiting(m: MachineState): void {
  if (m.status !== "waiting") return
  m.status = "running"
  if (watched(m)) emit(m, { type: "run.resumed" })
}
