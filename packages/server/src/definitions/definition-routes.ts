/**
 * Routes of definitions. They belong to the server, not to a tenant: to a principal with a tenant there are none. Definitions
 * of files are read-only, unless the server can save them.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import { graphDifference } from "@superstep/engine/core"
import type { Context } from "hono"
import { type Env, maySee, needs, type Principal, principalOf } from "../access.ts"
import { problemWith } from "../problem.ts"
import { body, failure, pageSchema } from "../schemas.ts"
import type { Services } from "../services.ts"
import { graphView, problemsOf, textDifference } from "./graph-view.ts"
import {
  definitionDiffSchema,
  definitionParam,
  definitionSchema,
  definitionSummarySchema,
  draftSchema,
  NAME,
  refusal,
  validatedSchema,
  validateSchema,
  versionName,
  versionSchema,
  versionTextSchema,
} from "./schemas.ts"
import { type Head, type Version, versionUnknown } from "./stored-definitions.ts"

export function addDefinitionRoutes(app: OpenAPIHono<Env>, services: Services): void {
  addReadRoutes(app, services)
  addVersionRoutes(app, services)
}

/** Throws DEFINITION_UNKNOWN, also for one that the principal may not see. */
export function checkVisible(principal: Principal, name: string): void {
  if (principal.tenant !== undefined || !maySee(principal, name)) throw definitionUnknown(name)
}

export function definitionUnknown(name: string): SuperstepError {
  const text = `There is no definition "${name}". GET /v1/definitions lists them.`
  return new SuperstepError("DEFINITION_UNKNOWN", text)
}

/** Throws DEFINITION_READ_ONLY for a workflow that the server loads from a file or from code, and cannot save. */
export function checkWritable({ files, catalog }: Services, name: string): void {
  if (catalog.own(name) === undefined || (files.save !== undefined && files.texts.has(name))) return
  const text = `"${name}" is loaded by the server itself: change its file, or send the definition under another name.`
  throw new SuperstepError("DEFINITION_READ_ONLY", text)
}

export function summaryOf({ files, catalog }: Services, name: string, head: Head | undefined) {
  const isFile = files.texts.has(name)
  const isOwn = catalog.own(name) !== undefined
  return {
    name,
    source: isFile ? ("file" as const) : isOwn ? ("code" as const) : ("store" as const),
    readOnly: isOwn && !(isFile && files.save !== undefined),
    published: head?.published,
    latest: head?.latest,
    aliases: head?.aliases ?? {},
  }
}

function addReadRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { definitions, catalog, files } = services

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/definitions/validate",
      ...needs("viewer"),
      summary: "Check the text of a definition",
      description: "Nothing is stored, and nothing runs. The text is that of an author who is not trusted.",
      request: { body: { required: true, content: { "application/json": { schema: validateSchema } } } },
      responses: { 200: body(validatedSchema, "All problems at once, and the graph if there are none.") },
    }),
    async (c) => {
      const { text, name } = c.req.valid("json")
      const loaded = await definitions.check(name, text)
      const { definition, dialect } = loaded
      const validated = {
        valid: definition !== undefined,
        name: definition?.workflow.name,
        dialect,
        diagnostics: problemsOf(loaded),
        graph: definition && (await graphView(definition.workflow.program.graph, text)),
      }
      return c.json(validated as never, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/schemas/{dialect}",
      ...needs("viewer"),
      summary: "The JSON Schema of definitions in one dialect, for editors",
      request: { params: z.object({ dialect: z.enum(["steps", "graph"]) }) },
      responses: {
        200: body(z.record(z.string(), z.unknown()), "What `superstep schema` prints."),
        422: failure("There is no such dialect."),
      },
    }),
    async (c) => {
      const { jsonSchemas } = await import("@superstep/engine/definitions")
      return c.json(jsonSchemas[c.req.valid("param").dialect](), 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/definitions",
      ...needs("viewer"),
      summary: "List definitions: of the store, of files and of code",
      responses: {
        200: body(z.object({ definitions: z.array(definitionSummarySchema) }), "By name."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const heads = new Map(await definitions.heads())
      const names = [...new Set([...heads.keys(), ...catalog.ownNames()])].sort()
      const visible = names.filter((name) => principal.tenant === undefined && maySee(principal, name))
      return c.json({ definitions: visible.map((name) => summaryOf(services, name, heads.get(name))) }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/definitions/{definition}",
      ...needs("viewer"),
      summary: "Show a definition: its text, its graph, and what was published",
      request: { params: definitionParam },
      responses: { 200: body(definitionSchema, "As it is now."), 404: failure("No such definition.") },
    }),
    async (c) => {
      const name = c.req.valid("param").definition
      checkVisible(principalOf(c), name)
      const head = await definitions.head(name)
      const own = catalog.own(name)
      if (head === undefined && own === undefined) throw definitionUnknown(name)
      const shown = head && (head.published ?? head.latest)
      const text =
        own === undefined && shown ? (await definitions.text(name, shown))?.text : files.texts.get(name)
      const workflow =
        own ?? (shown === undefined ? undefined : (await definitions.load(name, shown))?.workflow)
      const graph = workflow && (await graphView(workflow.program.graph, text))
      const found = { ...summaryOf(services, name, head), text, graph, log: head?.log ?? [] }
      return c.json(found as never, 200)
    },
  )
}

function addVersionRoutes(app: OpenAPIHono<Env>, services: Services): void {
  const { definitions, files } = services

  async function visibleHead(c: Context<Env>, name: string): Promise<Head> {
    checkVisible(principalOf(c), name)
    const head = await definitions.head(name)
    if (head === undefined) throw definitionUnknown(name)
    return head
  }

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/definitions/{definition}/versions",
      ...needs("viewer"),
      summary: "List the versions of a definition, the oldest first",
      request: { params: definitionParam, query: pageSchema },
      responses: {
        200: body(
          z.object({ versions: z.array(versionSchema), next: z.string().optional() }),
          "A page; `next` is the cursor of the next one.",
        ),
        404: failure("No such definition."),
      },
    }),
    async (c) => {
      const name = c.req.valid("param").definition
      await visibleHead(c, name)
      const { cursor, limit } = c.req.valid("query")
      const found = await definitions.versions(name, Number(cursor) || 0, limit + 1)
      const versions = found.slice(0, limit).map(({ text: _, ...version }) => version)
      const next = found.length > limit ? String(versions.at(-1)?.version) : undefined
      return c.json({ versions, next }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/definitions/{definition}/versions/{version}",
      ...needs("viewer"),
      summary: "Show a version: its text, its problems and its graph",
      request: { params: definitionParam.extend({ version: versionName }) },
      responses: { 200: body(versionTextSchema, "As it was stored."), 404: failure("No such version.") },
    }),
    async (c) => {
      const { definition: name, version } = c.req.valid("param")
      const found = await textOf(name, await visibleHead(c, name), version)
      const loaded = await definitions.check(name, found.text)
      const graph =
        loaded.definition && (await graphView(loaded.definition.workflow.program.graph, found.text))
      return c.json({ ...found, diagnostics: problemsOf(loaded), graph } as never, 200)
    },
  )

  async function textOf(name: string, head: Head, version: string): Promise<Version> {
    const found = await definitions.text(name, definitions.numberOf(name, head, version))
    if (found === undefined) throw versionUnknown(name, version)
    return found
  }

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/definitions/{definition}/versions",
      ...needs("author"),
      summary: "Add a version, as a draft",
      description: "The first one creates the definition. The text of the latest version adds none.",
      request: {
        params: definitionParam,
        body: { required: true, content: { "application/json": { schema: draftSchema } } },
      },
      responses: {
        200: body(versionSchema, "The latest version has this text."),
        201: body(versionSchema, "The new version."),
        404: failure("You may not see a definition with this name."),
        409: failure("The definition is read-only."),
        422: refusal("The text is not valid."),
      },
    }),
    async (c) => {
      const principal = principalOf(c)
      const name = c.req.valid("param").definition
      checkVisible(principal, name)
      checkWritable(services, name)
      const { text, note } = c.req.valid("json")
      const current = files.texts.get(name)
      if (current === undefined && !NAME.test(name)) {
        throw new SuperstepError(
          "OPTION_INVALID",
          `"${name}" cannot be the name of a definition: use letters, digits, - and _, at most 100.`,
        )
      }
      const loaded = await definitions.check(name, text)
      if (loaded.definition === undefined) {
        const diagnostics = problemsOf(loaded)
        const first = diagnostics.find(({ severity }) => severity === "error")
        return problemWith(422, "DEFINITION_INVALID", first?.message ?? "It is not valid.", {
          diagnostics,
        }) as never
      }
      const by = { createdAt: Date.now(), createdBy: principal.id }
      if (current !== undefined && (await definitions.head(name)) === undefined) {
        await definitions.add(name, { text: current, ...by, note: "The file." })
      }
      const added = await definitions.add(name, { text, ...by, ...(note !== undefined && { note }) })
      const { text: _, ...version } = added.version
      return c.json(version, added.isNew ? 201 : 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/definitions/{definition}/diff",
      ...needs("viewer"),
      summary: "What two versions differ in, as texts and as graphs",
      request: {
        params: definitionParam,
        query: z.object({ from: versionName, to: versionName }),
      },
      responses: {
        200: body(definitionDiffSchema, "From one to the other."),
        404: failure("No such version."),
      },
    }),
    async (c) => {
      const name = c.req.valid("param").definition
      const head = await visibleHead(c, name)
      const query = c.req.valid("query")
      const [from, to] = [await textOf(name, head, query.from), await textOf(name, head, query.to)]
      const [before, after] = [
        await definitions.load(name, from.version),
        await definitions.load(name, to.version),
      ]
      const graph =
        before && after ? graphDifference(before.workflow.program.graph, after.workflow.program.graph) : []
      const text = textDifference(from.text, to.text)
      return c.json({ from: from.version, to: to.version, text, graph } as never, 200)
    },
  )
}
