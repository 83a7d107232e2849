/** Routes of webhooks. A principal with a tenant manages the webhooks of its tenant, for workflows that it may see itself. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import { type Env, isManaged, needs, type Principal, principalOf } from "../access.ts"
import { body, failure, pageSchema } from "../schemas.ts"
import type { Services } from "../services.ts"
import { EVENTS, type Webhook } from "./webhooks.ts"

const MAX_OVERLAP = 604_800
const DEFAULT_OVERLAP = 86_400

const time = z.number().int().openapi({ description: "Milliseconds since 1970-01-01 UTC." })

const options = {
  url: z.url().max(2_000),
  events: z.array(z.enum(EVENTS)).min(1),
  workflows: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(1_000)
    .optional()
    .openapi({ description: "Only runs of these workflows. Default: all that you may see." }),
  labels: z
    .record(z.string(), z.string())
    .optional()
    .openapi({ description: "Only runs that have all of these labels." }),
  description: z.string().max(1_000).optional(),
  enabled: z.boolean().optional(),
}

const createSchema = z.object(options).strict().openapi("WebhookOptions")
const changeSchema = z.object(options).partial().strict().openapi("WebhookChange")

const webhookSchema = z
  .object({
    id: z.string(),
    ...options,
    enabled: z.boolean(),
    tenant: z.string().optional(),
    createdAt: time,
    createdBy: z.string(),
    disabled: z
      .object({ at: time, reason: z.string() })
      .optional()
      .openapi({ description: "Why the server disabled it." }),
    failingSince: time.optional().openapi({ description: "No request succeeded since then." }),
  })
  .openapi("Webhook")
const newWebhookSchema = webhookSchema
  .extend({ secret: z.string().openapi({ description: "Verifies signatures. It is not shown again." }) })
  .openapi("NewWebhook")

const deliverySchema = z
  .object({
    id: z.string(),
    message: z.string().openapi({ description: "The `webhook-id`; that of a redelivery is the same." }),
    type: z.string(),
    status: z.enum(["pending", "delivered", "failed"]),
    createdAt: time,
    updatedAt: time,
    error: z.string().optional(),
    nextAttemptAt: time.optional(),
  })
  .openapi("Delivery")
const detailsSchema = deliverySchema
  .extend({
    body: z.string(),
    attempts: z
      .array(z.object({ at: time, error: z.string().optional() }))
      .openapi({ description: "One without an error succeeded." }),
  })
  .openapi("DeliveryDetails")

const webhookParam = z.object({ webhook: z.string().openapi({ description: "The id of the webhook." }) })
const deliveryParam = webhookParam.extend({
  delivery: z.string().openapi({ description: "The id of the delivery." }),
})
const json = <T extends z.ZodType>(schema: T, required = true) => ({
  required,
  content: { "application/json": { schema } },
})
const unknown = { 404: failure("No such webhook.") }

export function addWebhookRoutes(app: OpenAPIHono<Env>, { webhooks }: Services): void {
  const { documents } = webhooks

  async function visible(principal: Principal, id: string): Promise<Webhook> {
    const webhook = await documents.find(id)
    if (webhook !== undefined && isManaged(principal, webhook)) return webhook
    throw webhookUnknown(id)
  }

  /** Throws NOT_ALLOWED for events that the principal itself could not read. */
  function allowed(principal: Principal, workflows: readonly string[] | undefined) {
    const { tenant } = principal
    const chosen = workflows ?? principal.workflows
    const scope = { tenant, workflows: chosen && [...chosen] }
    if (isManaged(principal, scope)) return scope
    throw new SuperstepError("NOT_ALLOWED", "A webhook gets events of workflows that you may see.")
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/webhooks",
      ...needs("author"),
      summary: "Create a webhook",
      description: "It gets the events that happen from now on, signed as Standard Webhooks.",
      request: { body: json(createSchema) },
      responses: {
        201: body(newWebhookSchema, "The webhook, with its secret, shown this once."),
        403: failure("It would get events of workflows that you may not see."),
        422: failure("The options are not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { workflows, enabled = true, ...rest } = c.req.valid("json")
      const scope = allowed(principal, workflows)
      const created = await webhooks.create({ ...rest, ...scope, enabled, createdBy: principal.id })
      return c.json({ ...webhookData(created), secret: created.secret }, 201)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/webhooks",
      ...needs("author"),
      summary: "List webhooks",
      request: { query: pageSchema },
      responses: {
        200: body(
          z.object({ webhooks: z.array(webhookSchema), next: z.string().optional() }),
          "A page, by id; `next` is the cursor of the next one.",
        ),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const { cursor, limit } = c.req.valid("query")
      const { found, next } = await documents.page((one) => isManaged(principalOf(c), one), cursor, limit)
      return c.json({ webhooks: found.map(webhookData), next }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/webhooks/{webhook}",
      ...needs("author"),
      summary: "Show a webhook",
      request: { params: webhookParam },
      responses: { 200: body(webhookSchema, "Without its secret."), ...unknown },
    }),
    async (c) => c.json(webhookData(await visible(principalOf(c), c.req.valid("param").webhook)), 200),
  )

  app.openapi(
    createRoute({
      method: "patch",
      path: "/v1/webhooks/{webhook}",
      ...needs("author"),
      summary: "Change a webhook",
      description: "`enabled: true` enables one that was disabled because it kept failing.",
      request: { params: webhookParam, body: json(changeSchema) },
      responses: {
        200: body(webhookSchema, "As it is now."),
        ...unknown,
        422: failure("The body is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { id } = await visible(principal, c.req.valid("param").webhook)
      const change = c.req.valid("json")
      if (change.url !== undefined) webhooks.checkUrl(change.url)
      if (change.workflows !== undefined) allowed(principal, change.workflows)
      const changed = await webhooks.change(id, (before) => {
        const { disabled, failingSince, ...rest } = before
        const kept = change.enabled === true ? rest : before
        return { ...kept, ...defined(change) }
      })
      if (changed === undefined) throw webhookUnknown(id)
      return c.json(webhookData(changed), 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/webhooks/{webhook}",
      ...needs("author"),
      summary: "Delete a webhook",
      request: { params: webhookParam },
      responses: { 204: { description: "Deleted. What is not delivered yet will not be." }, ...unknown },
    }),
    async (c) => {
      const { id } = await visible(principalOf(c), c.req.valid("param").webhook)
      await webhooks.remove(id)
      return c.body(null, 204)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/webhooks/{webhook}/rotate",
      ...needs("author"),
      summary: "Replace the secret of a webhook",
      request: {
        params: webhookParam,
        body: json(
          z
            .object({
              overlap: z.number().int().min(0).max(MAX_OVERLAP).optional().openapi({
                description: "Seconds for which requests have both signatures. Default: a day.",
              }),
            })
            .strict(),
          false,
        ),
      },
      responses: { 200: body(newWebhookSchema, "With the new secret, shown this once."), ...unknown },
    }),
    async (c) => {
      const { id } = await visible(principalOf(c), c.req.valid("param").webhook)
      const { overlap = DEFAULT_OVERLAP } = c.req.valid("json") ?? {}
      const rotated = await webhooks.rotate(id, overlap * 1_000)
      if (rotated === undefined) throw webhookUnknown(id)
      return c.json({ ...webhookData(rotated), secret: rotated.secret }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/webhooks/{webhook}/ping",
      ...needs("author"),
      summary: "Send a test event of the type ping",
      request: { params: webhookParam },
      responses: { 202: body(deliverySchema, "The delivery."), ...unknown },
    }),
    async (c) => {
      const webhook = await visible(principalOf(c), c.req.valid("param").webhook)
      return c.json(await webhooks.ping(webhook), 202)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/webhooks/{webhook}/deliveries",
      ...needs("author"),
      summary: "List the deliveries of a webhook, newest first",
      request: { params: webhookParam, query: pageSchema },
      responses: {
        200: body(
          z.object({ deliveries: z.array(deliverySchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        ...unknown,
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const webhook = await visible(principalOf(c), c.req.valid("param").webhook)
      const { cursor, limit } = c.req.valid("query")
      return c.json((await webhooks.deliveries(webhook, cursor, limit)) as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/webhooks/{webhook}/deliveries/{delivery}",
      ...needs("author"),
      summary: "Show a delivery: what was sent, and each attempt",
      request: { params: deliveryParam },
      responses: { 200: body(detailsSchema, "The delivery."), 404: failure("No such delivery.") },
    }),
    async (c) => {
      const { webhook: id, delivery } = c.req.valid("param")
      const details = await webhooks.delivery(await visible(principalOf(c), id), delivery)
      if (details === undefined) throw deliveryUnknown(delivery)
      return c.json(details as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/webhooks/{webhook}/deliveries/{delivery}/redeliver",
      ...needs("author"),
      summary: "Send the same message again",
      request: { params: deliveryParam },
      responses: {
        202: body(deliverySchema, "The new delivery, with the `webhook-id` of the first."),
        404: failure("No such delivery."),
      },
    }),
    async (c) => {
      const { webhook: id, delivery } = c.req.valid("param")
      const webhook = await visible(principalOf(c), id)
      if ((await webhooks.delivery(webhook, delivery)) === undefined) throw deliveryUnknown(delivery)
      return c.json(await webhooks.redeliver(webhook, delivery), 202)
    },
  )
}

function webhookData({ secret: _, previous: __, ...webhook }: Webhook) {
  return webhook
}

/** Absent fields change nothing. */
function defined<T extends object>(change: T): { [Name in keyof T]: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)) as never
}

function webhookUnknown(id: string): SuperstepError {
  return new SuperstepError("WEBHOOK_UNKNOWN", `There is no webhook "${id}".`)
}

function deliveryUnknown(id: string): SuperstepError {
  return new SuperstepError("DELIVERY_UNKNOWN", `The webhook has no delivery "${id}".`)
}
