/** The values that events carry. Their objects are strict, like the events. */
import * as z from "zod/mini"
import {
  type ErrorData,
  type Json,
  jsonProblem,
  printJsonProblem,
  type SignalWait,
  type Usage,
  type UsageSource,
} from "../core/index.ts"

/** Plain JSON: an event carries what a journal can hold, and nothing else. */
export const json = z.unknown().check(
  z.superRefine((value, context) => {
    const problem = jsonProblem(value, Number.POSITIVE_INFINITY)
    if (problem === undefined) return
    context.addIssue({ code: "custom", message: printJsonProblem(problem) })
  }),
) as unknown as z.ZodMiniType<Json>

/** Milliseconds since the epoch. */
export const time = z.number()
export const taskId = z.int().check(z.minimum(1))
export const attempt = z.int().check(z.minimum(1))

/** Exactly the fields of `T`: one more or one less does not compile. */
type FieldsOf<T> = { [K in keyof Required<T>]: z.ZodMiniType<T[K]> }

// Typed by name, because a declaration cannot express a recursive schema.
export const errorData: z.ZodMiniType<ErrorData> = z.strictObject({
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

export const usage = z.strictObject({
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
export const usageSource = z.strictObject({
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

export const sends = z.readonly(z.array(z.strictObject({ value: json, route })))

export const wait = z.discriminatedUnion("kind", [
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

export const openRequest = z.strictObject({
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
})
