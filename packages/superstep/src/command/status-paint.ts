/** How a run may stand, and the colour of it. */
import type { StoredStatus } from "@superstep/engine"
import type { Paint } from "./terminal.ts"

/** In the order in which they are listed. */
export const STATUSES: readonly StoredStatus[] = [
  "running",
  "waiting",
  "quarantined",
  "completed",
  "failed",
  "cancelled",
  "limit",
]

export function paintStatus(status: string, paint: Paint): string {
  return (COLORS[status as StoredStatus] ?? ((_, text) => text))(paint, status)
}

const COLORS: Readonly<Record<StoredStatus, (paint: Paint, text: string) => string>> = {
  running: (paint, text) => paint.bold(text),
  waiting: (paint, text) => paint.magenta(text),
  quarantined: (paint, text) => paint.red(text),
  completed: (paint, text) => paint.green(text),
  failed: (paint, text) => paint.red(text),
  limit: (paint, text) => paint.red(text),
  cancelled: (paint, text) => paint.dim(text),
}
