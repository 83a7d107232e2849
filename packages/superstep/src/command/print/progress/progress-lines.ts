/** The lines that show an executing run: one per task, the last words of an agent, and the figures. */
import type { NodeId, RunEvent, RunResult, Usage } from "@superstep/engine"
import { addUsage } from "@superstep/engine/core"
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
import { NO_NAMES, type NodeNames } from "../node-names.ts"

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
export function warningLines(
  event: RunEvent,
  width: number,
  paint: Paint,
  title: NodeNames["title"] = NO_NAMES.title,
): string[] {
  if (event.type !== "log" || !(event.level === "warn" || event.level === "error")) return []
  const mark = event.level === "error" ? paint.red("!") : paint.magenta("!")
  const text = sanitizeLine(`${displayName(event.path, event.node, title)}: ${event.message}`)
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
    paused: "paused",
  }
  const isOpen = status === "waiting" || status === "paused"
  const color = status === "completed" ? paint.green : isOpen ? paint.magenta : paint.red
  const figures = [counted(supersteps, "superstep"), ...spent(usage)]
  const after = isOpen ? "after" : "in"
  return `${color(word[status])} ${paint.dim(`${after} ${duration(milliseconds)} · ${figures.join(" · ")}`)}\n${paint.dim(`run ${runId}`)}`
}

/** The progress of a run as plain lines, for logs and pipes: starts, ends, and a summary. */

export interface PlainProgressOptions {
  /** The earlier events of a resumed run. */
  readonly past?: readonly RunEvent[] | undefined
  /** Also prints starts, and everything that user code logs instead of warnings alone. */
  readonly isVerbose?: boolean | undefined
  readonly names?: NodeNames | undefined
}

export function plainProgress(terminal: Terminal, options: PlainProgressOptions = {}) {
  const { past, isVerbose = false, names = NO_NAMES } = options
  const { isHidden, title } = names
  const { paint } = terminal
  const tracker = new RunTracker(title)
  if (past !== undefined) tracker.follow(past, Date.now())
  const verbose = (event: RunEvent): string | undefined => {
    switch (event.type) {
      case "run.started":
        return event.path.length === 0 ? `run ${event.runId} of ${sanitizeLine(event.workflow)}` : undefined
      case "task.started":
        return isHidden(event.node) ? undefined : `· ${sanitizeLine(title(event.node))} starts`
      case "log":
        return `${event.level} ${sanitizeLine(title(event.node))}: ${sanitizeLine(event.message)}`
      case "message.undelivered":
        return `a message to ${sanitizeLine(event.to === undefined ? "nobody" : title(event.to))} was not delivered: ${sanitizeLine(event.reason)}`
      default:
        return undefined
    }
  }
  return {
    event(event: RunEvent): void {
      const warning = warningLines(event, terminal.width, paint, title)
      for (const line of warning) terminal.line(line)
      const text = isVerbose && warning.length === 0 ? verbose(event) : undefined
      if (text !== undefined) terminal.line(paint.dim(text))
      const outcome = tracker.add(event)
      if (outcome === undefined) return
      if (isHidden(outcome.task.node) && outcome.outcome === "finished" && !isVerbose) return
      terminal.line(outcomeLine(outcome, terminal.width, paint))
    },
    end(result: RunResult | undefined): void {
      if (result !== undefined) terminal.line(summaryLine(result, tracker.took(Date.now()), paint))
    },
  }
}

// The current state of a run, from its events: its active tasks, its usage, the text of its agents. Memory is
// proportional to the active tasks.

interface ActiveTask {
  /** See `displayName`. */
  readonly name: string
  readonly node: NodeId
  readonly startedAt: number
  attempt: number
  /** `retry` until its next attempt. */
  state: "runs" | "waits" | "retry"
  /** The reply of its agent so far. */
  text: string
}

/** A task that ended. */
interface Outcome {
  readonly task: ActiveTask
  readonly outcome: "finished" | "failed" | "cancelled"
  readonly at: number
  readonly reason?: string | undefined
  /** The time of its next attempt, after a failure. */
  readonly retryAt?: number | undefined
}

/** More characters than are shown. */
const MAX_TEXT_LENGTH = 4_000

