/** Routes of questions to people. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import type { RequestQuery, StoredRequest } from "@superstep/engine"
import type { Context } from "hono"
import { checkCursor, type Env, isVisible, needs, principalOf, visibleRun } from "./access.ts"
import { body, failure, requestSchema } from "./schemas.ts"
import type { Services } from "./services.ts"

const OUTCOMES = ["open", "delivering", "answered", "expired", "withdrawn"] as const
export function addInboxRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services

  /** A page of what the principal may see: a question belongs to the tenant of its run. */
  async function visibleRequests(
    c: Context<Env>,
    cursor: string | undefined,
    count: number,
    query: RequestQuery,
  ) {
    const visible: StoredRequest[] = []
    let after = cursor === undefined ? undefined : position(cursor)
    if (after !== undefined) await checkCursor(runtime, after.runId, (run) => isVisible(principalOf(c), run))
    for (;;) {
      const rows = await runtime.requests({ ...query, after, limit: count })
      for (const row of rows) {
        const run = await runtime.store.run(row.runId)
        if (run !== undefined && isVisible(principalOf(c), run)) visible.push(row)
      }
      const last = rows.at(-1)
      if (last === undefined || visible.length >= count || rows.length < count) return visible.slice(0, count)
      after = { runId: last.runId, id: last.id }
    }
  }

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/requests",
      ...needs("viewer"),
      summary: "List questions to people, oldest first",
      request: {
        query: z.strictObject({
          run: z.string().optional(),
          workflow: z.string().optional(),
          to: z.string().optional(),
          outcome: z.enum(OUTCOMES).default("open"),
          cursor: z
            .string()
            .regex(/^[^/]+\/.+$/, "must be a cursor of this list")
            .optional(),
          limit: z.coerce.number().int().min(1).max(1_000).default(50),
        }),
      },
      responses: {
        200: body(
          z.object({ requests: z.array(requestSchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        422: failure("A filter is not valid."),
      },
    }),
    async (c) => {
      const { run, outcome, cursor, limit, ...query } = c.req.valid("query")
      const rows = await visibleRequests(c, cursor, limit + 1, { ...query, runId: run, outcome: [outcome] })
      const page = rows.slice(0, limit)
      const last = rows.length > limit ? page.at(-1) : undefined
      const next = last === undefined ? undefined : `${encodeURIComponent(last.runId)}/${last.id}`
      return c.json({ requests: page.map(requestData), next }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/requests/{request}/answer",
      ...needs("operator"),
      summary: "Answer a question",
      request: {
        params: z.object({ run: z.string(), request: z.string() }),
        body: {
          required: true,
          content: {
            "application/json": {
              schema: z.object({ value: z.unknown(), by: z.string().max(1_000).optional() }).strict(),
            },
          },
        },
      },
      responses: {
        200: {
          description:
            "Accepted: `taken` by the process that executes the run, or `stored` for the next one.",
          content: { "application/json": { schema: z.object({ delivery: z.enum(["taken", "stored"]) }) } },
        },
        404: failure("No such run or question."),
        409: failure("It is no longer open."),
        422: failure("The answer does not match the question's schema."),
      },
    }),
    async (c) => {
      const { run, request } = c.req.valid("param")
      const { value, by = principalOf(c).id } = c.req.valid("json")
      const { runId } = await visibleRun(c, services, run)
      const delivery = await runtime.respond(runId, request as StoredRequest["id"], value, { by })
      return c.json({ delivery }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/requests/{request}/escalate",
      ...needs("operator"),
      summary: "Pass a question on to somebody else",
      description: "Its deadline, and who is asked after that, stay as they are.",
      request: {
        params: z.object({ run: z.string(), request: z.string() }),
        body: {
          required: true,
          content: {
            "application/json": {
              schema: z
                .object({
                  to: z.string().min(1).max(1_000),
                  note: z.string().max(10_000).optional().openapi({ description: "For that person." }),
                })
                .strict(),
            },
          },
        },
      },
      responses: {
        200: {
          description: "Journaled, or `stored` for the next process that executes the run.",
          content: { "application/json": { schema: z.object({ delivery: z.enum(["taken", "stored"]) }) } },
        },
        404: failure("No such run or question."),
        409: failure("It is no longer open."),
      },
    }),
    async (c) => {
      const { run, request } = c.req.valid("param")
      const { to, note } = c.req.valid("json")
      const { runId } = await visibleRun(c, services, run)
      const by = principalOf(c).id
      const delivery = await runtime.escalate(runId, request as StoredRequest["id"], { to, note, by })
      return c.json({ delivery }, 200)
    },
  )
}

function position(cursor: string) {
  const [run = "", ...rest] = cursor.split("/")
  // As a query: a cursor that somebody changed may not be UTF-8, which `decodeURIComponent` would throw for.
  const runId = new URLSearchParams(`run=${run.replaceAll("+", "%2B")}`).get("run") ?? ""
  return { runId, id: rest.join("/") as StoredRequest["id"] }
}

function requestData(request: StoredRequest): z.infer<typeof requestSchema> {
  const { id, runId: run, workflow, outcome, openedAt, closedAt, by, ...rest } = request
  return { id, run, workflow, outcome, openedAt, closedAt, by, request: rest }
}
