/** Routes of workflows and runs. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import {
  hasEnded,
  type Run,
  type RunQuery,
  type RunResult,
  type Runtime,
  type StartOptions,
  type StoredRun,
  SuperstepError,
  VERSION_LABEL,
} from "@superstep/engine"
import {
  checkCursor,
  type Env,
  isVisible,
  maySee,
  needs,
  ownLabels,
  ownName,
  type Principal,
  principalOf,
  queryLabels,
  tenantLabels,
  tenantName,
  visibleRun,
} from "./access.ts"
import type { StartedWorkflow } from "./catalog.ts"
import { eventFormat, eventResponse } from "./events.ts"
import { problem } from "./problem.ts"
import { protectedJson } from "./protection.ts"
import {
  body,
  failure,
  listSchema,
  resultSchema,
  runParam,
  runSchema,
  startSchema,
  workflowSchema,
} from "./schemas.ts"
import type { Services } from "./services.ts"

const MAX_WAIT = 60
const DEFAULT_WAIT = 30

const eventQuery = z.object({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .openapi({ description: "The number of the last event you have." }),
  types: z.string().optional().openapi({ description: "Only these types, separated by commas." }),
  depth: z.coerce
    .number()
    .int()
    .min(0)
    .optional()
    .openapi({ description: "Levels of sub-workflows; 0: none." }),
})

export function addRunRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime, catalog, feeds, drain, heartbeat } = services

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/workflows",
      ...needs("viewer"),
      summary: "List the workflows of this server",
      responses: { 200: body(z.object({ workflows: z.array(workflowSchema) }), "By name.") },
    }),
    async (c) => {
      const visible = (await catalog.list()).filter(({ name }) => maySee(principalOf(c), name))
      return c.json({ workflows: visible.map(workflowData) }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/workflows/{workflow}/runs",
      ...needs("operator", { starts: true }),
      summary: "Start a run",
      description:
        "Waits for the result, up to 30 seconds or as long as `Prefer: wait=N` says, then answers 202. `Prefer: respond-async` answers 202 at once; `Accept: text/event-stream` answers with the run's events. With an `Idempotency-Key`, a second request joins the first one's run.",
      request: {
        params: z.object({ workflow: z.string() }),
        headers: z.object({
          prefer: z.string().optional(),
          "idempotency-key": z.string().min(1).max(200).optional(),
        }),
        body: { required: true, content: { "application/json": { schema: startSchema } } },
      },
      responses: {
        200: body(resultSchema, "The run has ended, or waits for a person."),
        202: body(runSchema, "The run continues; `Location` has its address."),
        404: failure("No such workflow."),
        409: failure("The thread is busy, or the run exists with another input."),
        422: failure("The workflow does not accept the input."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { version, ...start } = c.req.valid("json")
      const workflow = await visibleWorkflow(principal, services, c.req.valid("param").workflow, version)
      const key = c.req.valid("header")["idempotency-key"]
      const trace = traceOf(c.req.header("traceparent"))
      const run = startRun(principal, services, workflow, { key, trace, ...start })
      const settled = run.result
      // Who only follows the run hears of its failure by the events.
      settled.catch(() => undefined)
      const runId = await run.stored()
      const location = `/v1/runs/${encodeURIComponent(runId)}`
      // A run that exists already may belong to somebody else. Reading a new one would cost as much as storing it.
      const isNew = key === undefined && c.req.valid("json").runId === undefined
      const found = isNew ? undefined : await visibleRun(c, services, runId)
      const row = async () => found ?? (await visibleRun(c, services, runId))
      if (/\btext\/event-stream\b/.test(c.req.header("accept") ?? "")) {
        const all = { after: 0, types: undefined, depth: undefined, heartbeat }
        const signals = { request: c.req.raw.signal, drain }
        return eventResponse(feeds, await row(), "sse", all, signals, { location }) as never
      }
      const wait = preferredWait(c.req.valid("header").prefer)
      const result = await within(settled, wait * 1_000, drain)
      if (result !== undefined) return protectedJson(resultData(result), 200, { location }) as never
      const stored = (await runtime.store.run(runId)) ?? (await row())
      return protectedJson(runData(principal, stored), 202, { location }) as never
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs",
      ...needs("viewer"),
      summary: "List runs, newest first",
      request: { query: listSchema },
      responses: {
        200: body(
          z.object({ runs: z.array(runSchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        422: failure("A filter is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { cursor, limit, label, thread, key, version, since, until, ...filter } = c.req.valid("query")
      const versioned = version === undefined ? {} : { [VERSION_LABEL]: version }
      const query = {
        ...filter,
        thread: tenantName(principal, thread),
        key: tenantName(principal, key),
        labels: queryLabels(principal, { ...label, ...versioned }),
        created: { from: since, until },
      }
      const rows = await visibleRuns(runtime, principal, query, cursor, limit + 1)
      const page = rows.slice(0, limit)
      const next = rows.length > limit ? page.at(-1)?.runId : undefined
      return c.json({ runs: page.map((row) => runData(principal, row)), next }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}",
      ...needs("viewer"),
      summary: "Show a run",
      request: { params: runParam },
      responses: { 200: body(runSchema, "Its row."), 404: failure("No such run.") },
    }),
    async (c) =>
      c.json(runData(principalOf(c), await visibleRun(c, services, c.req.valid("param").run)), 200),
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/result",
      ...needs("viewer"),
      summary: "The result of a run: outputs, state, usage, open questions",
      description: "Answers at once, or waits for the result as long as `Prefer: wait=N` says.",
      request: { params: runParam, headers: z.object({ prefer: z.string().optional() }) },
      responses: {
        200: body(resultSchema, "The run has ended, is paused, or waits for a person."),
        202: body(runSchema, "The run is still executing."),
        404: failure("No such run."),
      },
    }),
    async (c) => {
      const row = await visibleRun(c, services, c.req.valid("param").run)
      const settled = runtime.get(row.runId).result
      const isReady = row.status === "waiting" || row.status === "paused" || hasEnded(row)
      const wait = preferredWait(c.req.valid("header").prefer, 0)
      const result = isReady ? await settled : await within(settled, wait * 1_000, drain)
      if (result !== undefined) return c.json(resultData(result) as never, 200)
      return c.json(runData(principalOf(c), await visibleRun(c, services, row.runId)), 202)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/runs/{run}",
      ...needs("operator"),
      summary: "Delete a run that has ended",
      request: { params: runParam },
      responses: {
        204: { description: "Deleted." },
        404: failure("No such run."),
        409: failure("In flight."),
      },
    }),
    async (c) => {
      await runtime.remove((await visibleRun(c, services, c.req.valid("param").run)).runId)
      return c.body(null, 204)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/events",
      ...needs("viewer"),
      summary: "Stream a run's events",
      description:
        "Server-sent events, or NDJSON by `Accept: application/x-ndjson`. The id of an event is its number: connect again with `Last-Event-ID` or `after` and nothing is missed or repeated. The last frame is always `end`.",
      request: { params: runParam, query: eventQuery },
      responses: {
        200: { description: "Events, until the run has ended." },
        404: failure("No such run."),
        406: failure("Neither format is accepted."),
      },
    }),
    async (c) => {
      const row = await visibleRun(c, services, c.req.valid("param").run)
      const format = eventFormat(c.req.header("accept"))
      if (format === undefined) {
        const text = "Events are text/event-stream or application/x-ndjson. Accept one of them."
        return problem(406, "NOT_ACCEPTABLE", text)
      }
      const { after, types, depth } = c.req.valid("query")
      const last = c.req.header("last-event-id")
      const from = after ?? (last !== undefined && /^\d{1,15}$/.test(last) ? Number(last) : 0)
      const options = {
        after: from,
        types: types === undefined ? undefined : new Set(types.split(",")),
        depth,
        heartbeat,
      }
      return eventResponse(feeds, row, format, options, { request: c.req.raw.signal, drain })
    },
  )
}

function workflowData({ name, program }: { readonly name: string; readonly program: unknown }) {
  const { graph } = program as { graph: { nodes: readonly { readonly id: string }[] } }
  return { name, nodes: graph.nodes.map(({ id }) => id) }
}

export function runData(principal: Principal, run: StoredRun): z.infer<typeof runSchema> {
  const {
    runId: id,
    workflow,
    status,
    createdAt,
    updatedAt,
    key,
    thread,
    labels,
    wakeAt,
    forkOf,
    error,
  } = run
  return {
    id,
    workflow,
    status: status as z.infer<typeof runSchema>["status"],
    createdAt,
    updatedAt,
    key: ownName(principal, key),
    thread: ownName(principal, thread),
    version: labels?.[VERSION_LABEL],
    labels: ownLabels(labels),
    wakeAt,
    forkOf: forkOf === undefined ? undefined : { run: forkOf.runId, seq: forkOf.seq },
    error,
  }
}

function resultData({ runId, status, outputs, state, usage, requests, error }: RunResult<unknown, unknown>) {
  const shown =
    error === undefined ? undefined : { code: error.code, message: error.message, node: error.node }
  return { id: runId, status, outputs, state, usage, requests, error: shown }
}

/** A page of what the principal may see. */
export async function visibleRuns(
  runtime: Runtime,
  principal: Principal,
  query: RunQuery,
  cursor: string | undefined,
  count: number,
): Promise<readonly StoredRun[]> {
  if (cursor !== undefined) await checkCursor(runtime, cursor, (run) => isVisible(principal, run))
  const visible: StoredRun[] = []
  let before = cursor
  for (;;) {
    const rows = await runtime.runs({ ...query, before, limit: count })
    visible.push(...rows.filter((row) => isVisible(principal, row)))
    if (visible.length >= count || rows.length < count) return visible.slice(0, count)
    before = rows.at(-1)?.runId
  }
}

