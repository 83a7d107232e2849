/** Follows an executing run: shows its progress, or prints its events. */
import type { RunEvent, RunResult } from "@superstep/engine"
import { jsonText, type Terminal } from "../../terminal/terminal.ts"

export interface Watcher {
  event(event: RunEvent): void
  /** A person is being asked a question. Nothing is drawn until `resume`. */
  pause?(): void
  resume?(): void
  /** The run ended, waits, or was released; undefined if it has no result. */
  end?(result: RunResult | undefined): void
}

/** `--quiet`. */
export const silent: Watcher = { event: () => undefined }

/** `--json`: the events of a run as the protocol defines them, one per line. */
export function jsonEvents(terminal: Terminal): Watcher {
  return { event: (event) => terminal.line(jsonText(event)) }
}
