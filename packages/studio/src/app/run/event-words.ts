/** Events in words, and in groups to filter by. */
import type { RunEvent } from "@superstep/engine/protocol"
import { brief, duration, line, money, plural } from "../ui/format.ts"

export const GROUPS = ["run", "task", "step", "state", "person", "signal", "cost", "log"] as const
export type EventGroup = (typeof GROUPS)[number]

const TYPES: Readonly<Record<EventGroup, readonly RunEvent["type"][]>> = {
  run: [
    "run.started",
    "run.forked",
    "run.waiting",
    "run.resumed",
    "run.paused",
    "run.finished",
    "limit.reached",
    "superstep.started",
    "superstep.committed",
    "output",
  ],
  task: [
    "task.started",
    "task.finished",
    "task.failed",
    "task.parked",
    "task.resumed",
    "task.rejected",
    "task.cancelled",
    "join.waiting",
    "message.undelivered",
  ],
  step: ["step.recorded"],
  state: ["state.written"],
  person: ["request.opened", "request.escalated", "request.answered", "request.closed"],
  signal: ["signal.received", "signal.taken", "signal.replied"],
  cost: ["usage.recorded"],
  log: ["log", "custom"],
}
const GROUP_OF = new Map(
  GROUPS.flatMap((group) => TYPES[group].map((type) => [type as string, group] as const)),
)

export function typesOf(group: EventGroup): readonly string[] {
  return TYPES[group]
}

export function groupOf({ type }: Pick<RunEvent, "type">): EventGroup {
  return GROUP_OF.get(type) ?? "log"
}

/** What happened, without the node. */
export function eventWords(event: RunEvent): string {
  switch (event.type) {
    case "run.started":
      return `${event.workflow} started with ${brief(event.input, 80)}`
    case "run.forked":
      return `forked from ${event.from.runId} after record ${event.from.seq}`
    case "run.waiting":
      return "nothing executes: the run waits"
    case "run.resumed":
      return event.by === undefined ? "the run continues" : `${event.by} resumed the run`
    case "run.paused":
      return `${event.by ?? "somebody"} paused the run${event.reason === undefined ? "" : `: ${line(event.reason)}`}`
    case "run.finished":
      return event.error === undefined ? event.status : `${event.status}: ${line(event.error.message)}`
    case "limit.reached":
      return `limit reached: ${line(event.error.message)}`
    case "superstep.started":
      return `superstep ${event.superstep} started with ${plural(event.tasks, "task")}`
    case "superstep.committed":
      return `superstep ${event.superstep} committed`
    case "task.started":
      return `started${event.attempt > 1 ? `, attempt ${event.attempt}` : ""} with ${brief(event.input, 80)}`
    case "task.finished":
      return event.settled === undefined
        ? `finished${event.sends[0] === undefined ? "" : ` with ${brief(event.sends[0].value, 80)}`}`
        : `failed, and continues with the error: ${line(event.settled.message)}`
    case "task.failed":
      return `attempt ${event.attempt} failed: ${line(event.error.message)}${event.retryAt === undefined ? "" : `; next attempt in ${duration(event.retryAt - event.at)}`}`
    case "task.parked":
      return waitWords(event.wait)
    case "task.resumed":
      return "continues"
    case "task.rejected":
      return `takes no such message: ${line(event.reason)}`
    case "task.cancelled":
      return "cancelled"
    case "step.recorded":
      return `${event.key} = ${brief(event.value, 80)}`
    case "usage.recorded":
      return usageWords(event.usage, event.source?.model)
    case "message.undelivered":
      return `a message reached no node: ${line(event.reason)}`
    case "join.waiting":
      return `waits for ${event.missing.join(", ")}`
    case "state.written":
      return `${event.key} ← ${brief(event.value, 80)}`
    case "output":
      return `output ${brief(event.value, 80)}`
    case "request.opened":
      return `asks ${event.request.to ?? "a person"}: ${line(event.request.prompt)}`
    case "request.escalated":
      return `asks ${event.request.to ?? "a person"} now: ${line(event.request.prompt)}`
    case "request.answered":
      return `${event.by ?? "somebody"} answered ${brief(event.value, 80)}`
    case "request.closed":
      return `the question ${event.reason === "expired" ? "expired" : "was withdrawn"}`
    case "signal.received":
      return `signal ${event.name}: ${brief(event.value, 80)}`
    case "signal.taken":
      return `took the signal ${event.name}`
    case "signal.replied":
      return `replied ${brief(event.value, 80)}`
    case "log":
      return `${event.level}: ${line(event.message)}`
    case "custom":
      return `${event.name} ${brief(event.data, 80)}`
    default:
      return (event as RunEvent).type
  }
}

type Wait = Extract<RunEvent, { type: "task.parked" }>["wait"]

export function waitWords(wait: Wait): string {
  switch (wait.kind) {
    case "request":
      return "waits for a person"
    case "timer":
      return "waits for a timer"
    case "call":
      return `waits for ${wait.workflow}`
    case "signal":
      return `waits for the signal ${wait.name}`
  }
}

type Usage = Extract<RunEvent, { type: "usage.recorded" }>["usage"]

export function usageWords(usage: Usage, model: string | undefined): string {
  const { inputTokens = 0, outputTokens = 0, usd, toolCalls = 0 } = usage
  const parts = [
    ...(model === undefined ? [] : [model]),
    ...(inputTokens + outputTokens > 0 ? [`${inputTokens} + ${outputTokens} tokens`] : []),
    ...(toolCalls > 0 ? [plural(toolCalls, "tool call")] : []),
    ...(usd === undefined ? [] : [money(usd)]),
  ]
  return parts.join(", ")
}

/** The node that the event belongs to, if any. */
export function nodeOf(event: RunEvent): string | undefined {
  if ("node" in event && typeof event.node === "string") return event.node
  if (event.type === "request.opened" || event.type === "request.escalated") return event.request.node
  return undefined
}
