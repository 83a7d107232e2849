/** Runs found by labels and by parts of their names: the indexes change what a search costs, never what it finds. */
import type { RunQuery } from "@superstep/engine"
import { describe, expect, test, vi } from "vitest"
import type { Driver } from "../file/driver.ts"
import { addSearchTables } from "../file/search-schema.ts"
import { checkStoreFile } from "../repair/check-store.ts"
import type { SqliteStore } from "../sqlite-store.ts"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  openStore,
  over,
  records,
} from "../stores.test-support.ts"
import { FEW_NAMES } from "./run-names.ts"

const odd = 'a "b" \\ ü \u0000 \ud800'

async function found(store: SqliteStore, query: RunQuery): Promise<string[]> {
  return (await store.runs(query)).map(({ runId }) => runId)
}

function count(path: string, driver: Driver, table: string): number {
  let rows = 0
  alter(path, driver, (database) => {
    rows = (database.prepare(`SELECT count(*) AS rows FROM ${table}`).all() as [{ rows: number }])[0].rows
  })
  return rows
}

describe.each(drivers)("runs in a file by $name", ({ driver }) => {
  /** As many as are worth an index, of two workflows, every tenth with a key, every second pair over. */
  async function fill(store: SqliteStore, first: number, runs: number): Promise<void> {
    await Promise.all(
      Array.from({ length: runs }, (_, i) => {
        const n = first + i
        const key = n % 10 === 0 ? `key of ${n}` : undefined
        const change = created({ workflow: n % 2 === 0 ? "billing" : odd, key })
        const runId = `order-${String(n).padStart(6, "0")}`
        return store.append(
          lease(runId),
          0,
          records(1, 1),
          n % 4 < 2 ? change : { ...change, status: "completed" },
        )
      }),
    )
  }

  const queries: RunQuery[] = [
    { text: "000777" },
    { text: "der-0000" },
    { text: "y of 100" },
    { text: "illing", limit: 7 },
    { text: odd, limit: 7 },
    { text: '"b"', status: ["completed"], limit: 50 },
    { text: "order", workflow: "billing", status: ["running"], limit: 5, before: "order-000500" },
    { text: "order", limit: 1_050 },
    { text: "nowhere" },
    { text: "7", limit: 9 },
    { text: "" },
  ]

  test("are found by parts of their names as they are without an index, before and after it has them", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store, 0, FEW_NAMES)
    const before = await Promise.all(queries.map((query) => found(store, query)))
    expect(before.map(({ length }) => length)).toEqual([1, 100, 1, 7, 7, 50, 5, 1_000, 0, 9, 1_000])
    while (count(path, driver, "run_names") < FEW_NAMES) await new Promise((resolve) => setImmediate(resolve))
    expect(await Promise.all(queries.map((query) => found(store, query)))).toEqual(before)

    // Newer ones are found too.
    await fill(store, FEW_NAMES, 100)
    expect(await found(store, { text: "order", limit: 120 })).toEqual(await found(store, { limit: 120 }))
    expect(await found(store, { text: "001050" })).toEqual(["order-001050"])
    expect(await found(store, { text: "000050" })).toEqual(["order-000050"])

    const third = () => count(path, driver, "run_names WHERE rowid = 3")
    expect(third()).toBe(1)
    await store.remove("order-000002")
    expect(third()).toBe(0)
    await store.close()
  })

  test("are in the index soon, also when searches follow each other at once", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store, 0, FEW_NAMES)
    for (let searches = 0; count(path, driver, "run_names") < FEW_NAMES; searches++) {
      expect(searches).toBeLessThan(FEW_NAMES)
      expect(await found(store, { text: "000777" })).toEqual(["order-000777"])
    }
    await store.close()
  })

  test("are in few parts of the index once it has them, as a search looks into each part", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store, 0, 6 * FEW_NAMES)
    await found(store, { text: "no such run" })
    const parts = () => count(path, driver, "(SELECT DISTINCT segid FROM run_names_idx)")
    const isIndexed = () => count(path, driver, "run_names") === 6 * FEW_NAMES
    await vi.waitUntil(() => isIndexed() && parts() <= 2, { timeout: 10_000 })
    expect(await found(store, { text: "000777" })).toEqual(["order-000777"])
    await store.close()
  })

  test("leave nothing of their names in the index when many are pruned at once", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store, 0, 4 * FEW_NAMES)
    await found(store, { text: "no such run" })
    while (count(path, driver, "run_names") < 4 * FEW_NAMES)
      await new Promise((resolve) => setImmediate(resolve))
    const pages = () => count(path, driver, "run_names_data")
    const before = pages()
    expect((await store.prune({ keep: 0 })).count).toBe(2 * FEW_NAMES)
    expect(count(path, driver, "run_names")).toBe(2 * FEW_NAMES)
    // Marked names are gone from the index itself too, and later ones go with the commit that deletes them.
    expect(pages()).toBeLessThan(0.75 * before)
    const delayed = () => count(path, driver, "run_names_config WHERE k = 'deletemerge' AND v = 0")
    expect(delayed()).toBe(0)
    // A process that died while it pruned delays them no longer than until somebody prunes again.
    alter(path, driver, (database) => {
      database.exec("INSERT INTO run_names (run_names, rank) VALUES ('deletemerge', 0)")
    })
    expect(delayed()).toBe(1)
    await fill(store, 4 * FEW_NAMES, 4)
    expect((await store.prune({ keep: 0 })).count).toBe(2)
    expect(delayed()).toBe(0)
    expect(await found(store, { text: "000777" })).toEqual(["order-000777"])
    expect(await found(store, { text: "000778" })).toEqual([])
    await store.close()
  })

  test("of a search for several labels are those that have them all, however frequent each is", async () => {
    const store = openStore(freshPath(), driver)
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => {
        const labels = { team: "a", customer: String(i), [odd]: i % 2 === 0 ? odd : "" }
        return store.append(lease(`r${i}`), 0, records(1, 1), created({ labels }))
      }),
    )
    expect(await found(store, { labels: { team: "a", customer: "7" } })).toEqual(["r7"])
    expect(await found(store, { labels: { customer: "7", team: "b" } })).toEqual([])
    expect(await found(store, { labels: { team: "a", [odd]: odd }, limit: 2, before: "r10" })).toEqual([
      "r8",
      "r6",
    ])
    expect(await found(store, { labels: { team: "a" }, text: "r19", limit: 3 })).toEqual([
      "r199",
      "r198",
      "r197",
    ])
    await store.close()
  })

  test("leave nothing of their labels behind when they are removed", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    for (const runId of ["a", "b"]) {
      const labels = { file: "x", run: runId }
      await store.append(lease(runId), 0, records(1, 1), {
        ...over(),
        created: { workflow: "w", graph: "g", labels },
      })
    }
    await store.remove("a")
    expect(count(path, driver, "run_labels")).toBe(2)
    expect(await found(store, { labels: { file: "x" } })).toEqual(["b"])
    await store.close()
  })

  test("of a file without these indexes are found once it has them", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("a"), 0, records(1, 1), created({ labels: { [odd]: odd, file: "x" } }))
    await store.append(lease("b"), 0, records(1, 1), created())
    await store.close()
    alter(path, driver, (database) => {
      for (const table of ["run_labels", "run_names", "name_index"]) database.exec(`DROP TABLE ${table}`)
      addSearchTables(database)
    })
    const again = openStore(path, driver)
    expect(await found(again, { labels: { [odd]: odd } })).toEqual(["a"])
    expect(await found(again, { labels: { file: "x" } })).toEqual(["a"])
    await again.close()
  })

  test("that damage hides from a search by labels are reported by a check", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("a"), 0, records(1, 1), created({ labels: { file: "x", more: "y" } }))
    await store.close()
    alter(path, driver, (database) => database.exec("DELETE FROM run_labels WHERE label LIKE '%file%'"))
    const damages = []
    for await (const damage of checkStoreFile(path)) damages.push(damage)
    expect(damages).toEqual([{ part: "run", runId: "a", message: 'Run "a" is not found by its labels.' }])
  })
})
