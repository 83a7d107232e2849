/** Routes for many runs at once: each run has a result of its own, and one that fails does not stop the others. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { type RunQuery, type StoredRun, SuperstepError } from "@superstep/engine"
import {
  type Env,
  maySee,
  needs,
  type Principal,
  principalOf,
  queryLabels,
  tenantName,
  visibleRun,
} from "./access.ts"
import type { StartedWorkflow } from "./catalog.ts"
import { loadedVersion } from "./definitions/stored-definitions.ts"
import { problemIn } from "./problem.ts"
import { FROM_START } from "./run-actions.ts"
import { ENDED, runData, startRun, traceOf, visibleRuns, visibleWorkflow, workflowUnknown } from "./runs.ts"
import {
  type ACTIONS,
  batchSchema,
  body,
  bulkResultSchema,
  bulkSchema,
  failure,
  problemSchema,
  replayResultSchema,
  replaySchema,
  runSchema,
} from "./schemas.ts"
import type { Services } from "./services.ts"

type Action = (typeof ACTIONS)[number]
type Status = NonNullable<z.infer<typeof bulkSchema>["filter"]["status"]>[number]

/** The runs that an action is for. */
const STATUSES_FOR: { readonly [action in Action]: readonly Status[] } = {
  cancel: ["queued", "running", "waiting", "paused", "quarantined"],
  pause: ["queued", "running", "waiting"],
  resume: ["paused"],
  retry: ["failed", "limit"],
  rerun: ENDED,
  delete: ENDED,
}

export function addManyRunsRoutes(app: OpenAPIHono<Env>, services: Services): void {
  addBatchRoute(app, services)
  addBulkRoute(app, services)
  addReplayRoute(app, services)
}

function addBatchRoute(app: OpenAPIHono<Env>, services: Services): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/workflows/{workflow}/runs/batch",
      ...needs("operator", { starts: true }),
      summary: "Start up to 100 runs",
      description: "Answers when they are stored. A run with a `key` that exists is joined.",
      request: {
        params: z.object({ workflow: z.string() }),
        body: { required: true, content: { "application/json": { schema: batchSchema } } },
      },
      responses: {
        200: body(
          z.object({
            results: z.array(z.object({ run: runSchema.optional(), problem: problemSchema.optional() })),
          }),
          "In the order of the request: the run, or why it could not start.",
        ),
        404: failure("No such workflow."),
        422: failure("The body is not valid. Nothing was started."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const workflow = await visibleWorkflow(principal, services, c.req.valid("param").workflow)
      const trace = traceOf(c.req.header("traceparent"))
      const begun = c.req.valid("json").runs.map(async (start) => {
        try {
          const runId = await startRun(principal, services, workflow, { ...start, trace }).stored()
          return { run: runData(principal, await visibleRun(c, services, runId)) }
        } catch (error) {
          return { problem: problemIn(error, services.report) }
        }
      })
      return c.json({ results: await Promise.all(begun) } as never, 200)
    },
  )
}

