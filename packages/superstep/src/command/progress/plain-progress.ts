/** A run in lines, for logs and pipes: what began, what ended, and the figures at the end. */
import type { RunEvent } from "@superstep/engine"
import { foreignLine, type Terminal } from "../terminal.ts"
import { outcomeLine, summaryLine, warningLines } from "./progress-lines.ts"
import { RunTracker } from "./run-tracker.ts"
import type { Watcher } from "./watcher.ts"

export interface PlainProgressOptions {
  /** Of a run that goes on: what was before. */
  readonly past?: readonly RunEvent[] | undefined
  readonly now?: (() => number) | undefined
  /** Beginnings, and all that users' code logs: else only what it warns of. */
  readonly isVerbose?: boolean | undefined
  readonly isHidden?: ((node: string) => boolean) | undefined
}

export function plainProgress(terminal: Terminal, options: PlainProgressOptions = {}): Watcher {
  const { now = Date.now, isVerbose = false, isHidden = () => false } = options
  const { paint } = terminal
  const tracker = new RunTracker()
  if (options.past !== undefined) tracker.follow(options.past, now())
  const verbose = (event: RunEvent): string | undefined => {
    switch (event.type) {
      case "run.started":
        return event.path.length === 0 ? `run ${event.runId} of ${foreignLine(event.workflow)}` : undefined
      case "task.started":
        return isHidden(event.node) ? undefined : `· ${foreignLine(event.node)} starts`
      case "log":
        return `${event.level} ${foreignLine(event.node)}: ${foreignLine(event.message)}`
      case "message.undelivered":
        return `a message to ${foreignLine(event.to ?? "nobody")} was not delivered: ${foreignLine(event.reason)}`
      default:
        return undefined
    }
  }
  return {
    event(event) {
      const warning = warningLines(event, terminal.width, paint)
      for (const line of warning) terminal.line(line)
      const text = isVerbose && warning.length === 0 ? verbose(event) : undefined
      if (text !== undefined) terminal.line(paint.dim(text))
      const outcome = tracker.add(event)
      if (outcome === undefined) return
      if (isHidden(outcome.task.node) && outcome.outcome === "finished" && !isVerbose) return
      terminal.line(outcomeLine(outcome, terminal.width, paint))
    },
    pause: () => undefined,
    resume: () => undefined,
    end(result) {
      if (result !== undefined)
        terminal.line(summaryLine(result, now() - (tracker.startedAt ?? now()), paint))
    },
  }
}
