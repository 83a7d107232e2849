/** How a run may stand, and the colour of it. */
import type { RunStatus } from "@superstep/engine"
import type { Paint } from "./terminal.ts"

/** In the order in which they are listed. */
export const STATUSES: readonly RunStatus[] = [
  "running",
  "waiting",
  "completed",
  "failed",
  "cancelled",
  "limit",
]

export function paintStatus(status: string, paint: Paint): string {
  return (COLORS[status as RunStatus] ?? ((_, text) => text))(paint, status)
}

const COLORS: Readonly<Record<RunStatus, (paint: Paint, text: string) => string>> = {
  running: (paint, text) => paint.bold(text),
  waiting: (paint, text) => paint.magenta(text),
  completed: (paint, text) => paint.green(text),
  failed: (paint, text) => paint.red(text),
  limit: (paint, text) => paint.red(text),
  cancelled: (paint, text) => paint.dim(text),
}
