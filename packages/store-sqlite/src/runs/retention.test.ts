import { statSync } from "node:fs"
import { LARGE_VALUE as LIMIT } from "@superstep/engine/stores"
import { describe, expect, test } from "vitest"
import {
  alter,
  committingStore,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  over,
  records,
} from "../stores.test-support.ts"
import { RECORDS_AT_ONCE, RUNS_AT_ONCE } from "./retention.ts"

describe.each(drivers)("what is removed from a file by $name", ({ driver }) => {
  test("goes in transactions that are all short", async () => {
    const path = freshPath()
    const database = open(path, driver)
    const sizes = database.prepare(
      "SELECT (SELECT count(*) FROM journal) AS records, (SELECT count(*) FROM blobs) AS blobs, (SELECT count(*) FROM runs) AS runs",
    )
    const seen: { records: number; blobs: number; runs: number }[] = []
    const store = committingStore(database, () => seen.push(...(sizes.all() as typeof seen)))
    await store.append(lease("long"), 0, records(1, 4 * RECORDS_AT_ONCE), over())
    const large = Array.from({ length: 35 }, (_, i) =>
      records(1 + i, 1, { text: `${i}`.repeat(LIMIT) }),
    ).flat()
    await store.append(lease("large"), 0, large, over())
    const short = Array.from({ length: 2 * RUNS_AT_ONCE }, (_, i) => `short ${i}`)
    await Promise.all(short.map((runId) => store.append(lease(runId), 0, records(1, 3), over())))
    await store.append(lease("kept"), 0, records(1, 3), created())

    seen.splice(0, seen.length - 1)
    expect(await store.prune({ keep: 0 })).toMatchObject({ count: 2 * RUNS_AT_ONCE + 2 })
    for (let i = 1; i < seen.length; i++) {
      const [before, after] = [seen[i - 1], seen[i]] as [(typeof seen)[0], (typeof seen)[0]]
      expect(before.records - after.records).toBeLessThanOrEqual(RECORDS_AT_ONCE)
      expect(before.blobs - after.blobs).toBeLessThanOrEqual(10)
      expect(before.runs - after.runs).toBeLessThanOrEqual(RUNS_AT_ONCE)
    }
    expect(seen.at(-1)).toEqual({ records: 3, blobs: 0, runs: 1 })
    expect(await store.read("kept", 0)).toEqual(records(1, 3))
    await store.close()
  })

  test("takes a graph along, and another process that stored it before stores it again", async () => {
    const path = freshPath()
    const [store, other] = [openStore(path, driver), openStore(path, driver)]
    const graphs = [{ hash: "g", graph: { nodes: [] } }]
    await store.append(lease("first"), 0, records(1, 1), { ...created({ graph: "g" }), graphs })
    await store.append(lease("first"), 1, records(2, 1), { status: "completed" })
    await other.remove("first")
    expect(await other.graph("g")).toBeUndefined()
    await store.append(lease("second"), 0, records(1, 1), { ...created({ graph: "g" }), graphs })
    await store.append(lease("third"), 0, records(1, 1), { ...created({ graph: "g" }), graphs })
    expect(await other.graph("g")).toEqual({ nodes: [] })
    await Promise.all([store.close(), other.close()])
  })

  test("is gone at once, and whole, when the process dies on the way; the next removal does the rest", async () => {
    const path = freshPath()
    const database = open(path, driver)
    let begun = () => {}
    const store = committingStore(database, () => begun())
    const large = { text: "x".repeat(LIMIT) }
    await store.append(lease("r"), 0, [...records(1, 999), ...records(1_000, 1, large)], {
      ...over("t"),
      thread: [{ key: "k", kind: "set", value: 1 }],
    })
    await store.saveSnapshot(lease("r"), { seq: 1_000, data: 1 })
    const first = new Promise<void>((resolve) => {
      begun = resolve
    })
    const removal = store.remove("r")
    await first
    await store.close()
    await expect(removal).rejects.toMatchObject({ code: "STORE_CLOSED" })

    const again = openStore(path, driver)
    expect(await again.run("r")).toBeUndefined()
    expect(await again.read("r", 0)).toEqual([])
    expect(await again.snapshot("r")).toBeUndefined()
    expect((await again.report()).blobs.count).toBe(1)
    // The same id is free, and its new journal has nothing of the old one.
    await again.append(lease("r"), 0, records(1, 2, "new"), over())
    expect(await again.read("r", 0)).toEqual(records(1, 2, "new"))
    await again.append(lease("other"), 0, records(1, 1), over())
    await again.remove("other")
    expect(await again.report()).toMatchObject({ journal: { count: 2 }, blobs: { count: 0 } })
    expect(await again.thread("t")).toEqual({ version: 1, state: { k: 1 } })
    await again.close()
    alter(path, driver, (after) => {
      expect(after.prepare("SELECT count(*) AS n FROM journal").all()).toMatchObject([{ n: 2 }])
      expect(after.prepare("SELECT * FROM removed_runs").all()).toEqual([])
    })
  })

  test("gives its space back", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const { disk: empty = { bytes: 0 } } = await store.report()
    await store.append(lease("kept"), 0, records(1, 1), created())
    for (let i = 0; i < 20; i++) {
      await store.append(lease(`r${i}`), 0, records(1, 100, "x".repeat(1_000)), over())
    }
    const full = (await store.report()).disk
    expect(full?.bytes).toBeGreaterThan(2_000_000)
    expect(await store.prune({ keep: 2 })).toMatchObject({ count: 18 })
    const { disk = { bytes: 0, free: 0 }, journal } = await store.report()
    expect(journal).toMatchObject({ count: 201 })
    expect(disk.free).toBe(0)
    expect(disk.bytes - empty.bytes).toBeLessThan(350_000)
    expect(statSync(path).size).toBe(disk.bytes)
    await store.close()
  })

  test("lets others write meanwhile", async () => {
    const path = freshPath()
    const [store, other] = [openStore(path, driver), openStore(path, driver)]
    await store.append(lease("long"), 0, records(1, 12 * RECORDS_AT_ONCE), over())
    await other.append(lease("r"), 0, records(1, 1), created())
    let done = false
    const removal = store.remove("long").finally(() => {
      done = true
    })
    let seq = 1
    for (; !done; seq++) await other.append(lease("r"), seq, records(seq + 1, 1))
    expect(await removal).toBe(true)
    expect(seq).toBeGreaterThan(10)
    expect(await store.read("r", 0)).toEqual(records(1, seq))
    await store.close()
    await other.close()
  })

  test("is looked at again before it goes: what was pinned or forked meanwhile stays", async () => {
    const path = freshPath()
    const database = open(path, driver)
    let meanwhile = () => {}
    const store = committingStore(database, () => meanwhile())
    const other = openStore(path, driver)
    for (let i = 0; i < RUNS_AT_ONCE + 10; i++) await store.append(lease(`r${i}`), 0, records(1, 1), over())
    let changes: Promise<unknown> | undefined
    meanwhile = () => {
      changes ??= Promise.all([
        other.pin("r3", true),
        other.append(lease("fork"), 1, records(2, 1), created({ forkOf: { runId: "r4", seq: 1 } })),
      ])
    }
    expect(await store.prune({ keep: 0 })).toMatchObject({ count: RUNS_AT_ONCE + 8 })
    await changes
    expect((await store.runs({})).map(({ runId }) => runId)).toEqual(["fork", "r4", "r3"])
    expect(await store.read("fork", 0)).toEqual(records(1, 2))
    await store.close()
    await other.close()
  })
})
