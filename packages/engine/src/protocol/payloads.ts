/** What events carry beside ids and text. Strict like the events themselves. */
import { z } from "zod"
import type { ErrorData, Usage, UsageSource } from "../core/index.ts"
import { json } from "./json.ts"

/** Milliseconds since the epoch. */
export const time = z.number()
export const taskId = z.int().min(1)
export const attempt = z.int().min(1)

/** Exactly the fields of `T`: one more or one less does not compile. */
type FieldsOf<T> = { [K in keyof Required<T>]: z.ZodType<T[K]> }

// Named by its type, because a declaration cannot spell out a schema that holds itself.
export const errorData: z.ZodType<ErrorData> = z.strictObject({
  code: z.string(),
  message: z.string(),
  node: z.string().optional(),
  attempt: attempt.optional(),
  get cause() {
    return errorData.optional()
  },
  retryable: z.boolean().optional(),
  fatal: z.boolean().optional(),
  limit: z.boolean().optional(),
} satisfies FieldsOf<ErrorData>)

const counter = z.number().min(0).optional()

export const usage = z.strictObject({
  inputTokens: counter,
  outputTokens: counter,
  modelCalls: counter,
  toolCalls: counter,
  iterations: counter,
  usd: counter,
  unpricedCalls: counter,
  estimatedCalls: counter,
} satisfies FieldsOf<Usage>)

/** Who used it. */
export const usageSource = z.strictObject({
  agent: z.string().optional(),
  model: z.string().optional(),
} satisfies FieldsOf<UsageSource>)

const names = z.array(z.string()).readonly()

const route = z.strictObject({
  nodes: names.optional(),
  joins: names.optional(),
  maps: names.optional(),
  output: z.boolean().optional(),
  result: z.boolean().optional(),
  failed: z.boolean().optional(),
  reason: z.string().optional(),
})

export const sends = z.array(z.strictObject({ value: json, route })).readonly()

export const wait = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("request"), request: z.string() }),
  z.strictObject({ kind: z.literal("timer"), until: time }),
  z.strictObject({ kind: z.literal("call"), workflow: z.string(), number: z.int().min(1).optional() }),
])

export const openRequest = z.strictObject({
  id: z.string(),
  node: z.string(),
  task: taskId,
  prompt: z.string(),
  to: z.string().optional(),
  data: json.optional(),
  schema: json.optional(),
  openedAt: time,
  deadline: time.optional(),
  escalate: z
    .array(z.strictObject({ to: z.string(), timeout: z.number().min(0).optional() }))
    .readonly()
    .optional(),
  default: json.optional(),
})
