/** The lines that show an executing run: one per task, the last words of an agent, and the figures. */
import type { RunEvent, RunResult, Workflow } from "@superstep/engine"
import {
  clipped,
  type Paint,
  paragraph,
  sanitize,
  sanitizeLine,
  type Terminal,
  wrapped,
} from "../../terminal/terminal.ts"
import { counted, duration, spent } from "../figures.ts"
import { type ActiveTask, displayName, type Outcome, RunTracker } from "./run-tracker.ts"

const MAX_TASKS = 8
const MAX_WORDS = 3
const SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

export function progressLines(
  tracker: RunTracker,
  now: number,
  width: number,
  paint: Paint,
  isHidden: (node: string) => boolean,
): string[] {
  const tasks = [...tracker.active.values()].filter(({ node }) => !isHidden(node))
  const shown = tasks.slice(0, MAX_TASKS)
  const lines = shown.map((task) => taskLine(task, now, width, paint))
  if (tasks.length > shown.length)
    lines.push(paint.dim(`  … and ${counted(tasks.length - shown.length, "more task")}`))
  lines.push(...lastWords(tracker.speaker, width).map((line) => paint.dim(`  │ ${line}`)))
  const figures = [
    ...(tracker.superstep > 0 ? [`superstep ${tracker.superstep}`] : []),
    ...spent(tracker.usage),
    duration(now - (tracker.startedAt ?? now)),
  ]
  lines.push(paint.dim(clipped(`  ${figures.join(" · ")}`, width)))
  return lines
}

function taskLine(task: ActiveTask, now: number, width: number, paint: Paint): string {
  const { state, attempt, startedAt } = task
  const frame = SPINNER[Math.floor(now / 100) % SPINNER.length] ?? "·"
  const mark = state === "runs" ? paint.magenta(frame) : paint.dim("·")
  const why =
    state === "waits" ? " waits" : state === "retry" ? " retries" : attempt > 1 ? ` attempt ${attempt}` : ""
  const time = duration(now - startedAt)
  const room = width - 4 - time.length - why.length
  const name = clipped(sanitizeLine(task.name), room)
  return `${mark} ${name}${paint.dim(`${why} ${time}`)}`
}

function lastWords(speaker: ActiveTask | undefined, width: number): string[] {
  const text = sanitize(speaker?.text ?? "")
    .trimEnd()
    .replaceAll("\t", "  ")
  return text === "" ? [] : wrapped(text, width - 5).slice(-MAX_WORDS)
}

/** A finished task, or a finished attempt. */
export function outcomeLine(
  { task, outcome, at, reason, retryAt }: Outcome,
  width: number,
  paint: Paint,
): string {
  const name = clipped(sanitizeLine(task.name), Math.max(10, width - 24))
  const time = paint.dim(duration(at - task.startedAt))
  if (outcome === "finished" && reason === undefined) return `${paint.green("✓")} ${name} ${time}`
  if (outcome === "cancelled") return `${paint.dim("–")} ${name} ${paint.dim("cancelled")}`
  const again = retryAt === undefined ? "" : ` (retry in ${duration(retryAt - at)})`
  const room = width - name.length - 5 - again.length
  const why = clipped(sanitizeLine(reason ?? ""), Math.max(20, room))
  return `${retryAt === undefined ? paint.red("✗") : paint.magenta("↻")} ${name}: ${why}${again}`
}

/** Warnings and errors that user code logs. Empty for other events. */
export function warningLines(event: RunEvent, width: number, paint: Paint): string[] {
  if (event.type !== "log" || !(event.level === "warn" || event.level === "error")) return []
  const mark = event.level === "error" ? paint.red("!") : paint.magenta("!")
  const text = sanitizeLine(`${displayName(event.path, event.node)}: ${event.message}`)
  return paragraph(text, width, { label: `${mark} ` })
}

/** The end of the run: `completed in 3.2 s · 4 supersteps · 1,204 tokens · $0.0031`. */
export function summaryLine(result: RunResult, milliseconds: number, paint: Paint): string {
  const { status, supersteps, usage, runId } = result
  const word = {
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
    limit: "stopped at a limit",
    waiting: "waits",
  }
  const color = status === "completed" ? paint.green : status === "waiting" ? paint.magenta : paint.red
  const figures = [counted(supersteps, "superstep"), ...spent(usage)]
  const after = status === "waiting" ? "after" : "in"
  return `${color(word[status])} ${paint.dim(`${after} ${duration(milliseconds)} · ${figures.join(" · ")}`)}\n${paint.dim(`run ${runId}`)}`
}

/** The progress of a run as plain lines, for logs and pipes: starts, ends, and a summary. */

export interface PlainProgressOptions {
  /** The earlier events of a resumed run. */
  readonly past?: readonly RunEvent[] | undefined
  /** Also prints starts, and everything that user code logs instead of warnings alone. */
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

/** Whether a node only connects others, such as the nodes of blocks and branches that a definition adds. */
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
