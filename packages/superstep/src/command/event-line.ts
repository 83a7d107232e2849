/** An event of a run in a line: when, its number, what, where, and the gist of it. */
import type { RunEvent } from "@superstep/engine"
import { duration } from "./figures.ts"
import { clipped, foreignLine, padded, type Terminal } from "./terminal.ts"

/** `03:04:05.123    12  task.started  gen#1  …`, at most as wide as the terminal. */
export function eventLine(event: RunEvent, { width, paint }: Pick<Terminal, "width" | "paint">): string {
  const { at, seq, path, type } = event
  const time = new Date(at).toISOString().slice(11, 23)
  const head = `${time} ${String(seq).padStart(5)}  `
  const where = [
    ...path,
    ...("node" in event && "task" in event ? [`${event.node}#${event.task}`] : []),
  ].join(" > ")
  const rest = [where, gist(event)].filter((text) => text !== "").join("  ")
  const name = padded(type, 15)
  const room = width - head.length - name.length - 2
  return `${paint.dim(head)}${paint.bold(name)}  ${clipped(foreignLine(rest), room)}`.trimEnd()
}

function gist(event: RunEvent): string {
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
      return `${event.attempt > 1 ? `try ${event.attempt} ` : ""}${json(event.input)}`
    case "task.finished":
      return event.sends.map(({ value }) => json(value)).join(", ")
    case "task.failed":
      return event.retryAt === undefined
        ? event.error.message
        : `${event.error.message} (again in ${duration(event.retryAt - event.at)})`
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
    default:
      return ""
  }
}

/** The beginning of it is enough for a line. */
function json(value: unknown): string {
  return typeof value === "string" ? value.slice(0, 200) : (JSON.stringify(value) ?? "").slice(0, 200)
}
