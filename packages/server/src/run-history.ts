/** Routes that look back on runs: state at any point, differences, cost, fixtures, replays. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { compareRuns, ledger, pastEvents, provenance, type StateAt, why } from "@superstep/engine"
import { emptyView, foldEvents } from "@superstep/engine/protocol"
import { type Env, needs, ownLabels, visibleRun } from "./access.ts"
import {
  body,
  comparisonSchema,
  costSchema,
  diffSchema,
  failure,
  ledgerSchema,
  pathSchema,
  pointSchema,
  provenanceSchema,
  runParam,
  stateSchema,
  taskSchema,
  whySchema,
} from "./schemas.ts"
import type { Services } from "./services.ts"

const failures = {
  404: failure("No such run."),
  422: failure("The run has no such point or sub-workflow."),
}

export function addRunHistoryRoutes(app: OpenAPIHono<Env>, services: Services): void {
  addStateRoutes(app, services)
  addReportRoutes(app, services)
}

function addStateRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/state",
      ...needs("viewer"),
      summary: "The state of a run, now or at a point in its past",
      request: { params: runParam, query: z.object({ at: pointSchema.optional(), path: pathSchema }) },
      responses: { 200: body(stateSchema, "What was committed by then."), ...failures },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { at, path } = c.req.valid("query")
      if (at === undefined && path.length === 0) {
        const { runId: _, workflow: __, supersteps: superstep, ...now } = await runtime.state(runId)
        return c.json({ superstep, ...now } as never, 200)
      }
      const past = await runtime.history(runId, { path })
      const state: StateAt = await past.stateAt(at ?? { seq: await lastSeq(runId) })
      return c.json(state as never, 200)
    },
  )

  async function lastSeq(runId: string): Promise<number> {
    return (await runtime.state(runId)).seq
  }

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/diff",
      ...needs("viewer"),
      summary: "What changed in the state of a run between two points",
      request: {
        params: runParam,
        query: z.object({ from: pointSchema, to: pointSchema, path: pathSchema }),
      },
      responses: { 200: body(diffSchema, "Changed channels, and the tasks that ended."), ...failures },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { from, to, path } = c.req.valid("query")
      const past = await runtime.history(runId, { path })
      return c.json((await past.diff(from, to)) as never, 200)
    },
  )
}

function addReportRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/cost",
      ...needs("viewer"),
      summary: "What a run used: by node, by model and by agent",
      request: { params: runParam },
      responses: { 200: body(costSchema, "Sub-workflows included."), 404: failure("No such run.") },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const view = foldEvents(emptyView(), await pastEvents(runtime.store, runId))
      const { usage, usageByNode: byNode, usageByModel: byModel, usageByAgent: byAgent } = view
      return c.json({ usage, byNode, byModel, byAgent }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/why",
      ...needs("viewer"),
      summary: "Why the messages of a task went where they went",
      request: {
        params: runParam,
        query: z.object({ task: taskSchema, path: pathSchema }),
      },
      responses: { 200: body(whySchema, "Every edge of its node, with the reason."), ...failures },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { task, path } = c.req.valid("query")
      const { runId: run, ...explanation } = await why(runtime.store, runId, task, { path })
      return c.json({ run, ...explanation } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/provenance",
      ...needs("viewer"),
      summary: "Where a channel of the state or an output comes from",
      description:
        "The tasks that wrote it, with their messages and the tasks that sent those. Name a `channel` or an `output`.",
      request: {
        params: runParam,
        query: z.object({
          channel: z.string().optional(),
          output: z.coerce.number().int().min(0).optional(),
          at: pointSchema.optional(),
          path: pathSchema,
        }),
      },
      responses: { 200: body(provenanceSchema, "What made the value, in order."), ...failures },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { runId: run, ...found } = await provenance(runtime.store, runId, c.req.valid("query"))
      return c.json({ run, ...found } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/ledger",
      ...needs("viewer"),
      summary: "What a fork from a point would do again",
      description: "Steps, calls of models and tools, and questions that are recorded after the point.",
      request: { params: runParam, query: z.object({ at: pointSchema }) },
      responses: { 200: body(ledgerSchema, "In the order in which they happened."), ...failures },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { runId: run, ...found } = await ledger(runtime.store, runId, c.req.valid("query").at)
      return c.json({ run, ...found } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/export",
      ...needs("viewer"),
      summary: "A run as a fixture for a test",
      description: "Everything in its journal. `expectReplay` of superstep/testing replays it.",
      request: { params: runParam },
      responses: {
        200: body(z.unknown().openapi({ description: "A fixture." }), "As a file."),
        404: failure("No such run."),
      },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { labels, ...fixture } = await runtime.toFixture(runId)
      c.header("content-disposition", `attachment; filename="${encodeURIComponent(runId)}.json"`)
      return c.json({ ...fixture, labels: ownLabels(labels) } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/compare",
      ...needs("viewer"),
      summary: "What two runs did differently",
      description: "Inputs, messages of nodes, answers, state, outputs and errors; not times or costs.",
      request: { query: z.object({ a: z.string(), b: z.string() }) },
      responses: {
        200: body(comparisonSchema, "`same` if they show no difference."),
        404: failure("No such run."),
      },
    }),
    async (c) => {
      const query = c.req.valid("query")
      const { runId: a } = await visibleRun(c, services, query.a)
      const { runId: b } = await visibleRun(c, services, query.b)
      const differences = await compareRuns(runtime.store, a, b)
      return c.json({ a, b, same: differences.length === 0, differences } as never, 200)
    },
  )
}
