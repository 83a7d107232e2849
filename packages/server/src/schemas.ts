/** The wire format of the API: what requests must have, and what responses have. */
import { z } from "@hono/zod-openapi"

/** A response with a JSON body. */
export const body = <T extends z.ZodType>(schema: T, description: string) => ({
  description,
  content: { "application/json": { schema } },
})

/** What a list without filters takes. */
export const pageSchema = z.object({
  cursor: z.string().max(100).optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
})

/** A response with a problem. */
export const failure = (description: string) => ({
  description,
  content: { "application/problem+json": { schema: problemSchema } },
})

/**
 * The body of a route that speaks JSON-RPC, for the OpenAPI document only: the route answers what does not match by itself,
 * as JSON-RPC defines.
 */
export const jsonRpcBody = (methods: readonly string[], params: readonly string[]) => ({
  requestBody: {
    required: true,
    content: {
      "application/json": {
        schema: {
          type: "object" as const,
          properties: {
            jsonrpc: { const: "2.0" },
            id: { type: "integer" as const },
            method: { enum: [...methods] },
            params: {
              type: "object" as const,
              properties: Object.fromEntries(params.map((name) => [name, {}])),
            },
          },
          required: ["jsonrpc", "id", "method", "params"],
        },
      },
    },
  },
})

export const runParam = z.object({ run: z.string().openapi({ description: "The id of the run." }) })

const json = z.unknown().openapi({ description: "Any JSON value." })
const labels = z.record(z.string(), z.string())
const time = z.number().int().openapi({ description: "Milliseconds since 1970-01-01 UTC." })

const STATUSES = [
  "queued",
  "running",
  "waiting",
  "paused",
  "quarantined",
  "completed",
  "failed",
  "cancelled",
  "limit",
] as const

export const workflowSchema = z.object({ name: z.string(), nodes: z.array(z.string()) }).openapi("Workflow")

export const runSchema = z
  .object({
    id: z.string(),
    workflow: z.string(),
    status: z.enum(STATUSES),
    createdAt: time,
    updatedAt: time,
    key: z.string().optional(),
    thread: z.string().optional(),
    version: z.string().optional().openapi({ description: "Of its definition." }),
    labels: labels.optional(),
    wakeAt: time.optional(),
    forkOf: z.object({ run: z.string(), seq: z.number().int() }).optional(),
    error: z.object({ code: z.string(), message: z.string(), node: z.string().optional() }).optional(),
  })
  .openapi("Run")

export const requestSchema = z
  .object({
    id: z.string(),
    run: z.string(),
    workflow: z.string(),
    outcome: z.enum(["open", "delivering", "answered", "expired", "withdrawn"]),
    openedAt: time.optional(),
    closedAt: time.optional(),
    by: z.string().optional(),
    request: json,
  })
  .openapi("Request")

export const resultSchema = z
  .object({
    id: z.string(),
    status: z.enum(STATUSES),
    outputs: z.array(json),
    state: z.record(z.string(), json),
    usage: json,
    requests: z.array(json),
    error: json.optional(),
  })
  .openapi("Result")

export const problemSchema = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.number().int(),
    code: z.string(),
    detail: z.string(),
    run: z.string().optional(),
    problems: z.array(z.object({ in: z.string(), message: z.string() })).optional(),
  })
  .openapi("Problem")

export const startSchema = z
  .object({
    input: json,
    runId: z
      .string()
      .min(1)
      .max(200)
      // No address could name it, and no terminal show it.
      .refine(
        (id) => !/[\p{Surrogate}\p{Cc}]/u.test(id),
        "must have no control characters or lone surrogates",
      )
      .optional(),
    thread: z.string().min(1).max(1_000).optional(),
    onBusy: z.enum(["reject", "queue", "interrupt"]).optional().openapi({
      description:
        "While another run of the thread is in flight: 409, wait for it, or cancel it first. Default: reject.",
    }),
    version: z
      .union([z.number().int().min(1).max(999_999_999), z.string().min(1).max(50)])
      .transform(String)
      .optional()
      .openapi({
        description: "Of the definition: a number, an alias or `latest`. Default: the published one.",
      }),
    labels: labels.optional(),
  })
  .strict()
  .openapi("Start")

