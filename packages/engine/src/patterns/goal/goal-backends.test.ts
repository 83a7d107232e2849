import { expect, test } from "vitest"
import type { Sources } from "../ports.ts"
import { database, databases, retriever } from "./goal.test-support.ts"
import { type GoalBackends, OpenBackends } from "./goal-backends.ts"

const SETTINGS = { type: "csv", id: "stock", folder: "data" } as const

function backends(more: Partial<GoalBackends> = {}): GoalBackends {
  return {
    database: () => database("stock"),
    schemaRetriever: () => databases(),
    index: () => retriever("documents"),
    ...more,
  }
}

test("a database without a profile has its schema as one", async () => {
  const opened = new OpenBackends(() => backends())
  expect(await opened.database(SETTINGS).profile?.()).toEqual({ tables: await database("stock").schema() })
})

test("a database's own profile is passed on", async () => {
  const profile = { tables: [{ name: "lamps", columns: [], rowCount: 7 }], incomplete: "too late" }
  const opened = new OpenBackends(() =>
    backends({ database: () => ({ ...database("stock"), profile: async () => profile }) }),
  )
  expect(await opened.database(SETTINGS).profile?.()).toEqual(profile)
})

test("sources are ranked by the back ends, which open nothing before that and are closed with the others", async () => {
  const asked: unknown[] = []
  const ranking = { sources: [], failed: [{ source: "stock", reason: "away" }] }
  const sourceRanker = (sources: Sources) => ({
    rank: async (goal: string) => {
      asked.push(goal, sources)
      return ranking
    },
    close: () => void asked.push("closed"),
  })
  const opened = new OpenBackends(() => backends({ sourceRanker }))
  const ranker = opened.sourceRanker({ databases: [] })
  expect(asked).toEqual([])
  expect(await ranker.rank("lamps")).toEqual(ranking)
  await opened.close()
  expect(asked).toEqual(["lamps", { databases: [] }, "closed"])
})

test("back ends without a ranker have no ranking", async () => {
  const ranker = new OpenBackends(() => backends()).sourceRanker({ databases: [] })
  expect(await ranker.rank("lamps")).toEqual({ sources: [], failed: [] })
})

test("a retriever that does not describe itself is described by its name", async () => {
  const opened = new OpenBackends(() => backends())
  expect(await opened.index({ index: "docs.db" }).describe?.()).toBe("docs.db")
})
