/** Routes of hooks, and the addresses at which they are called. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import {
  type Env,
  isManaged,
  maySee,
  needs,
  type Principal,
  PUBLIC,
  principalOf,
  tenantLabels,
} from "../access.ts"
import { problem } from "../problem.ts"
import { visibleWorkflow } from "../runs.ts"
import { body, failure, pageSchema } from "../schemas.ts"
import type { Services } from "../services.ts"
import { newSecret } from "../webhooks/signature.ts"
import { checkExpression, type Hook, Hooks } from "./hooks.ts"
import { verifySchema } from "./verify.ts"

const time = z.number().int().openapi({ description: "Milliseconds since 1970-01-01 UTC." })
const text = (description: string, example?: string) =>
  z
    .string()
    .min(1)
    .max(4_096)
    .openapi({ description, ...(example !== undefined && { example }) })

const mapping = {
  name: z.string().min(1).max(200),
  input: text("An expression for the input of the run, or the value of the signal.", "$body"),
  idempotencyKey: text(
    "An expression: requests with the same key start one run. Default: the id of the delivery.",
  ).optional(),
  ignore: text("An expression: a request for which it is true is accepted, and starts nothing.").optional(),
  signal: z
    .object({
      name: z.string().min(1).max(1_000),
      run: text("An expression for the id of the run.").optional(),
      key: text("An expression for the idempotency key of the run.").optional(),
    })
    .strict()
    .refine(({ run, key }) => (run === undefined) !== (key === undefined), "needs either run or key")
    .optional()
    .openapi({ description: "Sends a signal to a run of the workflow, instead of starting one." }),
  labels: z.record(z.string(), z.string()).optional(),
  enabled: z.boolean().optional(),
}

const createSchema = z
  .object({ ...mapping, workflow: z.string(), verify: verifySchema })
  .strict()
  .openapi("HookOptions")
const changeSchema = z
  .object({ ...mapping, verify: verifySchema })
  .partial()
  .strict()
  .openapi("HookChange")

const hookSchema = z
  .object({
    id: z.string(),
    url: z.string().openapi({ description: "Where it is called." }),
    ...mapping,
    enabled: z.boolean(),
    workflow: z.string(),
    verify: z.object({ type: z.string(), name: z.string().optional() }),
    tenant: z.string().optional(),
    createdAt: time,
    createdBy: z.string(),
    failure: z
      .object({ at: time, message: z.string() })
      .optional()
      .openapi({ description: "Why the last request that was genuine could not be used." }),
  })
  .openapi("Hook")
const newHookSchema = hookSchema
  .extend({ secret: z.string().openapi({ description: "It is not shown again." }) })
  .openapi("NewHook")

const hookParam = z.object({ hook: z.string().openapi({ description: "The id of the hook." }) })
const json = <T extends z.ZodType>(schema: T) => ({
  required: true,
  content: { "application/json": { schema } },
})

export function addHookRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const hooks = new Hooks(services)
  const { documents } = hooks

  async function visible(principal: Principal, id: string): Promise<Hook> {
    const hook = await documents.find(id)
    if (hook !== undefined && isHooked(principal, hook)) return hook
    throw hookUnknown(id)
  }
  const shown = (request: Request, { verify: { secret: _, ...verify }, ...hook }: Hook) => ({
    ...hook,
    verify,
    url: services.address(request, `/hooks/${hook.id}`),
  })

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/hooks",
      ...needs("author"),
      summary: "Create a hook: an address at which a service starts runs",
      request: { body: json(createSchema) },
      responses: {
        201: body(newHookSchema, "The hook, with its secret, shown this once."),
        404: failure("No such workflow."),
        422: failure("The options are not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { verify, enabled = true, ...rest } = c.req.valid("json")
      await visibleWorkflow(principal, services, rest.workflow)
      checkMapping(principal, rest)
      const secret = verify.secret ?? newSecret()
      const created = await documents.create({
        ...rest,
        enabled,
        verify: { ...verify, secret },
        ...(principal.tenant !== undefined && { tenant: principal.tenant }),
        createdAt: Date.now(),
        createdBy: principal.id,
      })
      return c.json({ ...shown(c.req.raw, created), secret }, 201)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/hooks",
      ...needs("author"),
      summary: "List hooks",
      request: { query: pageSchema },
      responses: {
        200: body(
          z.object({ hooks: z.array(hookSchema), next: z.string().optional() }),
          "A page, by id; `next` is the cursor of the next one.",
        ),
        422: failure("A parameter is not valid."),
      },
    }),
    async (c) => {
      const { cursor, limit } = c.req.valid("query")
      const { found, next } = await documents.page((one) => isHooked(principalOf(c), one), cursor, limit)
      return c.json({ hooks: found.map((hook) => shown(c.req.raw, hook)), next }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/hooks/{hook}",
      ...needs("author"),
      summary: "Show a hook",
      request: { params: hookParam },
      responses: { 200: body(hookSchema, "Without its secret."), 404: failure("No such hook.") },
    }),
    async (c) => c.json(shown(c.req.raw, await visible(principalOf(c), c.req.valid("param").hook)), 200),
  )

  app.openapi(
    createRoute({
      method: "patch",
      path: "/v1/hooks/{hook}",
      ...needs("author"),
      summary: "Change a hook",
      request: { params: hookParam, body: json(changeSchema) },
      responses: {
        200: body(hookSchema, "As it is now."),
        404: failure("No such hook."),
        422: failure("The body is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const { id } = await visible(principal, c.req.valid("param").hook)
      const { verify, ...change } = c.req.valid("json")
      checkMapping(principal, change)
      const changed = await documents.change(id, ({ failure: _, ...hook }) => ({
        ...hook,
        ...Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined)),
        ...(verify !== undefined && { verify: { ...hook.verify, ...verify } as Hook["verify"] }),
      }))
      if (changed === undefined) throw hookUnknown(id)
      return c.json(shown(c.req.raw, changed), 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/hooks/{hook}",
      ...needs("author"),
      summary: "Delete a hook",
      request: { params: hookParam },
      responses: { 204: { description: "Its address no longer works." }, 404: failure("No such hook.") },
    }),
    async (c) => {
      await documents.remove((await visible(principalOf(c), c.req.valid("param").hook)).id)
      return c.body(null, 204)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/hooks/{hook}",
      ...PUBLIC,
      summary: "Call a hook",
      description: "For the service that the hook was created for. Its requests are signed.",
      request: { params: hookParam },
      responses: {
        200: body(z.object({ challenge: z.string() }), "The reply to Slack's verification of the address."),
        202: body(z.object({ accepted: z.boolean() }), "The request is stored."),
        401: failure("There is no such hook, or the request is not signed by its secret."),
        422: failure("The request is genuine, and cannot be used. The hook says why."),
      },
    }),
    async (c) => {
      const { answer, hook } = await hooks.receive(c.req.valid("param").hook, c.req.raw)
      // For the audit log.
      if (hook !== undefined) c.set("principal", hooks.principalOf(hook))
      switch (answer.status) {
        case 200:
          return c.json({ challenge: answer.challenge }, 200)
        case 202:
          return c.json({ accepted: true }, 202)
        case 401:
          return problem(
            401,
            "NOT_AUTHENTICATED",
            "The request is not signed as this address needs it.",
          ) as never
        case 422:
          return problem(422, "HOOK_UNUSABLE", "The request cannot be used. Its hook says why.") as never
      }
    },
  )
}

type Mapping = z.infer<typeof changeSchema>

function checkMapping(principal: Principal, mapped: Mapping): void {
  const { input, idempotencyKey, ignore, signal, labels } = mapped
  const texts = { input, idempotencyKey, ignore, "signal.run": signal?.run, "signal.key": signal?.key }
  for (const [field, one] of Object.entries(texts)) if (one !== undefined) checkExpression(field, one)
  // Throws for a label of the server's own.
  tenantLabels(principal, labels)
}

function isHooked(principal: Principal, { tenant, workflow }: Pick<Hook, "tenant" | "workflow">): boolean {
  return isManaged({ ...principal, workflows: undefined }, { tenant }) && maySee(principal, workflow)
}

function hookUnknown(id: string): SuperstepError {
  return new SuperstepError("HOOK_UNKNOWN", `There is no hook "${id}".`)
}
