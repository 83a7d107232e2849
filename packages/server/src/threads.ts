/** Routes of threads: state that lasts from run to run. The threads of a tenant have its prefix. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { hasEnded, type StoredRun, SuperstepError } from "@superstep/engine"
import { type Env, isVisible, needs, ownName, type Principal, principalOf, tenantName } from "./access.ts"
import { runData, visibleRuns } from "./runs.ts"
import { body, failure, pageSchema, runSchema } from "./schemas.ts"
import type { Services } from "./services.ts"

const SHOWN_RUNS = 20

const json = z.unknown().openapi({ description: "Any JSON value." })
const threadParam = z.object({ thread: z.string().min(1).max(1_000) })

const listedSchema = z
  .object({ id: z.string(), run: runSchema.optional().openapi({ description: "The newest." }) })
  .openapi("ListedThread")

const threadSchema = z
  .object({
    id: z.string(),
    version: z.number().int().openapi({ description: "How many writes it has." }),
    state: z.record(z.string(), json),
    runs: z.array(runSchema).openapi({
      description: `The newest ${SHOWN_RUNS}; GET /v1/runs?thread= lists all.`,
    }),
  })
  .openapi("Thread")

export function addThreadRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  const { store } = runtime

  /** The newest run, if the principal may see the thread at all; undefined if it has none. Throws THREAD_UNKNOWN. */
  async function newestOf(principal: Principal, thread: string): Promise<StoredRun | undefined> {
    const [run] = await runtime.runs({ thread, limit: 1 })
    const isSeen = run === undefined ? principal.workflows === undefined : isVisible(principal, run)
    if (isSeen) return run
    throw threadUnknown(ownName(principal, thread) as string)
  }

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/threads",
      ...needs("viewer"),
      summary: "List threads that have state or a run in flight, by id",
      request: {
        query: pageSchema.extend({
          cursor: z.string().max(1_000).optional(),
          prefix: z.string().max(1_000).default(""),
        }),
      },
      responses: {
        200: body(
          z.object({ threads: z.array(listedSchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { cursor, limit, prefix } = c.req.valid("query")
      const after = tenantName(principal, cursor)
      const ids = await store.threads({ prefix: tenantName(principal, prefix), after, limit: limit + 1 })
      const threads = await Promise.all(
        ids.slice(0, limit).map(async (id) => {
          const run = await newestOf(principal, id).catch(() => null)
          const own = ownName(principal, id) as string
          return run === null ? [] : [{ id: own, run: run && runData(principal, run) }]
        }),
      )
      const next = ids.length > limit ? ownName(principal, ids[limit - 1]) : undefined
      return c.json({ threads: threads.flat(), next }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/threads/{thread}",
      ...needs("viewer"),
      summary: "Show the state of a thread, and its newest runs",
      request: { params: threadParam },
      responses: { 200: body(threadSchema, "As it is now."), 404: failure("No such thread.") },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { thread: id } = c.req.valid("param")
      const thread = tenantName(principal, id)
      const newest = await newestOf(principal, thread)
      const { version, state } = await store.thread(thread)
      if (version === 0 && newest === undefined) throw threadUnknown(id)
      const runs = await visibleRuns(runtime, principal, { thread }, undefined, SHOWN_RUNS)
      const shown = runs.map((run) => runData(principal, run))
      return c.json({ id, version, state, runs: shown } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/threads/{thread}",
      ...needs("operator"),
      summary: "Delete the state of a thread; its runs stay",
      request: { params: threadParam },
      responses: {
        204: { description: "Deleted." },
        404: failure("No such thread."),
        409: failure("A run of it is in flight."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { thread: id } = c.req.valid("param")
      const thread = tenantName(principal, id)
      const newest = await newestOf(principal, thread)
      if (newest === undefined && (await store.thread(thread)).version === 0) throw threadUnknown(id)
      if (newest !== undefined && !hasEnded(newest)) {
        const text = `Run "${newest.runId}" of thread "${id}" is ${newest.status}: cancel it first.`
        throw new SuperstepError("THREAD_BUSY", text, { run: newest.runId })
      }
      await store.removeThread(thread)
      return c.body(null, 204)
    },
  )
}

function threadUnknown(id: string): SuperstepError {
  return new SuperstepError("THREAD_UNKNOWN", `There is no thread "${id}".`)
}
