/** Routes of links that answer a question, and the pages that they lead to. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { isSuperstepError, type Json, SuperstepError } from "@superstep/engine"
import { answerProblem } from "@superstep/engine/tools"
import { type Env, needs, PUBLIC, principalOf, visibleRun } from "../access.ts"
import { body, failure } from "../schemas.ts"
import type { Services } from "../services.ts"
import { answerForm, readAnswer } from "./answer-form.ts"
import { messagePage, questionPage } from "./link-page.ts"
import { type Found, type Link, Links, linkUnknown } from "./links.ts"

const DAY = 86_400
const MAX_EXPIRES = 90 * DAY
const DEFAULT_EXPIRES = 7 * DAY

const time = z.number().int().openapi({ description: "Milliseconds since 1970-01-01 UTC." })

const linkSchema = z
  .object({
    id: z.string(),
    run: z.string(),
    request: z.string(),
    expiresAt: time,
    by: z.string().optional(),
    values: z.array(z.unknown()).optional(),
    createdAt: time,
    createdBy: z.string(),
    usedAt: time.optional(),
    revokedAt: time.optional(),
  })
  .openapi("Link")

const optionsSchema = z
  .object({
    expires: z
      .number()
      .int()
      .min(1)
      .max(MAX_EXPIRES)
      .optional()
      .openapi({ description: "Seconds for which it works. Default: 7 days." }),
    by: z
      .string()
      .min(1)
      .max(1_000)
      .optional()
      .openapi({ description: "Who answers with it, for the journal." }),
    values: z
      .array(z.unknown())
      .min(1)
      .max(20)
      .optional()
      .openapi({ description: "The answers that it offers. Default: all that the question allows." }),
  })
  .strict()
  .openapi("LinkOptions")

const requestParam = z.object({ run: z.string(), request: z.string() })
const linkParam = requestParam.extend({ link: z.string().openapi({ description: "The id of the link." }) })
const tokenParam = z.object({ token: z.string() })

export function addLinkRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { runtime } = services
  const links = new Links(runtime)

  async function visible(c: Parameters<typeof visibleRun>[0], params: z.infer<typeof requestParam>) {
    const { runId } = await visibleRun(c, services, params.run)
    const request = await links.requestOf(runId, params.request)
    if (request !== undefined) return request
    const text = `Run "${runId}" has no question "${params.request}".`
    throw new SuperstepError("REQUEST_UNKNOWN", text, { run: runId })
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/runs/{run}/requests/{request}/links",
      ...needs("operator"),
      summary: "Create a link that answers a question without a login",
      description: "Everybody who has the link can answer, once. It shows the question and its data.",
      request: {
        params: requestParam,
        body: { required: false, content: { "application/json": { schema: optionsSchema } } },
      },
      responses: {
        201: body(
          linkSchema.extend({ url: z.string() }).openapi("NewLink"),
          "The link; `url` is shown this once.",
        ),
        404: failure("No such run or question."),
        409: failure("The question is no longer open."),
        422: failure("The question does not allow these answers, or has no simple form."),
      },
    }),
    async (c) => {
      const request = await visible(c, c.req.valid("param"))
      const { expires = DEFAULT_EXPIRES, by, values } = c.req.valid("json") ?? {}
      if (request.outcome !== "open") {
        const text = `Question "${request.id}" is no longer open: ${request.outcome}.`
        throw new SuperstepError("REQUEST_NOT_OPEN", text, { run: request.runId })
      }
      await checkValues(request.schema, values as readonly Json[] | undefined)
      const { link, token } = await links.create({
        run: request.runId,
        request: request.id,
        expiresAt: Date.now() + expires * 1_000,
        by,
        values: values as Link["values"],
        createdBy: principalOf(c).id,
      })
      return c.json({ ...link, url: services.address(c.req.raw, `/links/${token}`) } as never, 201)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/runs/{run}/requests/{request}/links",
      ...needs("operator"),
      summary: "List the links of a question",
      request: { params: requestParam },
      responses: {
        200: body(z.object({ links: z.array(linkSchema) }), "Without their addresses."),
        404: failure("No such run or question."),
      },
    }),
    async (c) => {
      const { runId, id } = await visible(c, c.req.valid("param"))
      const { found } = await links.documents.page(({ run, request }) => run === runId && request === id)
      return c.json({ links: found } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/runs/{run}/requests/{request}/links/{link}",
      ...needs("operator"),
      summary: "Revoke a link",
      request: { params: linkParam },
      responses: { 204: { description: "It no longer works." }, 404: failure("No such link.") },
    }),
    async (c) => {
      const { link: id, ...params } = c.req.valid("param")
      const request = await visible(c, params)
      const link = await links.documents.find(id)
      if (link?.run !== request.runId || link.request !== request.id) throw linkUnknown(id)
      await links.revoke(id)
      return c.body(null, 204)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/links/{token}",
      ...PUBLIC,
      summary: "Show the question of a link",
      request: { params: tokenParam },
      responses: { 200: { description: "A page with the question. Nothing is answered." } },
    }),
    async (c) => {
      const found = await links.find(c.req.valid("param").token)
      if (found.state !== "open") return await overPage(found)
      const form = answerForm(found.request.schema, found.link.values as readonly Json[] | undefined)
      return form === undefined ? await formless() : await questionPage(found.request, form)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/links/{token}",
      ...PUBLIC,
      summary: "Answer the question of a link",
      request: { params: tokenParam },
      responses: { 200: { description: "A page that says that the question is answered." } },
    }),
    async (c) => {
      const found = await links.find(c.req.valid("param").token)
      if (found.state !== "open") return await overPage(found)
      const { link, request } = found
      // For the audit log.
      c.set("principal", { id: link.by ?? `link:${link.id}`, role: "operator" })
      const form = answerForm(request.schema, link.values as readonly Json[] | undefined)
      if (form === undefined) return await formless()
      const value = readAnswer(form, new URLSearchParams(await c.req.text()))
      if (value === undefined) return await questionPage(request, form, "Choose an answer.")
      try {
        await links.answer(link, value)
      } catch (error) {
        if (isSuperstepError(error, "REQUEST_INVALID"))
          return await questionPage(request, form, "This answer is not valid. Nothing was recorded.")
        if (CLOSED.some((code) => isSuperstepError(error, code))) return await overPage({ state: "closed" })
        throw error
      }
      return await messagePage(200, "Thank you", "Your answer is recorded. You can close this page.")
    },
  )
}

/** Errors of an answer that came too late. */
const CLOSED = [
  "REQUEST_ANSWERED",
  "REQUEST_EXPIRED",
  "REQUEST_NOT_OPEN",
  "REQUEST_UNKNOWN",
  "RUN_OVER",
  "RUN_UNKNOWN",
]

async function checkValues(schema: Json | undefined, values: readonly Json[] | undefined): Promise<void> {
  for (const value of values ?? []) {
    const problem = schema === undefined ? undefined : await answerProblem(schema, value)
    if (problem === undefined) continue
    const text = `values: the question does not allow ${JSON.stringify(value).slice(0, 200)}: ${problem}.`
    throw new SuperstepError("OPTION_INVALID", text)
  }
  if (answerForm(schema, values) !== undefined) return
  const text = "Answers to this question have no simple form: name the ones that the link offers in values."
  throw new SuperstepError("OPTION_INVALID", text)
}

function overPage({ state }: Exclude<Found, { state: "open" }>): Promise<Response> {
  switch (state) {
    case "used":
    case "closed":
      return messagePage(409, "Already answered", "This question is no longer open. Nothing was changed.")
    case "expired":
      return messagePage(410, "This link has expired", "Ask who sent it for another one.")
    case "invalid":
      return messagePage(404, "This link is not valid", "It may be incomplete, or was revoked.")
  }
}

function formless(): Promise<Response> {
  return messagePage(422, "This question has no simple form", "Ask who sent the link how to answer it.")
}
