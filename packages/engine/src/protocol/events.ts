/**
 * The events of a run on the wire: one schema each, and their union, discriminated by `type`.
 *
 * Objects are strict. A field that the engine does not write is a mistake or a forgery, so the event is rejected, not
 * trimmed. Server, CLI and studio are released together, so no event has fields of a later version.
 */
import { en } from "zod/locales"
import * as z from "zod/mini"
import {
  type ErrorData,
  isBuiltInReducer,
  type Json,
  jsonProblem,
  printJsonProblem,
  type SignalWait,
  SuperstepError,
  type Usage,
  type UsageSource,
  writeProblem,
} from "../core/index.ts"

// The values that events carry. Their objects are strict, like the events.

/** Plain JSON: an event carries what a journal can hold, and nothing else. */
export const json = z.unknown().check(
  z.superRefine((value, context) => {
    const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
    if (problem === undefined) return
    context.addIssue({ code: "custom", message: printJsonProblem(problem) })
  }),
) as unknown as z.ZodMiniType<Json>

/** Milliseconds since the epoch. */
const time = z.number()
const taskId = z.int().check(z.minimum(1))
const attempt = z.int().check(z.minimum(1))

/** Exactly the fields of `T`: one more or one less does not compile. */
type FieldsOf<T> = { [K in keyof Required<T>]: z.ZodMiniType<T[K]> }

// Typed by name, because a declaration cannot express a recursive schema.
const errorData: z.ZodMiniType<ErrorData> = z.strictObject({
  code: z.string(),
  message: z.string(),
  name: z.optional(z.string()),
  node: z.optional(z.string()),
  attempt: z.optional(attempt),
  get cause() {
    return z.optional(errorData)
  },
  retryable: z.optional(z.boolean()),
  fatal: z.optional(z.boolean()),
  limit: z.optional(z.boolean()),
} satisfies FieldsOf<ErrorData>)

const counter = z.optional(z.number().check(z.minimum(0)))

const usage = z.strictObject({
  inputTokens: counter,
  outputTokens: counter,
  cachedInputTokens: counter,
  cacheWriteTokens: counter,
  reasoningTokens: counter,
  modelCalls: counter,
  toolCalls: counter,
  iterations: counter,
  usd: counter,
  unpricedCalls: counter,
  estimatedCalls: counter,
} satisfies FieldsOf<Usage>)

/** Who used it. */
const agentChange = z.strictObject({
  instructions: z.optional(z.string()),
  model: z.optional(z.string()),
  settings: z.optional(z.readonly(z.record(z.string(), json))),
})

const usageSource = z.strictObject({
  agent: z.optional(z.string()),
  model: z.optional(z.string()),
} satisfies FieldsOf<UsageSource>)

const names = z.readonly(z.array(z.string()))

const route = z.strictObject({
  nodes: z.optional(names),
  joins: z.optional(names),
  maps: z.optional(names),
  output: z.optional(z.boolean()),
  result: z.optional(z.boolean()),
  failed: z.optional(z.boolean()),
  reason: z.optional(z.string()),
})

const sends = z.readonly(z.array(z.strictObject({ value: json, route })))

const wait = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("request"), request: z.string() }),
  z.strictObject({ kind: z.literal("timer"), until: time }),
  z.strictObject({
    kind: z.literal("call"),
    workflow: z.string(),
    number: z.optional(z.int().check(z.minimum(1))),
  }),
  z.strictObject({
    kind: z.literal("signal"),
    name: z.string(),
    order: z.int().check(z.minimum(1)),
    schema: z.optional(json),
    deadline: z.optional(time),
    default: z.optional(json),
  } satisfies FieldsOf<SignalWait>),
])

const openRequest = z.strictObject({
  id: z.string(),
  node: z.string(),
  task: taskId,
  prompt: z.string(),
  to: z.optional(z.string()),
  data: z.optional(json),
  schema: z.optional(json),
  openedAt: time,
  deadline: z.optional(time),
  escalate: z.optional(
    z.readonly(
      z.array(z.strictObject({ to: z.string(), timeout: z.optional(z.number().check(z.minimum(0))) })),
    ),
  ),
  default: z.optional(json),
  note: z.optional(z.string()),
  escalatedBy: z.optional(z.string()),
})

