/**
 * Routes of the store as a whole: what it holds, and what is deleted from it. The store belongs to the server: a principal with a
 * tenant, or for some workflows only, is refused.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { prunable, type Runtime, SuperstepError, storedRetention, storeRetention } from "@superstep/engine"
import { type Env, needs, type Principal, principalOf } from "./access.ts"
import { body, failure } from "./schemas.ts"
import type { Services } from "./services.ts"

const count = z.number().int()
const amountSchema = z.object({ count, bytes: count })

const storageSchema = z
  .object({
    runs: z.record(z.string(), count).openapi({ description: "By status." }),
    journal: amountSchema,
    snapshots: amountSchema,
    blobs: amountSchema.openapi({ description: "Values above 64 KB, each kept once." }),
    threads: amountSchema,
    workflows: z
      .array(z.object({ workflow: z.string(), runs: count, bytes: count }))
      .openapi({ description: "The largest first." }),
    disk: z
      .object({ bytes: count, free: count.openapi({ description: "What the store can use again." }) })
      .optional(),
    retention: z
      .object({
        keep: count.optional(),
        maxAge: count.optional(),
        eventMaxAge: count.optional(),
        setAt: count.optional(),
        setBy: z.string().optional(),
      })
      .openapi({
        description:
          "The policy in force, in milliseconds. Empty: nothing is deleted. With `setBy`, it is stored, and for all servers and workers of the store; else it is this server's own.",
      }),
    consumers: z
      .array(z.object({ consumer: z.string(), lag: count }))
      .openapi({ description: "Who reads the events of runs, and how many are left to read." }),
  })
  .openapi("Storage")

const pruneSchema = z
  .object({
    olderThan: z
      .number()
      .int()
      .min(0)
      .optional()
      .openapi({ description: "Milliseconds: runs that ended longer ago." }),
    keep: z
      .number()
      .int()
      .min(0)
      .optional()
      .openapi({ description: "All but the newest runs of each workflow." }),
    workflow: z.string().optional(),
    dryRun: z.boolean().default(true),
  })
  .strict()
  .openapi("Prune")

const retentionSchema = z
  .object({
    keep: z
      .number()
      .int()
      .min(0)
      .optional()
      .openapi({ description: "The newest runs of each workflow stay." }),
    maxAge: z.number().int().min(0).optional().openapi({ description: "Milliseconds since a run ended." }),
  })
  .strict()
  .openapi("RetentionPolicy")

async function policyInForce({ store, retention }: Runtime) {
  const stored = await storedRetention(store)
  return stored === undefined ? retention : { eventMaxAge: retention.eventMaxAge, ...stored }
}

export function addStorageRoutes(app: OpenAPIHono<Env>, { runtime }: Services): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/storage",
      ...needs("admin"),
      summary: "What the store holds: counts and sizes, and the policy of retention",
      responses: { 200: body(storageSchema, "As it is now."), 403: failure("Your key is for a part of it.") },
    }),
    async (c) => {
      checkWhole(principalOf(c))
      const consumers = await runtime.consumers()
      const report = await runtime.storage()
      const storage = {
        ...report,
        retention: await policyInForce(runtime),
        consumers: consumers.map(({ consumer, lag }) => ({ consumer, lag })),
      }
      return c.json(storage as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/storage/prune",
      ...needs("admin"),
      summary: "Delete finished runs that are old, or all but the newest",
      description:
        "A dry run, unless `dryRun` is false. Without `olderThan` and `keep`, by the policy in force. Runs that are not finished, pinned runs and runs that forks need are never deleted.",
      request: { body: { required: true, content: { "application/json": { schema: pruneSchema } } } },
      responses: {
        200: body(amountSchema.extend({ dryRun: z.boolean() }), "What was deleted, or would be."),
        403: failure("Your key is for a part of the store."),
        422: failure("The policy is not valid."),
      },
    }),
    async (c) => {
      checkWhole(principalOf(c))
      const { workflow, dryRun, ...given } = c.req.valid("json")
      const own = async () => {
        const { maxAge, keep } = await policyInForce(runtime)
        return { olderThan: maxAge, keep }
      }
      const { olderThan, keep } = Object.keys(given).length === 0 ? await own() : given
      const endedBefore = olderThan === undefined ? undefined : Date.now() - olderThan
      const policy = { workflow, keep, endedBefore }
      const amount = dryRun ? await prunable(runtime.store, policy) : await runtime.store.prune(policy)
      return c.json({ ...amount, dryRun }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/storage/retention",
      ...needs("admin"),
      summary: "Store a policy of retention",
      description:
        "For all servers and workers of the store, in place of their own: each reads it before it deletes, once an hour. An empty one keeps all runs. `POST /v1/storage/prune` says beforehand what a policy would delete.",
      request: { body: { required: true, content: { "application/json": { schema: retentionSchema } } } },
      responses: {
        200: body(retentionSchema, "As it is stored."),
        403: failure("Your key is for a part of the store."),
        422: failure("The policy is not valid."),
      },
    }),
    async (c) => {
      checkWhole(principalOf(c))
      const policy = c.req.valid("json")
      c.set("note", JSON.stringify(policy))
      await storeRetention(runtime.store, policy, { by: principalOf(c).id, at: Date.now() })
      return c.json(policy, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/storage/retention",
      ...needs("admin"),
      summary: "Remove the stored policy of retention: each server and worker has its own again",
      responses: {
        204: { description: "There is none." },
        403: failure("Your key is for a part of the store."),
      },
    }),
    async (c) => {
      checkWhole(principalOf(c))
      await storeRetention(runtime.store, undefined, { by: principalOf(c).id, at: Date.now() })
      return c.body(null, 204)
    },
  )
}

function checkWhole({ tenant, workflows }: Principal): void {
  if (tenant === undefined && workflows === undefined) return
  throw new SuperstepError("NOT_ALLOWED", "The store belongs to all tenants. Use a key without a tenant.")
}
