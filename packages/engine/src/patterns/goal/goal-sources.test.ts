import { expect, test } from "vitest"
import { database, databases, retriever } from "./goal.test-support.ts"
import type { GoalBackends } from "./goal-backends.ts"
import { loadGoalConfig } from "./load-goal-config.ts"

const AGENTS = "agents: { triage: {}, reviewer: {}, desk: {} }\nassistants: [desk]\n"

function loaded(search: string, more: Partial<GoalBackends> = {}) {
  const opened: unknown[] = []
  const backends: GoalBackends = {
    database(settings) {
      opened.push(settings)
      return database(settings.id)
    },
    schemaRetriever: () => databases(),
    index(settings) {
      opened.push(settings)
      return retriever("documents")
    },
    ...more,
  }
  const text = `${AGENTS}search: ${search}\n`
  const { goal, diagnostics } = loadGoalConfig(
    { file: "shop/goal.yaml", text },
    { env: {}, backends: () => backends },
  )
  return { goal, opened, messages: diagnostics.map(({ message }) => message) }
}

test("a configuration lists its sources, and opens them on request, with paths relative to the file", async () => {
  const { goal, opened } = loaded(`
  databases:
    - { type: sqlite, id: clinic, file: clinic.db }
    - { type: csv, id: stock, folder: data }
    - { type: postgresql, id: shop, url: "postgresql://reader@localhost/shop", allow_unsafe_role: true }
  vector: { documents: [docs, /all/notes.md], embeddings: offline }`)
  expect(goal?.sources.map(({ kind, id }) => `${kind} ${id}`)).toEqual([
    "database clinic",
    "database stock",
    "database shop",
    "documents shop/docs, /all/notes.md",
  ])
  expect(opened).toEqual([])
  const [clinic] = goal?.sources ?? []
  const first = await clinic?.open()
  expect(await clinic?.open()).toBe(first)
  await goal?.sources.at(-1)?.open()
  expect(opened).toEqual([
    { type: "sqlite", id: "clinic", file: "shop/clinic.db" },
    { documents: ["shop/docs", "/all/notes.md"], embeddings: "offline" },
  ])
})

test.each([
  ["{ vector: {} }", "Name an `index`, or the `documents`."],
  ["{ vector: { index: a.db, documents: [b] } }", "Name an `index`, or the `documents`."],
  [
    "{ vector: { index: a.db, embeddings: offline } }",
    "An `index` keeps the embeddings it was built with: remove `embeddings`.",
  ],
])("%s is refused", (search, message) => {
  expect(loaded(search).messages).toEqual([expect.stringContaining(message)])
})

test("data of an untrusted file is in its folder: SQLite files and documents too", () => {
  const text = `${AGENTS}search: { databases: [{ type: sqlite, id: a, file: ../a.db }], vector: { documents: [../docs] } }\n`
  const { diagnostics } = loadGoalConfig({ file: "shop/goal.yaml", text }, { env: {}, trust: "none" })
  const outside = diagnostics.filter(({ message }) => message.includes("../"))
  expect(outside.map(({ place }) => place?.line)).toEqual([3, 3])
})
