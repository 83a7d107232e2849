/** Routes of usage and cost, and of statistics of a workflow. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import type { Runtime, Usage } from "@superstep/engine"
import { type Env, KEY_LABEL, maySee, needs, type Principal, principalOf, queryLabels } from "../access.ts"
import { runData, visibleRuns, visibleWorkflow } from "../runs.ts"
import { body, failure, runSchema } from "../schemas.ts"
import type { Services } from "../services.ts"
import { sum } from "./measure.ts"
import {
  catchUp,
  type DayUsage,
  dayOf,
  nodesOfDays,
  nodeUsageOfDays,
  quantile,
  sums,
  uncounted,
  usageOfDays,
} from "./usage-records.ts"

const DAY = 86_400_000
const DEFAULT_DAYS = 30
const MAX_DAYS = 400
const SHOWN_RUNS = 10
const GROUPS = ["day", "workflow", "node", "model", "key", "tenant"] as const
type Group = (typeof GROUPS)[number]

const day = z.iso.date().openapi({ description: "A day of UTC, such as 2026-01-31." })
const usageSchema = z.record(z.string(), z.number()).openapi({
  description:
    "`usd`, `inputTokens`, `outputTokens`, `modelCalls`, `toolCalls` and so on; only what was used.",
})
const runsSchema = z.object({
  completed: z.number().int(),
  failed: z.number().int(),
  cancelled: z.number().int(),
  limit: z.number().int(),
})

const inFlightSchema = z
  .object({
    queued: z.number().int(),
    running: z.number().int(),
    waiting: z.number().int(),
    paused: z.number().int(),
  })
  .openapi({
    description: "Runs that have not ended, up to 1,000 of each kind. What they use counts when they end.",
  })
const MAX_IN_FLIGHT = 1_000

const groupSchema = z
  .object({
    day: z.string().optional(),
    workflow: z.string().optional(),
    node: z.string().optional(),
    model: z.string().optional().openapi({ description: "Empty: what is not of a model." }),
    key: z.string().optional().openapi({ description: "The id of the API key; empty: none." }),
    tenant: z.string().optional(),
    runs: runsSchema.optional().openapi({ description: "Those that ended; not in groups by model or node." }),
    usage: usageSchema,
  })
  .openapi("UsageGroup")

const querySchema = z.object({
  group: z
    .string()
    .default("day")
    .openapi({ description: `One or more of ${GROUPS.join(", ")}, separated by commas.` })
    .transform((text, ctx) => {
      const names = [...new Set(text.split(","))]
      if (names.includes("node") && (names.includes("model") || names.includes("key"))) {
        ctx.addIssue({ code: "custom", message: "nodes are not counted by model or key" })
      }
      for (const name of names) {
        if ((GROUPS as readonly string[]).includes(name)) continue
        ctx.addIssue({ code: "custom", message: `"${name}" is not a group; use ${GROUPS.join(", ")}` })
      }
      return names as Group[]
    }),
  from: day.optional(),
  to: day.optional(),
  workflow: z.string().optional(),
  model: z.string().optional(),
  key: z.string().optional(),
})

export function addUsageRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/usage",
      ...needs("viewer"),
      summary: "What runs used and cost, by day, workflow, model and key",
      description:
        "A run counts when it ends, on the day that it ends. A fork counts without its shared past.",
      request: { query: querySchema },
      responses: {
        200: body(
          z.object({
            from: z.string(),
            to: z.string(),
            groups: z.array(groupSchema),
            total: groupSchema,
            inFlight: inFlightSchema,
            behind: z
              .number()
              .int()
              .openapi({ description: "Events of the store that are not counted yet." }),
          }),
          "Groups in the order of their names.",
        ),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { group, workflow, model, key, ...range } = c.req.valid("query")
      const { from, to } = checkedRange(range)
      await catchUp(runtime)
      const groups = new Map<string, z.infer<typeof groupSchema>>()
      let total: z.infer<typeof groupSchema> = { runs: NO_RUNS, usage: {} }
      const add = (values: { readonly [name in Group]?: string }, part: Part) => {
        const named = Object.fromEntries(group.map((one) => [one, values[one]]))
        const id = JSON.stringify(group.map((one) => values[one]))
        groups.set(id, added(groups.get(id) ?? { ...named, usage: {} }, part))
      }
      const days = { from, to, tenant: principal.tenant }
      const isMeant = (name: string) =>
        maySee(principal, name) && (workflow === undefined || name === workflow)
      if (group.includes("node")) {
        for await (const [of, nodes] of nodeUsageOfDays(runtime, days)) {
          if (!isMeant(of.workflow)) continue
          for (const [node, { usage }] of Object.entries(nodes)) add({ ...of, node }, { usage })
        }
      }
      for await (const [of, used] of usageOfDays(runtime, days)) {
        if (!isMeant(of.workflow)) continue
        if (key !== undefined && of.key !== key) continue
        for (const [name, part] of partsOf(used, group.includes("model"), model)) {
          if (!group.includes("node")) add({ ...of, model: name }, part)
        }
        for (const [, part] of partsOf(used, false, model)) total = added(total, part)
      }
      const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one)
      const inFlight = await runsInFlight(runtime, principal, { workflow, key })
      return c.json({ from, to, groups: sorted, total, inFlight, behind: await uncounted(runtime) }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/workflows/{workflow}/statistics",
      ...needs("viewer"),
      summary: "How the runs of a workflow did: success, durations, cost, nodes",
      request: {
        params: z.object({ workflow: z.string() }),
        query: z.object({ days: z.coerce.number().int().min(1).max(MAX_DAYS).default(7) }),
      },
      responses: {
        200: body(
          z
            .object({
              workflow: z.string(),
              from: z.string(),
              to: z.string(),
              runs: runsSchema,
              successRate: z.number().optional().openapi({ description: "Completed of all that ended." }),
              p50: z.number().optional().openapi({ description: "Milliseconds, to a tenth." }),
              p95: z.number().optional(),
              usage: usageSchema,
              models: z.record(z.string(), usageSchema),
              nodes: z.array(
                z.object({
                  id: z.string(),
                  tasks: z.number().int(),
                  failed: z.number().int(),
                  milliseconds: z.number().openapi({ description: "Of a task, on average; waits included." }),
                  usage: usageSchema,
                }),
              ),
              last: z.array(runSchema),
              behind: z.number().int(),
            })
            .openapi("Statistics"),
          "Of the last days.",
        ),
        404: failure("No such workflow."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { workflow: name } = c.req.valid("param")
      await visibleWorkflow(principal, services, name)
      await catchUp(runtime)
      const now = Date.now()
      const from = dayOf(now - (c.req.valid("query").days - 1) * DAY)
      const range = { from, to: dayOf(now), tenant: principal.tenant }
      let all: Omit<DayUsage, "position"> = { runs: NO_RUNS, durations: {}, usage: {}, models: {} }
      for await (const [{ workflow }, used] of usageOfDays(runtime, range)) {
        if (workflow === name) all = combined(all, used)
      }
      const { runs, durations, usage, models } = all
      const ended = Object.values(runs).reduce((total, one) => total + one, 0)
      const nodes = Object.entries(await nodesOfDays(runtime, name, range)).map(([id, { ms, ...node }]) => ({
        id,
        ...node,
        milliseconds: node.tasks === 0 ? 0 : Math.round(ms / node.tasks),
      }))
      const query = { workflow: name, labels: queryLabels(principal, undefined) }
      const last = await visibleRuns(runtime, principal, query, undefined, SHOWN_RUNS)
      return c.json(
        {
          workflow: name,
          from,
          to: range.to,
          runs,
          successRate: ended === 0 ? undefined : runs.completed / ended,
          p50: quantile(durations, 0.5),
          p95: quantile(durations, 0.95),
          usage,
          models,
          nodes,
          last: last.map((run) => runData(principal, run)),
          behind: await uncounted(runtime),
        },
        200,
      )
    },
  )
}

const NO_RUNS = { completed: 0, failed: 0, cancelled: 0, limit: 0 }

interface Part {
  readonly runs?: DayUsage["runs"]
  readonly usage: Usage
}

/** A record as it counts in groups: as a whole, or in parts by model; of one model only, if there is a filter. */
function* partsOf(
  { runs, usage, models }: DayUsage,
  isByModel: boolean,
  model: string | undefined,
): Generator<readonly [string, Part]> {
  if (!isByModel && model === undefined) return yield ["", { runs, usage }]
  let rest = usage as Usage
  for (const [name, used] of Object.entries(models)) {
    rest = sum(rest, negative(used))
    if (model === undefined || name === model) yield [name, { usage: used }]
  }
  const left = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== 0))
  if (model === undefined && Object.keys(left).length > 0) yield ["", { usage: left }]
}