function addBulkRoute(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  /** The part of a result that tells what was done. */
  async function act(principal: Principal, action: Action, run: StoredRun, reason: string | undefined) {
    const { runId } = run
    const labels = await services.catalog.copyLabels(principal, run)
    switch (action) {
      case "cancel":
        return (await runtime.cancel(runId, reason, { timeout: 0 })) === "taken"
          ? { outcome: "cancelled" }
          : { outcome: "cancelling" }
      case "pause":
        return (await runtime.pause(runId, { reason, by: principal.id, timeout: 0 })) === "taken"
          ? { outcome: "paused" }
          : { outcome: "pausing" }
      case "resume":
        return (await runtime.resume(runId, { by: principal.id, timeout: 0 })) === "taken"
          ? { outcome: "resumed" }
          : { outcome: "resuming" }
      case "retry":
        return { outcome: "created", run: await runtime.rerun(runId, { labels }) }
      case "rerun":
        return { outcome: "created", run: await runtime.rerun(runId, { from: FROM_START, labels }) }
      case "delete":
        await runtime.remove(runId)
        return { outcome: "deleted" }
    }
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/bulk",
      ...needs("operator", { starts: true }),
      summary: "Cancel, pause, resume, retry, rerun or delete the runs that a filter finds",
      description:
        "Newest first, up to `limit` runs. `dryRun` lists them and changes nothing. Without `status`: the runs that the action is for.",
      request: { body: { required: true, content: { "application/json": { schema: bulkSchema } } } },
      responses: {
        200: body(bulkResultSchema, "A result per run."),
        422: failure("The filter is not valid. Nothing was done."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { action, filter, dryRun, reason, limit, cursor } = c.req.valid("json")
      const found = await visibleRuns(
        runtime,
        principal,
        queryOf(principal, action, filter),
        cursor,
        limit + 1,
      )
      const results: { readonly id: string; readonly outcome?: string }[] = []
      for (const run of found.slice(0, limit)) {
        const result = { id: run.runId, workflow: run.workflow, status: run.status }
        try {
          results.push({ ...result, ...(dryRun ? {} : await act(principal, action, run, reason)) })
        } catch (error) {
          const problem = problemIn(error, services.report)
          results.push({ ...result, ...{ problem } })
        }
      }
      const more = found.length > limit
      // A run that was deleted is no place in the list; without any, those that are left come first now.
      const next = more ? results.findLast(({ outcome }) => outcome !== "deleted")?.id : undefined
      return c.json({ action, dryRun, results, more, next } as never, 200)
    },
  )
}

function queryOf(
  principal: Principal,
  action: Action,
  { status, thread, key, labels, since, until, ...filter }: z.infer<typeof bulkSchema>["filter"],
): RunQuery {
  const allowed = STATUSES_FOR[action]
  const wrong = status?.find((one) => !allowed.includes(one))
  if (wrong !== undefined) {
    const text = `The action ${action} is not for runs that are ${wrong}. It is for ${allowed.join(", ")}.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  return {
    ...filter,
    status: status ?? allowed,
    thread: tenantName(principal, thread),
    key: tenantName(principal, key),
    labels: queryLabels(principal, labels),
    created: { from: since, until },
  }
}

/** A workflow of text that is not stored. Throws DEFINITION_INVALID. */
async function unsaved(
  principal: Principal,
  { definitions }: Services,
  name: string,
  text: string,
): Promise<StartedWorkflow> {
  if (!maySee(principal, name)) throw workflowUnknown(name)
  const { definition, diagnostics } = await definitions.check(name, text)
  if (definition !== undefined) return loadedVersion(definition, undefined).workflow as StartedWorkflow
  const first = diagnostics.find(({ severity }) => severity === "error")
  throw new SuperstepError("DEFINITION_INVALID", first?.message ?? "The definition is not valid.")
}

function addReplayRoute(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/replay",
      ...needs("author"),
      summary: "Replay recorded runs against a workflow of this server, or against text that is not stored",
      description:
        "No model is called and nobody is asked: recorded results of steps and people are used. Handlers run again.",
      request: { body: { required: true, content: { "application/json": { schema: replaySchema } } } },
      responses: {
        200: body(replayResultSchema, "A report per run."),
        404: failure("No such workflow."),
        422: failure("The body is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { definition, text, version, ...choice } = c.req.valid("json")
      const { runs, last } = { runs: undefined, last: 0, ...choice }
      const workflow =
        text === undefined
          ? await visibleWorkflow(principal, services, definition, version)
          : await unsaved(principal, services, definition, text)
      const query = { workflow: definition, status: ENDED, labels: queryLabels(principal, undefined) }
      const found =
        runs === undefined ? await visibleRuns(runtime, principal, query, undefined, last + 1) : undefined
      const ids = runs ?? (found ?? []).slice(0, last).map(({ runId }) => runId)
      const results: { readonly run: string; readonly report?: { readonly same: boolean } }[] = []
      for (const run of ids) {
        try {
          const { runId } = await visibleRun(c, services, run)
          const { runId: _, ...report } = await runtime.replay(runId, workflow as never)
          results.push({ run, report })
        } catch (error) {
          results.push({ run, ...{ problem: problemIn(error, services.report) } })
        }
      }
      const same = results.every(({ report }) => report?.same === true)
      const more = found !== undefined && found.length > last
      return c.json({ definition, same, results, more } as never, 200)
    },
  )
}
