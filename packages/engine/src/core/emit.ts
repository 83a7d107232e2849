/** Events are counted always and made only for a watcher: not being watched costs an addition. */

import type { MachineEvent, Undelivered } from "./events.ts"
import { grown } from "./grow.ts"
import type { MachineState } from "./state.ts"

/** Counts one event, and says whether to make it. */
export function watched(m: MachineState): boolean {
  m.events++
  return m.observed
}

export function emit(m: MachineState, event: MachineEvent): void {
  m.out = grown(m.out, { type: "emit", event })
}

/** M5: no message disappears in silence. */
export function reportUndelivered(m: MachineState, message: Undelivered): void {
  m.undelivered.push(message)
  if (watched(m)) emit(m, { type: "message.undelivered", ...message })
}