const amount = z.number().nonnegative().optional()
const count = z.number().int().min(1).optional()

const bounds = {
  limits: z
    .object({ supersteps: count, visits: count, loops: count, concurrency: count })
    .strict()
    .optional(),
  budget: z
    .object({
      tokens: amount,
      usd: amount,
      modelCalls: amount,
      toolCalls: amount,
      iterations: amount,
      allowUnpriced: z.boolean().optional(),
    })
    .strict()
    .optional(),
  timeout: count.openapi({ description: "Milliseconds from now." }),
}

export const boundsSchema = z.object(bounds).strict().openapi("Bounds")

const superstep = z.object({ superstep: z.number().int().min(0) }).strict()
const task = z
  .object({ task: z.number().int().min(1), path: z.array(z.string()).max(100).optional() })
  .strict()

export const forkSchema = z
  .object({
    ...bounds,
    at: z
      .union([superstep, z.object({ seq: z.number().int().min(1) }).strict(), task])
      .optional()
      .openapi({ description: "After a superstep, after a record of the journal, or before a task." }),
    patch: z
      .object({
        state: z.record(z.string(), json).optional(),
        answers: z.record(z.string(), json).optional(),
        input: json.optional(),
        agents: z
          .record(
            z.string(),
            z
              .object({
                instructions: z.string().max(200_000).optional(),
                model: z.string().max(200).optional().openapi({ example: "openai/gpt-5" }),
                settings: z.record(z.string(), json).optional(),
              })
              .strict(),
          )
          .optional()
          .openapi({ description: "Other instructions, models or settings of agents, by their names." }),
      })
      .strict()
      .optional(),
  })
  .strict()
  .openapi("Fork")

export const rerunSchema = z
  .object({
    ...bounds,
    from: z
      .union([superstep, task, z.object({ node: z.string() }).strict()])
      .optional()
      .openapi({
        description: "From a superstep, a task, or the last task of a node on. Default: the start.",
      }),
  })
  .strict()
  .openapi("Rerun")

export const runViewSchema = z
  .object({
    length: z.number().int().openapi({ description: "How many events the run has so far." }),
    view: json,
    outline: json.optional(),
  })
  .openapi("RunAtEvent")

export const glanceSchema = z
  .object({
    run: z.string(),
    usd: z.number().optional(),
    tokens: z.number(),
    nodes: z.array(z.string()).openapi({ description: "Where it is at work, or waits." }),
  })
  .openapi("RunUsage")

export const eventPageSchema = z
  .object({
    events: z.array(json),
    length: z.number().int().openapi({ description: "How many events the run has so far." }),
    more: z.boolean().openapi({ description: "More events match, in the direction that was read." }),
  })
  .openapi("EventPage")

/** A point in the past of a run, in a query. */
export const pointSchema = z
  .string()
  .regex(/^(seq:)?\d{1,15}$/, "must be a superstep, such as 3, or a record of the journal, such as seq:17")
  .openapi({
    description: "After a superstep (`3`) or after a record of the journal (`seq:17`).",
    example: "0",
  })
  .transform((text) =>
    text.startsWith("seq:") ? { seq: Number(text.slice(4)) } : { superstep: Number(text) },
  )

export const taskSchema = z
  .string()
  .regex(/^[1-9]\d{0,14}$/, "must be the number of a task")
  .openapi({ description: "The number of a task.", example: "1" })
  .transform(Number)

export const pathSchema = z
  .union([z.string(), z.array(z.string()).max(100)])
  .optional()
  .openapi({ description: "A sub-workflow, as events name it: node#task; repeat it for deeper ones." })
  .transform((value) => [value ?? []].flat())

export const stateSchema = z
  .object({
    seq: z.number().int().openapi({ description: "The last record of the journal that it includes." }),
    at: time,
    superstep: z.number().int().openapi({ description: "The superstep that the run was in." }),
    status: z.enum(STATUSES),
    state: z.record(z.string(), json),
    outputs: z.array(json),
    usage: json,
    requests: z.array(json),
    tasks: z.array(json).optional().openapi({ description: "Tasks that had not ended; only with `at`." }),
    waits: z.array(json).optional().openapi({ description: "Waits for signals; only without `at`." }),
    signals: z.array(json).optional().openapi({ description: "Not taken yet; only without `at`." }),
  })
  .openapi("State")

