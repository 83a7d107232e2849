/**
 * The events of a run as they go over the wire: one schema each, and the union that is told apart by `type`.
 *
 * Objects are strict. A field that the engine does not write is a mistake or a forgery, so the event is refused;
 * it is not trimmed into one that looks real. Server, command and studio are released together: nobody has to
 * guess at fields of a later version.
 */
import { z } from "zod"
import { isBuiltInReducer, jsonProblem, SuperstepError, writeProblem } from "../core/index.ts"
import { json } from "./json.ts"
import { attempt, errorData, openRequest, sends, taskId, time, usage, usageSource, wait } from "./payloads.ts"

/** Deeper than anybody nests workflows; a view is as deep as its paths. */
const MAX_NESTING = 500

const envelope = z.strictObject({
  runId: z.string(),
  /** 1, 2, 3, … over the whole run. A live event has the number of the one before it. */
  seq: z.int().min(1),
  at: time,
  /** Through which tasks of which nodes a nested workflow was reached: `node#task`; empty for the run itself. */
  path: z.array(z.string()).max(MAX_NESTING).readonly(),
})

const ofTask = envelope.extend({ task: taskId, node: z.string() })

// The run

const runStarted = envelope.extend({
  type: z.literal("run.started"),
  workflow: z.string(),
  input: json,
  /** What its state is before anything is written; absent where there is nothing. */
  state: z.record(z.string(), json).readonly().optional(),
})
const runForked = envelope.extend({
  type: z.literal("run.forked"),
  from: z.strictObject({ runId: z.string(), seq: z.int().min(1) }),
  /** Milliseconds by which deadlines and timers moved. */
  later: z.number(),
  /** What the fork changed in shared state. */
  state: z.record(z.string(), json).readonly().optional(),
})
const runWaiting = envelope.extend({ type: z.literal("run.waiting") })
const runResumed = envelope.extend({ type: z.literal("run.resumed") })
const runFinished = envelope.extend({
  type: z.literal("run.finished"),
  status: z.enum(["completed", "failed", "cancelled", "limit"]),
  error: errorData.optional(),
})
const limitReached = envelope.extend({
  type: z.literal("limit.reached"),
  error: errorData,
  goesTo: z.string().optional(),
})
const superstepStarted = envelope.extend({
  type: z.literal("superstep.started"),
  superstep: z.int().min(1),
  tasks: z.int().min(0),
})
const superstepCommitted = envelope.extend({
  type: z.literal("superstep.committed"),
  superstep: z.int().min(1),
})

// Its tasks

const taskStarted = ofTask.extend({
  type: z.literal("task.started"),
  attempt,
  superstep: z.int().min(1),
  input: json,
  from: z.string().optional(),
})
const taskFinished = ofTask.extend({
  type: z.literal("task.finished"),
  sends,
  settled: errorData.optional(),
})
const taskFailed = ofTask.extend({
  type: z.literal("task.failed"),
  attempt,
  error: errorData,
  /** When it is tried again; absent: this was the last attempt. */
  retryAt: time.optional(),
})
const taskParked = ofTask.extend({ type: z.literal("task.parked"), wait })
const taskResumed = ofTask.extend({ type: z.literal("task.resumed") })
const taskRejected = ofTask.extend({ type: z.literal("task.rejected"), reason: z.string() })
const taskCancelled = ofTask.extend({ type: z.literal("task.cancelled") })
const stepRecorded = ofTask.extend({ type: z.literal("step.recorded"), key: z.string(), value: json })
const usageRecorded = ofTask.extend({
  type: z.literal("usage.recorded"),
  usage,
  source: usageSource.optional(),
})

// Messages, state, outputs

