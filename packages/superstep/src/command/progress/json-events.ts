/** `--json`: the events of a run, one a line, as the protocol has them. */
import { jsonLine } from "../json-line.ts"
import type { Terminal } from "../terminal.ts"
import type { Watcher } from "./watcher.ts"

export function jsonEvents(terminal: Terminal): Watcher {
  return {
    event: (event) => terminal.line(jsonLine(event)),
    pause: () => undefined,
    resume: () => undefined,
    end: () => undefined,
  }
}
