/**
 * Routes of document indexes, which the server's program provides. They belong to the server, not to a tenant: to a principal
 * with a tenant, or for some workflows only, there are none.
 */
import { createRoute, type OpenAPIHono, z } from "@hono/zod-openapi"
import { SuperstepError } from "@superstep/engine"
import type { Context } from "hono"
import { type Env, needs, principalOf } from "./access.ts"
import { body, failure, pageSchema } from "./schemas.ts"
import type { ServedIndex } from "./served-indexes.ts"
import type { Services } from "./services.ts"

const MAX_DOCUMENTS = 100
const MAX_FOUND = 100

const indexSchema = z
  .object({
    name: z.string(),
    documents: z.number().int(),
    chunks: z.number().int(),
    bytes: z.number(),
    embeddings: z.string().optional(),
    vectorSearch: z.boolean().openapi({ description: "Whether it is searched by meaning, too." }),
    reason: z.string().optional().openapi({ description: "Why it is not." }),
  })
  .openapi("Index")

const documentSchema = z.object({
  source: z.string(),
  chunks: z.number().int(),
  bytes: z.number(),
  addedAt: z.number().int(),
})

const foundSchema = z
  .object({
    source: z.string(),
    text: z.string().openapi({ description: "The chunk." }),
    score: z.number().openapi({ description: "Greater is better; comparable within one search." }),
    relevance: z.number().optional().openapi({ description: "From 0 to 1; below 0.5 is no evidence." }),
    title: z.string().optional(),
  })
  .openapi("FoundChunk")

const searchSchema = z
  .object({
    query: z.string().min(1).max(10_000),
    limit: z.number().int().min(1).max(MAX_FOUND).default(10),
    mode: z.enum(["merged", "text", "vector"]).optional(),
  })
  .strict()
  .openapi("IndexSearch")

const addSchema = z
  .object({
    documents: z
      .array(
        z
          .object({
            source: z.string().min(1).max(1_000),
            text: z.string(),
            type: z.enum(["text", "markdown", "html", "csv"]).optional(),
          })
          .strict(),
      )
      .min(1)
      .max(MAX_DOCUMENTS),
  })
  .strict()
  .openapi("AddDocuments")

const indexParam = z.object({ index: z.string().min(1).max(200) })
const bodyOf = <T extends z.ZodType>(schema: T) => ({
  required: true,
  content: { "application/json": { schema } },
})

export function addIndexRoutes(app: OpenAPIHono<Env>, { indexes }: Services): void {
  const isHidden = (c: Context<Env>) =>
    indexes === undefined || principalOf(c).tenant !== undefined || principalOf(c).workflows !== undefined

  /** Throws INDEX_UNKNOWN. */
  async function use<T>(c: Context<Env>, name: string, work: (index: ServedIndex) => Promise<T>): Promise<T> {
    const done = isHidden(c) ? undefined : await indexes?.use(name, async (index) => [await work(index)])
    if (done !== undefined) return done[0] as T
    throw new SuperstepError("INDEX_UNKNOWN", `There is no index "${name}". GET /v1/indexes lists them.`)
  }

  async function shown(name: string, index: ServedIndex): Promise<z.infer<typeof indexSchema>> {
    const { documents, chunks, bytes, embeddings, vectorSearch, reason } = await index.report()
    return { name, documents, chunks, bytes, embeddings: embeddings?.name, vectorSearch, reason }
  }

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/indexes",
      ...needs("viewer"),
      summary: "List document indexes",
      responses: { 200: body(z.object({ indexes: z.array(indexSchema) }), "By name.") },
    }),
    async (c) => {
      const names = isHidden(c) ? [] : [...((await indexes?.names()) ?? [])].sort()
      const found = []
      for (const name of names) found.push(await use(c, name, (index) => shown(name, index)))
      return c.json({ indexes: found }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/indexes/{index}",
      ...needs("viewer"),
      summary: "Show an index, and its documents by source",
      request: { params: indexParam, query: pageSchema.extend({ cursor: z.string().max(1_000).optional() }) },
      responses: {
        200: body(
          indexSchema
            .omit({ documents: true })
            .extend({
              count: z.number().int(),
              documents: z.array(documentSchema),
              next: z.string().optional(),
            })
            .openapi("IndexDocuments"),
          "A page; `next` is the cursor of the next one.",
        ),
        404: failure("No such index."),
      },
    }),
    async (c) => {
      const { index: name } = c.req.valid("param")
      const { cursor, limit } = c.req.valid("query")
      const found = await use(c, name, async (index) => {
        const { documents: count, ...about } = await shown(name, index)
        const all = [...(await index.list())].sort((a, b) => (a.source < b.source ? -1 : 1))
        const rest = cursor === undefined ? all : all.filter(({ source }) => source > cursor)
        const documents = rest.slice(0, limit)
        const next = rest.length > limit ? documents.at(-1)?.source : undefined
        return { ...about, count, documents, next }
      })
      return c.json(found, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/indexes/{index}/search",
      ...needs("viewer"),
      summary: "Search an index, and see the chunks with their scores",
      request: { params: indexParam, body: bodyOf(searchSchema) },
      responses: {
        200: body(
          z.object({ found: z.array(foundSchema), milliseconds: z.number().int() }),
          "The best first.",
        ),
        404: failure("No such index."),
      },
    }),
    async (c) => {
      const { query, ...options } = c.req.valid("json")
      const since = performance.now()
      const found = await use(c, c.req.valid("param").index, (index) => index.search(query, options))
      const chunks = found.map(({ source, text, score, relevance, title }) => ({
        source,
        text,
        score,
        relevance,
        title,
      }))
      return c.json({ found: chunks, milliseconds: Math.round(performance.now() - since) }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/indexes/{index}/documents",
      ...needs("author"),
      summary: "Add texts to an index, or replace those with the same source",
      description: "Texts only: no file of the server is read.",
      request: { params: indexParam, body: bodyOf(addSchema) },
      responses: {
        200: body(
          z.object({
            added: z.number().int(),
            changed: z.number().int(),
            unchanged: z.number().int(),
            chunks: z.number().int(),
            problems: z.array(z.object({ source: z.string(), reason: z.string() })),
          }),
          "What happened to them.",
        ),
        404: failure("No such index."),
      },
    }),
    async (c) => {
      const { documents } = c.req.valid("json")
      const result = await use(c, c.req.valid("param").index, (index) => index.add(documents))
      const { added, changed, unchanged, chunks, problems } = result
      return c.json({ added, changed, unchanged, chunks, problems: [...problems] }, 200)
    },
  )

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/indexes/{index}/documents",
      ...needs("author"),
      summary: "Remove a document from an index",
      request: { params: indexParam, query: z.object({ source: z.string().min(1).max(1_000) }) },
      responses: {
        200: body(z.object({ removed: z.number().int() }), "How many documents it had from this source."),
        404: failure("No such index."),
      },
    }),
    async (c) => {
      const { source } = c.req.valid("query")
      const removed = await use(c, c.req.valid("param").index, (index) => index.remove(source))
      return c.json({ removed }, 200)
    },
  )
}
