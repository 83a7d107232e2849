/** An event of a run on one line: its time, its number, its type, where it happened, and its content. */
import type { RunEvent } from "@superstep/engine"
import { cutText } from "@superstep/engine/text"
import { clipped, padded, sanitizeLine, type Terminal } from "../terminal/terminal.ts"
import { duration } from "./figures.ts"

/** `03:04:05.123    12  task.started  gen#1  …`, at most as wide as the terminal. */
export function eventLine(event: RunEvent, { width, paint }: Pick<Terminal, "width" | "paint">): string {
  const { at, seq, path, type } = event
  const time = new Date(at).toISOString().slice(11, 23)
  const head = `${time} ${String(seq).padStart(5)}  `
  const where = [
    ...path,
    ...("node" in event && "task" in event ? [`${event.node}#${event.task}`] : []),
  ].join(" > ")
  const rest = [where, contentOf(event)].filter((text) => text !== "").join("  ")
  const name = padded(type, 15)
  const room = width - head.length - name.length - 2
  return `${paint.dim(head)}${paint.bold(name)}  ${clipped(sanitizeLine(rest), room)}`.trimEnd()
}

function contentOf(event: RunEvent): string {
  switch (event.type) {
    case "run.started":
      return `${event.workflow} with ${json(event.input)}`
    case "run.forked":
      return `from ${event.from.runId} at record ${event.from.seq}`
    case "run.finished":
      return event.error === undefined ? event.status : `${event.status}: ${event.error.message}`
    case "limit.reached":
      return event.goesTo === undefined ? event.error.message : `${event.error.message} → ${event.goesTo}`
    case "superstep.started":
      return `${event.superstep}, ${event.tasks} to run`
    case "superstep.committed":
      return String(event.superstep)
    case "task.started":
      return `${event.attempt > 1 ? `attempt ${event.attempt} ` : ""}${json(event.input)}`
    case "task.finished":
      return event.sends.map(({ value }) => json(value)).join(", ")
    case "task.failed":
      return event.retryAt === undefined
        ? event.error.message
        : `${event.error.message} (retry in ${duration(event.retryAt - event.at)})`
    case "task.parked":
      return `waits for ${event.wait.kind === "request" ? `answer ${event.wait.request}` : `a ${event.wait.kind}`}`
    case "task.rejected":
      return event.reason
    case "step.recorded":
      return `${event.key} = ${json(event.value)}`
    case "usage.recorded":
      return json(event.usage)
    case "message.undelivered":
      return `${event.from ?? "the start"} → ${event.to ?? "nobody"}: ${event.reason}`
    case "join.waiting":
      return `${event.node} waits for ${event.missing.join(", ")}`
    case "state.written":
      return `${event.key} ${event.reducer} ${json(event.value)}`
    case "output":
      return json(event.value)
    case "request.opened":
    case "request.escalated":
      return `${event.request.id}${event.request.to === undefined ? "" : ` to ${event.request.to}`}: ${event.request.prompt}`
    case "request.answered":
      return `${event.request}${event.by === undefined ? "" : ` by ${event.by}`}: ${json(event.value)}`
    case "request.closed":
      return `${event.request} ${event.reason}`
    case "custom":
      return `${event.name} ${event.data === undefined ? "" : json(event.data)}`
    case "log":
      return `${event.level}: ${event.message}`
    case "live.gap":
      return event.lost === undefined ? "live events are missing" : `${event.lost} live events are missing`
    default:
      return ""
  }
}

/** The beginning is enough for a line. */
function json(value: unknown): string {
  return cutText(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), 200)
}