/** The status of a run that is over. */
export const ENDED = ["completed", "failed", "cancelled", "limit"] as const

/** The workflow, if this server has it and the principal may see it; else throws WORKFLOW_UNKNOWN. */
export async function visibleWorkflow(
  principal: Principal,
  { catalog }: Services,
  name: string,
  version?: string,
): Promise<StartedWorkflow> {
  const workflow = maySee(principal, name) ? await catalog.find(name, version) : undefined
  if (workflow === undefined) throw workflowUnknown(name)
  return workflow
}

export function startRun(
  principal: Principal,
  { runtime }: Services,
  workflow: StartedWorkflow,
  start: Start,
): Run<unknown, unknown> {
  const { input, ...options } = start
  return runtime.start(workflow, input as never, startOptions(principal, options))
}

type Start = Omit<z.infer<typeof startSchema>, "version"> & {
  readonly key?: string | undefined
  /** The conversation that the run belongs to, as the client knows it. */
  readonly chat?: string | undefined
  readonly trace?: string | undefined
}

/** How a run of the principal starts. */
export function startOptions(principal: Principal, start: Omit<Start, "input">): StartOptions {
  const { labels, thread, key, runId, chat, ...options } = start
  // The copy comes last: on Node 20 each property that is added to a copy takes a microsecond.
  return {
    runId: tenantName(principal, runId),
    key: tenantName(principal, key),
    thread: tenantName(principal, thread),
    labels: tenantLabels(principal, labels, chat),
    ...options,
  }
}