const pointInTime = z.object({ seq: z.number().int(), at: time })

export const diffSchema = z
  .object({
    from: pointInTime,
    to: pointInTime,
    changes: z.array(z.object({ key: z.string(), before: json.optional(), after: json.optional() })),
    finished: z.array(json).openapi({ description: "The tasks that ended in between, in order." }),
  })
  .openapi("Diff")

const usageBy = z.record(z.string(), json)
export const costSchema = z
  .object({ usage: json, byNode: usageBy, byModel: usageBy, byAgent: usageBy })
  .openapi("Cost")

export const comparisonSchema = z
  .object({
    a: z.string(),
    b: z.string(),
    same: z.boolean(),
    differences: z.array(json).openapi({
      description:
        "`what` differs, in execution order, and its values `a` and `b`; absent: the run has none.",
    }),
  })
  .openapi("Comparison")

const conditionSchema = z
  .object({
    condition: z.string(),
    holds: z.boolean(),
    operands: z.array(z.object({ text: z.string(), value: json.optional() })),
    to: z.string().nullable().optional(),
  })
  .openapi("Condition")

export const whySchema = z
  .object({
    run: z.string(),
    task: z.number().int(),
    node: z.string(),
    seq: z.number().int().optional().openapi({ description: "The record in which the task ended." }),
    error: json.optional(),
    conditions: z.array(conditionSchema).optional().openapi({
      description: "Of a definition: those that its node evaluated, with the values of their operands.",
    }),
    messages: z.array(
      z.object({
        value: json,
        isOutput: z.boolean(),
        undelivered: z.string().optional(),
        edges: z.array(
          z.object({
            kind: z.string(),
            to: z.string().optional(),
            label: z.string().optional(),
            taken: z.boolean(),
            reason: z.string(),
            condition: conditionSchema.optional(),
          }),
        ),
      }),
    ),
  })
  .openapi("Why")

const seqSchema = z.number().int()

export const provenanceSchema = z
  .object({
    run: z.string(),
    seq: seqSchema,
    value: json.optional(),
    sources: z.array(
      z.object({
        seq: seqSchema,
        kind: z.enum(["task", "start", "fork"]),
        value: json,
        reducer: z.string().optional(),
        task: z
          .object({
            task: z.number().int(),
            node: z.string(),
            input: json,
            from: z.array(z.object({ task: z.number().int(), node: z.string(), seq: seqSchema })),
            steps: z.array(z.string()),
          })
          .optional(),
      }),
    ),
  })
  .openapi("Provenance")

export const ledgerSchema = z
  .object({
    run: z.string(),
    seq: seqSchema.openapi({ description: "The last record that the fork shares." }),
    effects: z.array(
      z.object({
        seq: seqSchema,
        at: time,
        kind: z.enum(["model", "tool", "step", "question"]),
        name: z.string(),
        node: z.string(),
        task: z.number().int(),
        path: z.array(z.string()),
        isUncertain: z.literal(true).optional(),
        usage: json.optional(),
      }),
    ),
    usage: json,
  })
  .openapi("Ledger")

export const signalSchema = z
  .object({
    name: z.string().min(1).max(1_000),
    value: json.optional(),
    id: z.string().min(1).max(1_000).optional(),
  })
  .strict()
  .openapi("Signal")

const MAX_AT_ONCE = 100

export const batchSchema = z
  .object({
    runs: z
      .array(
        startSchema
          .omit({ onBusy: true, version: true })
          .extend({ key: z.string().min(1).max(200).optional() }),
      )
      .min(1)
      .max(MAX_AT_ONCE),
  })
  .strict()
  .openapi("Batch")

export const ACTIONS = ["cancel", "pause", "resume", "retry", "rerun", "delete"] as const

