/** The colour of how a run stands. */
import type { RunStatus } from "@superstep/engine"
import type { Paint } from "./terminal.ts"

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