function negative(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).map(([part, value]) => [part, -(value ?? 0)]))
}

function added<G extends z.infer<typeof groupSchema>>(group: G, { runs, usage }: Part): G {
  const usageSum = sum(group.usage, usage) as Record<string, number>
  return { ...group, ...(runs && { runs: addedRuns(group.runs ?? NO_RUNS, runs) }), usage: usageSum }
}

function addedRuns(a: DayUsage["runs"], b: DayUsage["runs"]): DayUsage["runs"] {
  return {
    completed: a.completed + b.completed,
    failed: a.failed + b.failed,
    cancelled: a.cancelled + b.cancelled,
    limit: a.limit + b.limit,
  }
}

function combined(a: Omit<DayUsage, "position">, b: DayUsage): Omit<DayUsage, "position"> {
  const durations = { ...a.durations }
  for (const [bucket, runs] of Object.entries(b.durations))
    durations[bucket] = (durations[bucket] ?? 0) + runs
  return {
    runs: addedRuns(a.runs, b.runs),
    durations,
    usage: sum(a.usage, b.usage) as DayUsage["usage"],
    models: sums(a.models, b.models) as DayUsage["models"],
  }
}

async function runsInFlight(
  runtime: Runtime,
  principal: Principal,
  { workflow, key }: { readonly workflow?: string | undefined; readonly key?: string | undefined },
): Promise<z.infer<typeof inFlightSchema>> {
  const labels = queryLabels(principal, key === undefined ? undefined : { [KEY_LABEL]: key })
  const count = async (status: keyof z.infer<typeof inFlightSchema>) =>
    (await visibleRuns(runtime, principal, { workflow, labels, status: [status] }, undefined, MAX_IN_FLIGHT))
      .length
  const [queued, running, waiting, paused] = await Promise.all(
    (["queued", "running", "waiting", "paused"] as const).map(count),
  )
  return { queued, running, waiting, paused } as z.infer<typeof inFlightSchema>
}

function checkedRange({ from, to }: { from?: string | undefined; to?: string | undefined }) {
  const last = to ?? dayOf(Date.now())
  const first = from ?? dayOf(Date.parse(last) - (DEFAULT_DAYS - 1) * DAY)
  const earliest = dayOf(Date.parse(last) - (MAX_DAYS - 1) * DAY)
  return { from: first < earliest ? earliest : first, to: last }
}
