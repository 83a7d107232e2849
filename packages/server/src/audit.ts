/** The route of the audit log. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { type Env, needs, principalOf } from "./access.ts"
import { type AuditEntry, auditEntrySchema } from "./audit-log.ts"
import { problem } from "./problem.ts"
import { body, failure, pageSchema } from "./schemas.ts"
import type { Services } from "./services.ts"

export function addAuditRoutes(app: OpenAPIHono<Env>, { audit }: Services): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/audit",
      ...needs("admin"),
      summary: "List what was changed, by whom and when, the newest first",
      request: { query: pageSchema },
      responses: {
        200: body(
          z.object({ entries: z.array(auditEntrySchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        403: failure("The key is for some workflows only."),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const { cursor, limit } = c.req.valid("query")
      if (principalOf(c).workflows !== undefined) {
        const text = "The audit log is about all workflows; this key is not."
        return problem(403, "NOT_ALLOWED", text) as never
      }
      const records = await audit.page(principalOf(c), cursor, limit + 1)
      const page = records.slice(0, limit)
      const next = records.length > limit ? page.at(-1)?.id : undefined
      return c.json({ entries: page.map(({ value }) => value as AuditEntry), next }, 200)
    },
  )
}
