import { expect, test } from "vitest"
import { served } from "./serve.test-support.ts"
import type { ServedIndex, ServedIndexes } from "./served-indexes.ts"

/** An index in memory that finds texts that contain the query. */
function shelf(): ServedIndexes {
  const texts = new Map([["a.md", "Storks nest on roofs."]])
  const index: ServedIndex = {
    report: async () => ({
      documents: texts.size,
      chunks: texts.size,
      bytes: 1,
      vectorSearch: false,
      reason: "no model",
    }),
    list: async () => [...texts].map(([source]) => ({ source, chunks: 1, bytes: 1, addedAt: 1 })),
    search: async (query, { limit }) =>
      [...texts]
        .filter(([, text]) => text.includes(query))
        .slice(0, limit)
        .map(([source, text]) => ({ source, text, score: 1, relevance: 0.9 })),
    add: async (documents) => {
      for (const { source, text } of documents) texts.set(source, text)
      return { added: documents.length, changed: 0, unchanged: 0, chunks: documents.length, problems: [] }
    },
    remove: async (source) => Number(texts.delete(source)),
  }
  return {
    names: async () => ["docs"],
    use: async (name, use) => (name === "docs" ? await use(index) : undefined),
  }
}

test("an index is listed, shown, searched and changed", async () => {
  const one = served({ indexes: shelf() })
  const key = await one.key({ role: "author" })
  const send = async (method: string, path: string, body?: unknown) =>
    (await (
      await one.ask(method, `/v1/indexes${path}`, { key, ...(body !== undefined && { body }) })
    ).json()) as never
  expect(await send("GET", "")).toEqual({
    indexes: [{ name: "docs", documents: 1, chunks: 1, bytes: 1, vectorSearch: false, reason: "no model" }],
  })
  expect(
    await send("POST", "/docs/documents", { documents: [{ source: "b.md", text: "Owls hunt." }] }),
  ).toMatchObject({
    added: 1,
  })
  expect(await send("GET", "/docs?limit=1")).toMatchObject({
    count: 2,
    documents: [{ source: "a.md" }],
    next: "a.md",
  })
  expect(await send("POST", "/docs/search", { query: "Owls" })).toMatchObject({
    found: [{ source: "b.md", text: "Owls hunt.", score: 1, relevance: 0.9 }],
  })
  expect(await send("DELETE", "/docs/documents?source=b.md")).toEqual({ removed: 1 })
  expect(await send("GET", "/none")).toMatchObject({ code: "INDEX_UNKNOWN", status: 404 })
})

test("indexes belong to the server: a tenant sees none, and a viewer changes none", async () => {
  const one = served({ indexes: shelf() })
  const tenant = await one.key({ role: "admin", tenant: "a" })
  expect(await (await one.ask("GET", "/v1/indexes", { key: tenant })).json()).toEqual({ indexes: [] })
  expect((await one.ask("GET", "/v1/indexes/docs", { key: tenant })).status).toBe(404)
  const key = await one.key({ role: "viewer" })
  const body = { documents: [{ source: "x", text: "x" }] }
  expect((await one.ask("POST", "/v1/indexes/docs/documents", { key, body })).status).toBe(403)
})
