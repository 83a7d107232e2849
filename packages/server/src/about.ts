/** Routes that describe: who sends the request, and the graphs of workflows and of runs. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import type { JournalRecord } from "@superstep/engine"
import { graphData } from "@superstep/engine/core"
import { type Env, needs, OWNER, principalOf, ROLES, visibleRun } from "./access.ts"
import { visibleWorkflow } from "./runs.ts"
import { body, failure, runParam } from "./schemas.ts"
import type { Services } from "./services.ts"

const graph = z.unknown().openapi({
  description:
    "`name`, `start`, `nodes`, `edges`, `outputs`; nodes have the JSON Schemas of their inputs, and nested graphs.",
})

const meSchema = z
  .object({
    id: z.string(),
    role: z.enum(ROLES),
    tenant: z.string().optional(),
    authenticated: z.boolean().openapi({ description: "False: the server has no authentication." }),
  })
  .openapi("Me")

const graphSchema = z
  .object({
    graph,
    called: z
      .record(z.string(), graph)
      .openapi({ description: "Of the workflows that a run called with `ctx.call`, by name." }),
  })
  .openapi("Graph")

/** Records of a journal that are read at once. */
const PAGE = 1_000

export function addAboutRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/me",
      ...needs("viewer"),
      summary: "Who you are to this server",
      responses: { 200: body(meSchema, "Your id and role.") },
    }),
    (c) => {
      const principal = principalOf(c)
      const { id, role, tenant } = principal
      return c.json({ id, role, tenant, authenticated: principal !== OWNER }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/workflows/{workflow}/graph",
      ...needs("viewer"),
      summary: "The graph of a workflow",
      request: { params: z.object({ workflow: z.string() }) },
      responses: { 200: body(graphSchema, "As data."), 404: failure("No such workflow.") },
    }),
    async (c) => {
      const name = c.req.valid("param").workflow
      const { program } = await visibleWorkflow(principalOf(c), services, name)
      return c.json({ graph: graphData(program.graph).data, called: {} } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/graph",
      ...needs("viewer"),
      summary: "The graph of a run",
      description: "As it was when the run last loaded it: later versions of the workflow do not change it.",
      request: { params: runParam },
      responses: { 200: body(graphSchema, "As data."), 404: failure("No such run.") },
    }),
    async (c) => {
      const { runId } = await visibleRun(c, services, c.req.valid("param").run)
      const { root, called } = await graphsOf(runtime.store, runId)
      const graphs = await Promise.all(
        [...called].map(async ([name, hash]) => [name, await runtime.store.graph(hash)] as const),
      )
      return c.json(
        { graph: await runtime.store.graph(root), called: Object.fromEntries(graphs) } as never,
        200,
      )
    },
  )
}

/** The hashes of the graphs that the journal names: the last one of the run itself, and one for each called workflow. */
async function graphsOf(store: Services["runtime"]["store"], runId: string) {
  let root = ""
  const called = new Map<string, string>()
  for (let after = 0, records: readonly JournalRecord[] = []; ; after = records.at(-1)?.seq ?? after) {
    records = await store.read(runId, after, PAGE)
    for (const { entry, frame } of records) {
      if (entry.type !== "run.started" && entry.type !== "graph.changed") continue
      if (frame === "") root = entry.graph
      else if (entry.type === "run.started") called.set(entry.workflow, entry.graph)
    }
    if (records.length < PAGE) return { root, called }
  }
}
