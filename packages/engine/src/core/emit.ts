/** Events are always counted, and created only for a watcher: an unwatched run pays one addition per event. */

import { pushSized } from "./collections.ts"
import type { MachineEvent } from "./events.ts"
import type { Undelivered } from "./messages.ts"
import type { MachineState } from "./state.ts"

/** Counts one event, and returns whether to create it. */
export function watched(m: MachineState): boolean {
  m.events++
  return m.observed
}

export function emit(m: MachineState, event: MachineEvent): void {
  m.out = pushSized(m.out, { type: "emit", event })
}

/** M5: no message disappears silently. */
export function reportUndelivered(m: MachineState, message: Omit<Undelivered, "path">): void {
  m.undelivered = pushSized(m.undelivered, Object.freeze(message))
  if (watched(m)) emit(m, { type: "message.undelivered", ...message })
}