/** The caller's W3C trace, which the spans of the run belong to. As the standard says, what is not valid is ignored. */
export function traceOf(traceparent: string | undefined): string | undefined {
  return /^00-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}$/.test(traceparent ?? "")
    ? traceparent
    : undefined
}

export function workflowUnknown(name: string): SuperstepError {
  const text = `There is no workflow "${name}". GET /v1/workflows lists them.`
  return new SuperstepError("WORKFLOW_UNKNOWN", text)
}

/** Seconds. RFC 7240. */
export function preferredWait(prefer = "", otherwise = DEFAULT_WAIT): number {
  if (/\brespond-async\b/i.test(prefer)) return 0
  const seconds = /\bwait=(\d{1,6})\b/i.exec(prefer)?.[1]
  return seconds === undefined ? otherwise : Math.min(MAX_WAIT, Number(seconds))
}

/** Undefined: it takes longer, or the server drains. */
function within<T>(promise: Promise<T>, milliseconds: number, stop: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (milliseconds === 0 || stop.aborted) {
      promise.catch(() => undefined)
      return resolve(undefined)
    }
    const late = () => {
      end()
      resolve(undefined)
    }
    const timer = setTimeout(late, milliseconds)
    stop.addEventListener("abort", late)
    const end = () => {
      clearTimeout(timer)
      stop.removeEventListener("abort", late)
    }
    promise.finally(end).then(resolve, reject)
  })
}
