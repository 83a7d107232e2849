/** How a run may stand, and the colour of it. */
import type { StoredStatus } from "@superstep/engine"
import type { Paint } from "./terminal.ts"

/** `stopped` is a run that is stored as running and that no living process executes. */
export type ShownStatus = StoredStatus | "stopped"

/** As a store has them, in the order in which they are listed. */
export const STORED_STATUSES: readonly StoredStatus[] = [
  "running",
  "waiting",
  "quarantined",
  "completed",
  "failed",
  "cancelled",
  "limit",
]

export const STATUSES: readonly ShownStatus[] = [...STORED_STATUSES, "stopped"]

export function paintStatus(status: string, paint: Paint): string {
  return (COLORS[status as ShownStatus] ?? ((_, text) => text))(paint, status)
}

const COLORS: Readonly<Record<ShownStatus, (paint: Paint, text: string) => string>> = {
  running: (paint, text) => paint.bold(text),
  stopped: (paint, text) => paint.red(text),
  waiting: (paint, text) => paint.magenta(text),
  quarantined: (paint, text) => paint.red(text),
  completed: (paint, text) => paint.green(text),
  failed: (paint, text) => paint.red(text),
  limit: (paint, text) => paint.red(text),
  cancelled: (paint, text) => paint.dim(text),
}
