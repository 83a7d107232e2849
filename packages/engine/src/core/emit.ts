/** Events are counted always and made only for a watcher: not being watched costs an addition. */

import { pushSized } from "./collections.ts"
import type { MachineEvent } from "./events.ts"
import type { Undelivered } from "./messages.ts"
import type { MachineState } from "./state.ts"

/** Counts one event, and says whether to make it. */
export function watched(m: MachineState): boolean {
  m.events++
  return m.observed
}

export function emit(m: MachineState, event: MachineEvent): void {
  m.out = pushSized(m.out, { type: "emit", event })
}

/** M5: no message disappears in silence. */
export function reportUndelivered(m: MachineState, message: Omit<Undelivered, "path">): void {
  m.undelivered = pushSized(m.undelivered, Object.freeze(message))
  if (watched(m)) emit(m, { type: "message.undelivered", ...message })
}
