/** The progress of a run in lines, for logs and pipes: what started, what ended, and a summary. */
import type { RunEvent, RunResult, Workflow } from "@superstep/engine"
import { sanitizeLine, type Terminal } from "../../terminal/terminal.ts"
import { outcomeLine, summaryLine, warningLines } from "./progress-lines.ts"
import { RunTracker } from "./run-tracker.ts"

export interface PlainProgressOptions {
  /** The earlier events of a resumed run. */
  readonly past?: readonly RunEvent[] | undefined
  /** Also print starts, and everything that user code logs instead of warnings alone. */
  readonly isVerbose?: boolean | undefined
  readonly isHidden?: ((node: string) => boolean) | undefined
}

export function plainProgress(terminal: Terminal, options: PlainProgressOptions = {}) {
  const { past, isVerbose = false, isHidden = () => false } = options
  const { paint } = terminal
  const tracker = new RunTracker()
  if (past !== undefined) tracker.follow(past, Date.now())
  const verbose = (event: RunEvent): string | undefined => {
    switch (event.type) {
      case "run.started":
        return event.path.length === 0 ? `run ${event.runId} of ${sanitizeLine(event.workflow)}` : undefined
      case "task.started":
        return isHidden(event.node) ? undefined : `· ${sanitizeLine(event.node)} starts`
      case "log":
        return `${event.level} ${sanitizeLine(event.node)}: ${sanitizeLine(event.message)}`
      case "message.undelivered":
        return `a message to ${sanitizeLine(event.to ?? "nobody")} was not delivered: ${sanitizeLine(event.reason)}`
      default:
        return undefined
    }
  }
  return {
    event(event: RunEvent): void {
      const warning = warningLines(event, terminal.width, paint)
      for (const line of warning) terminal.line(line)
      const text = isVerbose && warning.length === 0 ? verbose(event) : undefined
      if (text !== undefined) terminal.line(paint.dim(text))
      const outcome = tracker.add(event)
      if (outcome === undefined) return
      if (isHidden(outcome.task.node) && outcome.outcome === "finished" && !isVerbose) return
      terminal.line(outcomeLine(outcome, terminal.width, paint))
    },
    end(result: RunResult | undefined): void {
      if (result !== undefined)
        terminal.line(summaryLine(result, Date.now() - (tracker.startedAt ?? Date.now()), paint))
    },
  }
}

const CONNECTING_KINDS = new Set(["parallel", "merge", "join", "end", "pass", "start", "map"])

/** Whether a node only connects others: those of a definition's blocks and branches, which nobody wrote or looks for. */
export function hiddenIn({ program }: Workflow<never, unknown>): (node: string) => boolean {
  const hidden = new Set<string>()
  const look = (graph: typeof program.graph): void => {
    for (const { id, spec } of graph.nodes) {
      if (CONNECTING_KINDS.has(spec.kind) || id.includes("#") || id.endsWith("?")) hidden.add(id)
      if (spec.nested !== undefined) look(spec.nested)
    }
  }
  look(program.graph)
  return (node) => hidden.has(node)
}
