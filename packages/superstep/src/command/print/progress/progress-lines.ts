/** The lines that show an executing run: one per task, the last words of an agent, and the figures. */
import type { RunEvent, RunResult } from "@superstep/engine"
import { clipped, type Paint, paragraph, sanitize, sanitizeLine, wrapped } from "../../terminal/terminal.ts"
import { counted, duration, spent } from "../figures.ts"
import { type ActiveTask, displayName, type Outcome, type RunTracker } from "./run-tracker.ts"

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

/** A task that ended, or an attempt of it. */
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

/** What user code logs as a warning or an error; none for other events. */
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
