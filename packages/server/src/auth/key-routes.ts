/** Routes of API keys. A principal with a tenant manages the keys of its tenant, for workflows that it may see itself. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import { type Env, isManaged, needs, type Principal, principalOf, ROLES } from "../access.ts"
import { body, failure, pageSchema } from "../schemas.ts"
import type { Services } from "../services.ts"
import {
  type ApiKey,
  budgetSchema,
  changeKey,
  createKey,
  findKey,
  keyChangeSchema,
  keyOptionsSchema,
  listKeys,
  quotaSchema,
  rateLimitSchema,
  revokeKey,
  rotateKey,
} from "./api-keys.ts"
import { usedBy } from "./key-usage.ts"

const MAX_OVERLAP = 604_800

const time = z.number().int()
const keySchema = z
  .object({
    id: z.string(),
    prefix: z.string().openapi({ description: "What the key begins with." }),
    name: z.string(),
    role: z.enum(ROLES),
    tenant: z.string().optional(),
    workflows: z.array(z.string()).optional(),
    expiresAt: time.optional(),
    budget: budgetSchema.optional(),
    rateLimit: rateLimitSchema.optional(),
    quota: quotaSchema.optional(),
    createdAt: time,
    createdBy: z.string(),
    revokedAt: time.optional(),
    pausedAt: time.optional().openapi({ description: "It starts no runs since then." }),
    used: z
      .object({ usd: z.number(), tokens: z.number() })
      .optional()
      .openapi({ description: "Of its budget: by runs that have ended, today or in all." }),
  })
  .openapi("Key")
const newKeySchema = keySchema
  .extend({ secret: z.string().openapi({ description: "The key. It is not shown again." }) })
  .openapi("NewKey")

const keyParam = z.object({ key: z.string().openapi({ description: "The id of the key." }) })

export function addKeyRoutes(app: OpenAPIHono<Env>, { runtime }: Services): void {
  const { store } = runtime

  async function withUsed(key: ApiKey) {
    const used = await usedBy(runtime, key)
    return { ...key, ...(used !== undefined && { used }) }
  }

  async function visibleKey(principal: Principal, id: string): Promise<ApiKey> {
    const key = await findKey(store, id)
    if (key !== undefined && isManaged(principal, key)) return key
    throw keyUnknown(id)
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/keys",
      ...needs("admin"),
      summary: "Create an API key",
      request: {
        body: { required: true, content: { "application/json": { schema: keyOptionsSchema } } },
      },
      responses: {
        201: body(newKeySchema, "The key, shown this once."),
        403: failure("The key would be allowed more than yours."),
        422: failure("The options are not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { tenant = principal.tenant, workflows = principal.workflows, ...rest } = c.req.valid("json")
      const options = { ...rest, tenant, workflows: workflows && [...workflows] }
      if (!isManaged(principal, options)) {
        throw new SuperstepError(
          "NOT_ALLOWED",
          "A key must not be allowed more than the key that creates it.",
        )
      }
      return c.json(await createKey(store, options, principal.id), 201)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/keys",
      ...needs("admin"),
      summary: "List API keys",
      request: { query: pageSchema },
      responses: {
        200: body(
          z.object({ keys: z.array(keySchema), next: z.string().optional() }),
          "A page, by id; `next` is the cursor of the next one.",
        ),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const { cursor, limit } = c.req.valid("query")
      const principal = principalOf(c)
      const found = await listKeys(store, { after: cursor, limit: limit + 1 }, (key) =>
        isManaged(principal, key),
      )
      const keys = await Promise.all(found.slice(0, limit).map(withUsed))
      return c.json({ keys, next: found.length > limit ? keys.at(-1)?.id : undefined }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/keys/{key}",
      ...needs("admin"),
      summary: "Show an API key",
      request: { params: keyParam },
      responses: { 200: body(keySchema, "Without its secret."), 404: failure("No such key.") },
    }),
    async (c) => c.json(await withUsed(await visibleKey(principalOf(c), c.req.valid("param").key)), 200),
  )

  app.openapi(
    createRoute({
      method: "patch",
      path: "/v1/keys/{key}",
      ...needs("admin"),
      summary: "Change the budget of an API key, pause it, or resume it",
      request: {
        params: keyParam,
        body: { required: true, content: { "application/json": { schema: keyChangeSchema } } },
      },
      responses: {
        200: body(keySchema, "As it is now. The next request counts with it."),
        404: failure("No such key."),
        409: failure("It is revoked."),
        422: failure("The budget is not valid."),
      },
    }),
    async (c) => {
      const { id } = await visibleKey(principalOf(c), c.req.valid("param").key)
      const changed = await changeKey(store, id, c.req.valid("json"))
      if (changed !== undefined) return c.json(await withUsed(changed), 200)
      throw keyRevoked(id)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/keys/{key}",
      ...needs("admin"),
      summary: "Revoke an API key",
      request: { params: keyParam },
      responses: { 200: body(keySchema, "It no longer works."), 404: failure("No such key.") },
    }),
    async (c) => {
      const { id } = await visibleKey(principalOf(c), c.req.valid("param").key)
      const revoked = await revokeKey(store, id)
      if (revoked === undefined) throw keyUnknown(id)
      return c.json(revoked, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/keys/{key}/rotate",
      ...needs("admin"),
      summary: "Replace the secret of an API key",
      request: {
        params: keyParam,
        body: {
          required: false,
          content: {
            "application/json": {
              schema: z
                .object({
                  overlap: z.number().int().min(0).max(MAX_OVERLAP).optional().openapi({
                    description: "Seconds for which the old secret works as well. Default: 0.",
                  }),
                })
                .strict(),
            },
          },
        },
      },
      responses: {
        200: body(newKeySchema, "The new key, shown this once."),
        404: failure("No such key."),
        409: failure("It is revoked."),
      },
    }),
    async (c) => {
      const { id } = await visibleKey(principalOf(c), c.req.valid("param").key)
      const rotated = await rotateKey(store, id, (c.req.valid("json")?.overlap ?? 0) * 1_000)
      if (rotated !== undefined) return c.json(rotated, 200)
      throw keyRevoked(id)
    },
  )
}

function keyRevoked(id: string): SuperstepError {
  return new SuperstepError("KEY_REVOKED", `Key "${id}" is revoked: create another one.`)
}

function keyUnknown(id: string): SuperstepError {
  return new SuperstepError("KEY_UNKNOWN", `There is no key "${id}".`)
}
