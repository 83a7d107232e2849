/** Routes of questions to people. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import type { StoredRequest } from "@superstep/engine"
import type { Services } from "./runs.ts"
import { problemSchema, requestSchema } from "./schemas.ts"

const OUTCOMES = ["open", "delivering", "answered", "expired", "withdrawn"] as const
const failure = (description: string) => ({
  description,
  content: { "application/problem+json": { schema: problemSchema } },
})

export function addInboxRoutes(app: OpenAPIHono, { runtime }: Services): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/requests",
      summary: "List questions to people, oldest first",
      request: {
        query: z.object({
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
        200: {
          description: "A page; `next` is the cursor of the next one.",
          content: {
            "application/json": {
              schema: z.object({ requests: z.array(requestSchema), next: z.string().optional() }),
            },
          },
        },
        422: failure("A filter is not valid."),
      },
    }),
    async (c) => {
      const { run, outcome, cursor, limit, ...query } = c.req.valid("query")
      const rows = await runtime.requests({
        ...query,
        runId: run,
        outcome: [outcome],
        after: cursor === undefined ? undefined : position(cursor),
        limit: limit + 1,
      })
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
      const { value, by } = c.req.valid("json")
      const delivery = await runtime.respond(run, request as StoredRequest["id"], value, { by })
      return c.json({ delivery }, 200)
    },
  )
}

function position(cursor: string) {
  const [run = "", ...rest] = cursor.split("/")
  return { runId: decodeURIComponent(run), id: rest.join("/") as StoredRequest["id"] }
}

function requestData(request: StoredRequest): z.infer<typeof requestSchema> {
  const { id, runId: run, workflow, outcome, openedAt, closedAt, by, ...rest } = request
  return { id, run, workflow, outcome, openedAt, closedAt, by, request: rest }
}