/** Deeper than real workflows are nested; a view is as deep as its paths. */
const MAX_NESTING = 500

const envelope = z.strictObject({
  runId: z.string(),
  /** 1, 2, 3, … over the whole run. A live event has the number of the one before it. */
  seq: z.int().check(z.minimum(1)),
  at: time,
  /** The tasks that called a nested workflow, as `node#task`; empty for the run itself. */
  path: z.readonly(z.array(z.string()).check(z.maxLength(MAX_NESTING))),
})

const ofTask = z.extend(envelope, { task: taskId, node: z.string() })

export const runEvent = z.discriminatedUnion("type", [
  // The run
  z.extend(envelope, {
    type: z.literal("run.started"),
    workflow: z.string(),
    input: json,
    /** The initial state; absent if empty. */
    state: z.optional(z.readonly(z.record(z.string(), json))),
  }),
  z.extend(envelope, {
    type: z.literal("run.forked"),
    from: z.strictObject({ runId: z.string(), seq: z.int().check(z.minimum(1)) }),
    /** Milliseconds by which deadlines and timers moved. */
    later: z.number(),
    /** What the fork changed in shared state. */
    state: z.optional(z.readonly(z.record(z.string(), json))),
    /** What it changed of agents, by their names. */
    agents: z.optional(z.readonly(z.record(z.string(), agentChange))),
  }),
  z.extend(envelope, { type: z.literal("run.waiting") }),
  /** What it waited for happened, or somebody resumed it after a pause: then `by` may say who. */
  z.extend(envelope, { type: z.literal("run.resumed"), by: z.optional(z.string()) }),
  /** It starts nothing more until it is resumed; what executes finishes. */
  z.extend(envelope, {
    type: z.literal("run.paused"),
    reason: z.optional(z.string()),
    by: z.optional(z.string()),
  }),
  z.extend(envelope, {
    type: z.literal("run.finished"),
    status: z.enum(["completed", "failed", "cancelled", "limit"]),
    error: z.optional(errorData),
  }),
  z.extend(envelope, {
    type: z.literal("limit.reached"),
    error: errorData,
    goesTo: z.optional(z.string()),
  }),
  z.extend(envelope, {
    type: z.literal("superstep.started"),
    superstep: z.int().check(z.minimum(1)),
    tasks: z.int().check(z.minimum(0)),
  }),
  z.extend(envelope, {
    type: z.literal("superstep.committed"),
    superstep: z.int().check(z.minimum(1)),
  }),

  // Its tasks
  z.extend(ofTask, {
    type: z.literal("task.started"),
    attempt,
    superstep: z.int().check(z.minimum(1)),
    input: json,
    from: z.optional(z.string()),
  }),
  z.extend(ofTask, {
    type: z.literal("task.finished"),
    sends,
    settled: z.optional(errorData),
  }),
  z.extend(ofTask, {
    type: z.literal("task.failed"),
    attempt,
    error: errorData,
    /** Time of the retry; absent after the last attempt. */
    retryAt: z.optional(time),
  }),
  z.extend(ofTask, { type: z.literal("task.parked"), wait }),
  z.extend(ofTask, { type: z.literal("task.resumed") }),
  z.extend(ofTask, { type: z.literal("task.rejected"), reason: z.string() }),
  z.extend(ofTask, { type: z.literal("task.cancelled") }),
  z.extend(ofTask, {
    type: z.literal("step.recorded"),
    key: z.string(),
    value: json,
    /** How it was done, for people: of a call of a model, its settings and the time to its first token. */
    details: z.optional(json),
  }),
  z.extend(ofTask, {
    type: z.literal("usage.recorded"),
    usage,
    source: z.optional(usageSource),
  }),

  // Messages, state, outputs
  z.extend(envelope, {
    type: z.literal("message.undelivered"),
    from: z.optional(z.string()),
    to: z.optional(z.string()),
    reason: z.string(),
    value: json,
  }),
  z.extend(envelope, {
    type: z.literal("join.waiting"),
    join: z.string(),
    node: z.string(),
    missing: z.readonly(z.array(z.string())),
  }),
  z
    .extend(ofTask, {
      type: z.literal("state.written"),
      key: z.string(),
      /** A built-in reducer: the result of a custom reducer arrives as `replace`. */
      reducer: z.string(),
      value: json,
    })
    .check(
      z.superRefine(({ reducer, value }, context) => {
        const refuse = (path: string, message: string) =>
          context.addIssue({ code: "custom", path: [path], message })
        if (!isBuiltInReducer(reducer)) return refuse("reducer", "is not a built-in reducer")
        const problem = writeProblem(reducer, value)
        if (problem !== undefined) refuse("value", problem)
      }),
    ),
  z.extend(ofTask, { type: z.literal("output"), value: json }),

  // People
  z.extend(envelope, { type: z.literal("request.opened"), request: openRequest }),
  z.extend(envelope, { type: z.literal("request.escalated"), request: openRequest }),
  z.extend(envelope, {
    type: z.literal("request.answered"),
    request: z.string(),
    value: json,
    by: z.optional(z.string()),
  }),
  z.extend(envelope, {
    type: z.literal("request.closed"),
    request: z.string(),
    reason: z.enum(["expired", "withdrawn"]),
  }),

  // Signals
  z.extend(envelope, {
    type: z.literal("signal.received"),
    id: z.string(),
    name: z.string(),
    value: json,
  }),
  z.extend(ofTask, { type: z.literal("signal.taken"), id: z.string(), name: z.string() }),
  z.extend(envelope, { type: z.literal("signal.replied"), id: z.string(), value: json }),

  // Live: not kept in the journal. A user's event is always `custom`, whatever its name.
  z.extend(ofTask, {
    type: z.literal("model.delta"),
    call: z.string(),
    kind: z.enum(["text", "reasoning", "tool"]),
    text: z.string(),
    /** The length of earlier chunks of the same kind and tool call; a retried stream starts over at 0. */
    offset: z.int().check(z.minimum(0)),
    agent: z.optional(z.string()),
    tool: z.optional(z.strictObject({ id: z.string(), name: z.string() })),
  }),
  z.extend(ofTask, {
    type: z.literal("output.partial"),
    call: z.string(),
    value: json,
    agent: z.optional(z.string()),
  }),
  z.extend(ofTask, {
    type: z.literal("tool.progress"),
    tool: z.strictObject({ id: z.string(), name: z.string() }),
    data: z.optional(json),
    agent: z.optional(z.string()),
  }),
  z.extend(ofTask, { type: z.literal("custom"), name: z.string(), data: z.optional(json) }),
  z.extend(ofTask, {
    type: z.literal("log"),
    level: z.enum(["debug", "info", "warn", "error"]),
    message: z.string(),
    data: z.optional(json),
  }),
  /** The task waits until its node's limits across processes admit it. */
  z.extend(ofTask, {
    type: z.literal("slot.waiting"),
    pool: z.string(),
    lanes: z.readonly(z.array(z.string())),
  }),

  /** Live events are missing here: the watcher was too slow, or the process that sent them died. */
  z.extend(envelope, {
    type: z.literal("live.gap"),
    /** The number of missing events; absent if unknown. */
    lost: z.optional(z.int().check(z.minimum(1))),
  }),
])

export type RunEvent = z.infer<typeof runEvent>

// zod/mini has no built-in messages. It keeps `superstep/protocol` small enough for browsers.
const english = { error: en().localeError }

/** Validates an event; throws EVENT_INVALID with the path for anything else. */
export function parseEvent(value: unknown): RunEvent {
  // Checked as a whole first, so that the schemas never walk a cyclic or too deep value.
  const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
  if (problem !== undefined) throw invalid(problem.path, problem.reason)
  const parsed = runEvent.safeParse(value, english)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw invalid(placeOf(issue?.path ?? []), issue?.message ?? "does not match the schema")
}

function invalid(place: string, reason: string): SuperstepError {
  return new SuperstepError(
    "EVENT_INVALID",
    `This is not an event of a run: ${place || "the event"}: ${reason}`,
  )
}

function placeOf(path: readonly PropertyKey[]): string {
  return path.reduce<string>((place, part) => {
    if (typeof part === "number") return `${place}[${part}]`
    return place === "" ? String(part) : `${place}.${String(part)}`
  }, "")
}