export class RunTracker {
  readonly active = new Map<string, ActiveTask>()
  usage: Usage = {}
  superstep = 0
  startedAt: number | undefined
  #finishedAt: number | undefined
  /** The task whose agent streamed last. */
  speaker: ActiveTask | undefined
  readonly #title: NodeNames["title"]

  constructor(title: NodeNames["title"] = NO_NAMES.title) {
    this.#title = title
  }

  /** Replays the earlier events of a resumed run. Tasks that were active then are timed from now. */
  follow(past: readonly RunEvent[], now: number): void {
    for (const event of past) this.add(event)
    this.startedAt = now
    for (const [key, task] of this.active) this.active.set(key, { ...task, startedAt: now })
  }

  /** Until now, or until the end of a run that ended before, perhaps in another process. */
  took(now: number): number {
    const until = this.#finishedAt ?? now
    return until - (this.startedAt ?? until)
  }

  /** Returns the task, or the attempt, that the event ended. */
  add(event: RunEvent): Outcome | undefined {
    this.startedAt ??= event.at
    switch (event.type) {
      case "run.finished":
        if (event.path.length === 0) this.#finishedAt = event.at
        return undefined
      case "superstep.started":
        if (event.path.length === 0) this.superstep = event.superstep
        return undefined
      case "usage.recorded":
        this.usage = addUsage(this.usage, event.usage)
        return undefined
      case "model.delta":
        if (event.kind === "text") this.#say(event.path, event.task, event.offset, event.text)
        return undefined
      case "task.started": {
        const key = keyOf(event.path, event.task)
        const known = this.active.get(key)
        if (event.path.length === 0) this.superstep = Math.max(this.superstep, event.superstep)
        if (known !== undefined) Object.assign(known, { attempt: event.attempt, state: "runs", text: "" })
        else
          this.active.set(key, {
            name: displayName(event.path, event.node, this.#title),
            node: event.node,
            startedAt: event.at,
            attempt: event.attempt,
            state: "runs",
            text: "",
          })
        return undefined
      }
      case "task.parked":
        return this.#turn(event.path, event.task, "waits")
      case "task.resumed":
        return this.#turn(event.path, event.task, "runs")
      case "task.failed": {
        const { error, retryAt, at } = event
        if (retryAt === undefined) return this.#over(event.path, event.task, "failed", at, error.message)
        const task = this.active.get(keyOf(event.path, event.task))
        if (task === undefined) return undefined
        task.state = "retry"
        return { task: { ...task }, outcome: "failed", at, reason: error.message, retryAt }
      }
      case "task.finished":
        return this.#over(event.path, event.task, "finished", event.at, event.settled?.message)
      case "task.cancelled":
        return this.#over(event.path, event.task, "cancelled", event.at)
      case "task.rejected":
        return this.#over(event.path, event.task, "failed", event.at, event.reason)
      default:
        return undefined
    }
  }

  #turn(path: readonly string[], id: number, state: ActiveTask["state"]): undefined {
    const task = this.active.get(keyOf(path, id))
    if (task !== undefined) task.state = state
    return undefined
  }

  #over(
    path: readonly string[],
    id: number,
    outcome: Outcome["outcome"],
    at: number,
    reason?: string,
  ): Outcome | undefined {
    const key = keyOf(path, id)
    const task = this.active.get(key)
    if (task === undefined) return undefined
    this.active.delete(key)
    if (this.speaker === task) this.speaker = undefined
    return { task, outcome, at, reason }
  }

  #say(path: readonly string[], id: number, offset: number, text: string): void {
    const task = this.active.get(keyOf(path, id))
    if (task === undefined) return
    // A retried reply starts over.
    task.text = (offset === 0 ? text : task.text + text).slice(-MAX_TEXT_LENGTH)
    this.speaker = task
  }
}

function keyOf(path: readonly string[], task: number): string {
  return [...path, task].join("/")
}

/** Includes the nodes that called its workflow: `outer/inner`. */
function displayName(path: readonly string[], node: NodeId, title: NodeNames["title"]): string {
  return [...path.map((part) => part.slice(0, part.lastIndexOf("#"))), node].map(title).join("/")
}
