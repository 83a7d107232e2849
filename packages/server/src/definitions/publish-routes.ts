/** Routes that decide which version of a definition new runs have: publish, rollback, aliases. */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, needs, principalOf } from "../access.ts"
import type { StartedWorkflow } from "../catalog.ts"
import { problemWith } from "../problem.ts"
import { ENDED, visibleRuns } from "../runs.ts"
import { body, failure } from "../schemas.ts"
import type { Services } from "../services.ts"
import { checkVisible, checkWritable, definitionUnknown, summaryOf } from "./definition-routes.ts"
import { problemsOf } from "./graph-view.ts"
import { type CheckedRun, checkRun } from "./replay-check.ts"
import {
  ALIAS,
  definitionParam,
  definitionSummarySchema,
  publishedSchema,
  publishSchema,
  RESERVED_ALIASES,
  refusal,
  rollbackSchema,
  versionName,
} from "./schemas.ts"
import { type Head, logged } from "./stored-definitions.ts"

const json = <T extends z.ZodType>(schema: T, required = true) => ({
  required,
  content: { "application/json": { schema } },
})

export function addPublishRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { definitions, runtime } = services

  /** The head of a definition that the principal may change. */
  async function changeable(c: Context<Env>, name: string): Promise<Head> {
    checkVisible(principalOf(c), name)
    const head = await definitions.head(name)
    if (head === undefined) throw definitionUnknown(name)
    checkWritable(services, name)
    return head
  }

  /** Replays the newest runs that have ended. */
  async function checked(
    c: Context<Env>,
    name: string,
    version: number,
    last: number,
  ): Promise<CheckedRun[]> {
    const workflow = (await definitions.load(name, version))?.workflow as StartedWorkflow | undefined
    const query = { workflow: name, status: ENDED }
    const rows = last === 0 ? [] : await visibleRuns(runtime, principalOf(c), query, undefined, last)
    const results: CheckedRun[] = []
    for (const { runId } of workflow === undefined ? [] : rows)
      results.push(await checkRun(runtime, runId, workflow as StartedWorkflow))
    return results
  }

  /** New runs have this version from now on, on every server of the store. */
  async function release(name: string, version: number, change: (head: Head) => Head): Promise<Head> {
    const { files } = services
    const isFile = files.texts.has(name)
    const text = isFile ? (await definitions.text(name, version))?.text : undefined
    if (text !== undefined) await files.save?.(name, text)
    const head = await definitions.change(name, change)
    await runtime.refresh()
    return head
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/definitions/{definition}/publish",
      ...needs("author"),
      summary: "Publish a version: new runs have it from now on",
      description:
        "First replays the newest runs that have ended against it, with recorded results of steps and people. If one of them behaves differently, answers 409 with what differs; `force` with a `reason` publishes it nevertheless.",
      request: { params: definitionParam, body: json(publishSchema) },
      responses: {
        200: body(publishedSchema, "Published."),
        404: failure("No such definition or version."),
        409: refusal("Runs would behave differently, or another version is published than you expect."),
        422: refusal("The version cannot be loaded, or the body is not valid."),
      },
    }),
    async (c) => {
      const name = c.req.valid("param").definition
      const before = await changeable(c, name)
      const { version: wanted = "latest", last, force, reason, inFlight, expected } = c.req.valid("json")
      if (expected !== undefined && (before.published ?? 0) !== expected) throw moved(name, before)
      const version = definitions.numberOf(name, before, wanted)
      const stored = await definitions.text(name, version)
      const loaded = await definitions.check(name, stored?.text ?? "")
      if (loaded.definition === undefined) {
        const diagnostics = problemsOf(loaded)
        return problemWith(422, "DEFINITION_INVALID", `Version ${version} cannot be loaded.`, {
          diagnostics,
        }) as never
      }
      const runs = await checked(c, name, version, last)
      const different = runs.filter(({ outcome }) => outcome !== "same")
      if (different.length > 0 && !force) {
        const text = `${different.length} of ${runs.length} recorded runs behave differently with version ${version}. Publish it with force and a reason if that is what you want.`
        return problemWith(409, "REPLAY_DIFFERS", text, { runs }) as never
      }
      if (force) c.set("note", `forced: ${reason}`)
      const entry = { at: Date.now(), by: principalOf(c).id, action: "publish" as const, version }
      const head = await release(name, version, (now) => {
        if (expected !== undefined && (now.published ?? 0) !== expected) throw moved(name, now)
        const next = { ...now, published: version, follow: inFlight === "follow" }
        return logged(next, { ...entry, ...(reason !== undefined && { reason }) })
      })
      const check = { passed: different.length === 0, runs }
      return c.json({ ...summaryOf(services, name, head), version, check } as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/definitions/{definition}/rollback",
      ...needs("author"),
      summary: "Publish an earlier version again, at once",
      description: "Only versions that were published before: there is no replay check.",
      request: { params: definitionParam, body: json(rollbackSchema, false) },
      responses: {
        200: body(publishedSchema, "Published."),
        404: failure("No such definition, or no such earlier version."),
        409: failure("The definition is read-only."),
      },
    }),
    async (c) => {
      const name = c.req.valid("param").definition
      await changeable(c, name)
      const { to, reason } = c.req.valid("json") ?? {}
      const head = await definitions.head(name)
      const version = earlierOf(name, head as Head, to)
      if (reason !== undefined) c.set("note", reason)
      const entry = { at: Date.now(), by: principalOf(c).id, action: "rollback" as const, version }
      const after = await release(name, version, (now) =>
        logged({ ...now, published: version }, { ...entry, ...(reason !== undefined && { reason }) }),
      )
      return c.json({ ...summaryOf(services, name, after), version }, 200)
    },
  )

  const aliasParam = definitionParam.extend({
    alias: z
      .string()
      .regex(ALIAS, "must begin with a letter, and have letters, digits, - and _")
      .refine((alias) => !RESERVED_ALIASES.includes(alias), "published and latest name versions already"),
  })

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/definitions/{definition}/aliases/{alias}",
      ...needs("author"),
      summary: "Let an alias name a version",
      description: "Start a run with `version: alias` to have that version.",
      request: { params: aliasParam, body: json(z.object({ version: versionName }).strict()) },
      responses: { 200: body(definitionSummarySchema, "As it is now."), 404: failure("No such version.") },
    }),
    async (c) => {
      const { definition: name, alias } = c.req.valid("param")
      const version = definitions.numberOf(name, await changeable(c, name), c.req.valid("json").version)
      const entry = { at: Date.now(), by: principalOf(c).id, action: "alias" as const, version, alias }
      const head = await definitions.change(name, (now) =>
        logged({ ...now, aliases: { ...now.aliases, [alias]: version } }, entry),
      )
      return c.json(summaryOf(services, name, head), 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/definitions/{definition}/aliases/{alias}",
      ...needs("author"),
      summary: "Remove an alias",
      request: { params: aliasParam },
      responses: { 200: body(definitionSummarySchema, "As it is now."), 404: failure("No such alias.") },
    }),
    async (c) => {
      const { definition: name, alias } = c.req.valid("param")
      const version = definitions.numberOf(name, await changeable(c, name), alias)
      const entry = {
        at: Date.now(),
        by: principalOf(c).id,
        action: "alias removed" as const,
        version,
        alias,
      }
      const head = await definitions.change(name, (now) => {
        const { [alias]: _, ...aliases } = now.aliases
        return logged({ ...now, aliases }, entry)
      })
      return c.json(summaryOf(services, name, head), 200)
    },
  )
}

/** A version that was published before. Throws VERSION_UNKNOWN. */
function earlierOf(name: string, { log, published }: Head, to: number | undefined): number {
  const before = log
    .filter(({ action, version }) => (action === "publish" || action === "rollback") && version !== published)
    .map(({ version }) => version)
  const found =
    to === undefined
      ? before.filter((one) => one < (published ?? 0)).sort((a, b) => b - a)[0]
      : before.find((one) => one === to)
  if (found !== undefined) return found
  const which = to === undefined ? "earlier published version" : `published version ${to}`
  throw new SuperstepError("VERSION_UNKNOWN", `Definition "${name}" has no ${which} to go back to.`)
}

function moved(name: string, { published }: Head): SuperstepError {
  const now = published === undefined ? "nothing" : `version ${published}`
  return new SuperstepError(
    "DEFINITION_CONFLICT",
    `Somebody else has changed "${name}": ${now} is published. Look at it, and publish again.`,
  )
}