const messageUndelivered = envelope.extend({
  type: z.literal("message.undelivered"),
  from: z.string().optional(),
  to: z.string().optional(),
  reason: z.string(),
  value: json,
})
const joinWaiting = envelope.extend({
  type: z.literal("join.waiting"),
  join: z.string(),
  node: z.string(),
  missing: z.array(z.string()).readonly(),
})
const stateWritten = ofTask
  .extend({
    type: z.literal("state.written"),
    key: z.string(),
    /** A built-in one: what a reducer of the user's made arrives as `replace`. */
    reducer: z.string(),
    value: json,
  })
  .superRefine(({ reducer, value }, context) => {
    const refuse = (path: string, message: string) =>
      context.addIssue({ code: "custom", path: [path], message })
    if (!isBuiltInReducer(reducer)) return refuse("reducer", "is not a built-in reducer")
    const problem = writeProblem(reducer, value)
    if (problem !== undefined) refuse("value", problem)
  })
const output = ofTask.extend({ type: z.literal("output"), value: json })

// People

const requestOpened = envelope.extend({ type: z.literal("request.opened"), request: openRequest })
const requestEscalated = envelope.extend({ type: z.literal("request.escalated"), request: openRequest })
const requestAnswered = envelope.extend({
  type: z.literal("request.answered"),
  request: z.string(),
  value: json,
  by: z.string().optional(),
})
const requestClosed = envelope.extend({
  type: z.literal("request.closed"),
  request: z.string(),
  reason: z.enum(["expired", "withdrawn"]),
})

// Live: not kept in the journal. A user's event is always `custom`, whatever its name.

const modelDelta = ofTask.extend({
  type: z.literal("model.delta"),
  call: z.string(),
  kind: z.enum(["text", "reasoning", "tool"]),
  text: z.string(),
  /** How much of its kind, and of its tool call, came before; a stream that is tried again starts over at 0. */
  offset: z.int().min(0),
  agent: z.string().optional(),
  tool: z.strictObject({ id: z.string(), name: z.string() }).optional(),
})
const custom = ofTask.extend({ type: z.literal("custom"), name: z.string(), data: json.optional() })
const log = ofTask.extend({
  type: z.literal("log"),
  level: z.enum(["debug", "info", "warn", "error"]),
  message: z.string(),
  data: json.optional(),
})

export const runEvent = z.discriminatedUnion("type", [
  runStarted,
  runForked,
  runWaiting,
  runResumed,
  runFinished,
  limitReached,
  superstepStarted,
  superstepCommitted,
  taskStarted,
  taskFinished,
  taskFailed,
  taskParked,
  taskResumed,
  taskRejected,
  taskCancelled,
  stepRecorded,
  usageRecorded,
  messageUndelivered,
  joinWaiting,
  stateWritten,
  output,
  requestOpened,
  requestEscalated,
  requestAnswered,
  requestClosed,
  modelDelta,
  custom,
  log,
])

export type RunEvent = z.infer<typeof runEvent>

/** An event that is not kept: it shares its number with the one before it. */
export type LiveEvent = Extract<RunEvent, { readonly type: "custom" | "log" | "model.delta" }>

/** What a view keeps of them: a model's words as they come are not part of it. */
export type LogEvent = Exclude<LiveEvent, { readonly type: "model.delta" }>

/** An event that follows from the journal: numbered, and the same for everyone who asks again. */
export type DurableEvent = Exclude<RunEvent, LiveEvent>

export function isLive(event: RunEvent): event is LiveEvent {
  return event.type === "custom" || event.type === "log" || event.type === "model.delta"
}

/** The event, checked; throws EVENT_INVALID, with the place, for what no engine has sent. */
export function parseEvent(value: unknown): RunEvent {
  // First as a whole, so that what is too deep or holds itself is never walked by the schemas.
  const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
  if (problem !== undefined) throw invalid(problem.path, problem.reason)
  const parsed = runEvent.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalid(placeOf(issue?.path ?? []), issue?.message ?? "does not fit")
}

function invalid(place: string, reason: string): SuperstepError {
  return new SuperstepError("EVENT_INVALID", `This is no event of a run: ${place || "the event"}: ${reason}`)
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((place, part) => {
    if (typeof part === "number") return `${place}[${part}]`
    return place === "" ? String(part) : `${place}.${String(part)}`
  }, "")
}