export const bulkSchema = z
  .object({
    action: z.enum(ACTIONS),
    filter: z
      .object({
        workflow: z.string().optional(),
        status: z.array(z.enum(STATUSES)).min(1).optional(),
        thread: z.string().optional(),
        key: z.string().optional(),
        labels: labels.optional(),
        text: z.string().optional(),
        since: time.optional(),
        until: time.optional(),
      })
      .strict()
      .refine(
        (filter) => Object.values(filter).some((value) => value !== undefined),
        "must name at least one field",
      ),
    dryRun: z.boolean().default(false).openapi({ description: "Lists the runs, and changes nothing." }),
    reason: z.string().max(1_000).optional().openapi({ description: "Of a cancellation." }),
    limit: z.number().int().min(1).max(MAX_AT_ONCE).default(MAX_AT_ONCE),
    cursor: z.string().optional(),
  })
  .strict()
  .openapi("BulkAction")

export const bulkResultSchema = z
  .object({
    action: z.enum(ACTIONS),
    dryRun: z.boolean(),
    results: z.array(
      z.object({
        id: z.string(),
        workflow: z.string(),
        status: z.string().openapi({ description: "Before the action." }),
        outcome: z
          .enum(["cancelled", "cancelling", "paused", "pausing", "resumed", "resuming", "created", "deleted"])
          .optional(),
        run: z.string().optional().openapi({ description: "The new run of a retry or a rerun." }),
        problem: problemSchema.optional(),
      }),
    ),
    more: z.boolean().openapi({ description: "Whether more runs match: send the request again." }),
    next: z.string().optional().openapi({ description: "The `cursor` to send with it." }),
  })
  .openapi("BulkResult")

const replayed = {
  definition: z.string().openapi({ description: "The name of a workflow of this server." }),
  text: z.string().max(1_000_000).optional().openapi({
    description: "The text of a definition with that name, YAML or JSON, which is not stored.",
  }),
  version: z.string().max(50).optional().openapi({ description: "A version of the definition." }),
}

export const replaySchema = z
  .union([
    z.object({ ...replayed, runs: z.array(z.string()).min(1).max(MAX_AT_ONCE) }).strict(),
    z
      .object({
        ...replayed,
        last: z
          .number()
          .int()
          .min(1)
          .max(MAX_AT_ONCE)
          .openapi({ description: "So many of its newest runs that have ended." }),
      })
      .strict(),
  ])
  .openapi("Replay")

export const replayResultSchema = z
  .object({
    definition: z.string(),
    same: z.boolean().openapi({ description: "Whether all of them behave as recorded." }),
    results: z.array(
      z.object({ run: z.string(), report: json.optional(), problem: problemSchema.optional() }),
    ),
    more: z.boolean().openapi({ description: "Whether there are older runs." }),
  })
  .openapi("ReplayResult")

/** Strict: a filter with a typing error would list everything. */
export const listSchema = z.strictObject({
  workflow: z.string().optional(),
  status: z
    .string()
    .optional()
    .openapi({ description: "One or more, separated by commas." })
    .transform((text, ctx) => {
      if (text === undefined) return undefined
      const names = text.split(",")
      for (const name of names) {
        if ((STATUSES as readonly string[]).includes(name)) continue
        ctx.addIssue({ code: "custom", message: `"${name}" is not a status; use ${STATUSES.join(", ")}` })
      }
      return names as (typeof STATUSES)[number][]
    }),
  thread: z.string().optional(),
  key: z.string().optional(),
  label: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .openapi({ description: "name=value; repeat it to require several." })
    .transform((value, ctx) => {
      const pairs = [value ?? []].flat().map((text) => {
        const at = text.indexOf("=")
        if (at < 1) ctx.addIssue({ code: "custom", message: `"${text}" is not name=value` })
        return [text.slice(0, at), text.slice(at + 1)] as const
      })
      return pairs.length === 0 ? undefined : Object.fromEntries(pairs)
    }),
  version: z.string().max(50).optional().openapi({ description: "Of its definition: a number." }),
  text: z.string().optional(),
  since: z.coerce
    .number()
    .int()
    .optional()
    .openapi({ description: "Created at this time or later, in milliseconds since 1970-01-01 UTC." }),
  until: z.coerce.number().int().optional().openapi({ description: "Created before this time." }),
  cursor: z.string().optional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(50),
})
