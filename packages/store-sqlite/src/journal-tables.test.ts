import { storeSuite } from "@superstep/engine/testing"
import { describe, expect, test } from "vitest"
import type { Database } from "./driver.ts"
import { journalTables, type SqliteStore } from "./journal-tables.ts"
import { alter, drivers, freshPath, open, openStore, records } from "./stores.test-support.ts"

describe.each(drivers)("the SQLite store on $name", ({ driver }) => {
  const dispose = (store: SqliteStore) => store.close()
  for (const { name, run } of storeSuite(() => openStore(freshPath(), driver), { dispose })) test(name, run)

  /** A store that counts its commits. */
  function countedStore(): { store: SqliteStore; commits: () => number } {
    const database = open(freshPath(), driver)
    let commits = 0
    const counting: Database = {
      exec(sql) {
        database.exec(sql)
        if (sql === "COMMIT") commits += 1
      },
      prepare: (sql) => database.prepare(sql),
      close: () => database.close(),
    }
    return { store: journalTables(counting), commits: () => commits }
  }

  test("writes what a turn of the event loop appends in one transaction, over all runs", async () => {
    const { store, commits } = countedStore()
    await Promise.all(Array.from({ length: 50 }, (_, i) => store.append(`r${i}`, 0, records(1, 2))))
    expect(commits()).toBe(1)
    for (let i = 0; i < 50; i++) expect(await store.read(`r${i}`, 0)).toEqual(records(1, 2))
    await store.close()
  })

  test("acknowledges nothing before the commit that holds it (S1)", async () => {
    const { store, commits } = countedStore()
    const seen: number[] = []
    const first = store.append("a", 0, records(1, 1)).then(() => seen.push(commits()))
    const second = store.append("b", 0, records(1, 1)).then(() => seen.push(commits()))
    await Promise.resolve()
    expect(seen).toEqual([])
    await Promise.all([first, second])
    expect(seen).toEqual([1, 1])
    await store.close()
  })

  test("makes 1,000 runs of 10 steps durable with a commit for each round, not for each step", async () => {
    const { store, commits } = countedStore()
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, i) => {
        for (let seq = 0; seq < 10; seq++) await store.append(`r${i}`, seq, records(seq + 1, 1))
      }),
    )
    expect(commits()).toBe(10)
    expect(await store.read("r999", 0)).toEqual(records(1, 10))
    await store.close()
  })

  test("takes appends to one run in one turn that follow each other", async () => {
    const store = openStore(freshPath(), driver)
    await Promise.all([0, 1, 2].map((seq) => store.append("r", seq, records(seq + 1, 1))))
    expect(await store.read("r", 0)).toEqual(records(1, 3))
    await store.close()
  })

  test("says of a conflict where the journal ends, and what to do", async () => {
    const store = openStore(freshPath(), driver)
    await store.append("r", 0, records(1, 2))
    await expect(store.append("r", 0, records(1, 1))).rejects.toThrow(
      'The journal of run "r" ends at 2, not at 0: a run with this id exists; choose another id, or resume it.',
    )
    await expect(store.append("r", 1, records(2, 1))).rejects.toThrow("another process writes to it")
    await store.close()
  })

  test("of two connections to one file lets one append after a record, and both see it (S2)", async () => {
    const path = freshPath()
    const stores = [openStore(path, driver), openStore(path, driver)] as const
    for (let seq = 0; seq < 20; seq++) {
      const outcomes = await Promise.allSettled(
        stores.map((store, i) => store.append("r", seq, records(seq + 1, 1, `of ${i}`))),
      )
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
      const lost = outcomes.find((outcome) => outcome.status === "rejected")
      expect(lost?.reason).toMatchObject({ code: "JOURNAL_CONFLICT" })
      const winner = outcomes.findIndex(({ status }) => status === "fulfilled")
      for (const store of stores) {
        expect(await store.read("r", seq)).toEqual(records(seq + 1, 1, `of ${winner}`))
      }
    }
    for (const store of stores) await store.close()
  })

  test("fails a whole turn when the disk is full, changes nothing, and goes on when there is room (S3)", async () => {
    const database = open(freshPath(), driver)
    const store = journalTables(database)
    await store.append("a", 0, records(1, 1))
    database.exec("PRAGMA max_page_count = 20")
    const outcomes = await Promise.allSettled([
      store.append("a", 1, records(2, 1)),
      store.append("b", 0, records(1, 1, "x".repeat(1_000_000))),
      store.append("a", 1, records(2, 1)),
    ])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ reason: { code: "STORE_WRITE_FAILED", cause: expect.any(Error) } })
    }
    expect(await store.read("a", 0)).toEqual(records(1, 1))
    expect(await store.read("b", 0)).toEqual([])
    database.exec("PRAGMA max_page_count = 100000")
    await store.append("b", 0, records(1, 1, "x".repeat(1_000_000)))
    await store.append("a", 1, records(2, 1))
    expect(await store.read("a", 0)).toEqual(records(1, 2))
    await store.close()
  })

  test("fails a turn when another process keeps the file locked, and works again when it lets go", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const other = openStore(path, driver)
    await store.append("r", 0, records(1, 1))
    const holder = driver(path)
    holder.exec("BEGIN IMMEDIATE")
    await expect(store.append("r", 1, records(2, 1))).rejects.toMatchObject({
      code: "STORE_WRITE_FAILED",
      message: expect.stringContaining("locked"),
    })
    holder.exec("ROLLBACK")
    holder.close()
    await other.append("r", 1, records(2, 1))
    // What the refused turn saw is not held on to.
    expect(await store.read("r", 0)).toEqual(records(1, 2))
    await store.append("r", 2, records(3, 1))
    expect(await other.read("r", 0)).toEqual(records(1, 3))
    await store.close()
    await other.close()
  })

  test("refuses records that do not follow on, and what JSON cannot hold, alone", async () => {
    const store = openStore(freshPath(), driver)
    const good = store.append("good", 0, records(1, 1))
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    const bad = { ...records(1, 1)[0], entry: { type: "step.recorded", value: cyclic } } as never
    await expect(store.append("r", 0, [bad])).rejects.toMatchObject({ code: "STORE_WRITE_FAILED" })
    await expect(store.append("r", 0, records(2, 1))).rejects.toThrow("1 is next")
    await good
    expect(await store.read("r", 0)).toEqual([])
    await store.close()
  })

  test("keeps of a run its workflow, its end, and when it began and went on", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const started = {
      type: "run.started",
      at: 500,
      runId: "r",
      workflow: "w",
      signature: "s",
      input: 1,
    } as const
    await store.append("r", 0, [{ seq: 1, frame: "", entry: started, events: 1 }, ...records(2, 2)])
    await store.append("empty", 0, [])
    await store.close()
    alter(path, driver, (database) => {
      expect(database.prepare("SELECT * FROM runs").all()).toMatchObject([
        { run_id: "r", head: 3, workflow: "w", created_at: 500, updated_at: 1_003 },
      ])
    })
  })

  test.each([
    ["a body that is not JSON", "UPDATE journal SET body = '{\"type\":' WHERE seq = 3", 3],
    ["a body that is no entry", "UPDATE journal SET body = 'null' WHERE seq = 2", 2],
    ["a gap", "DELETE FROM journal WHERE seq = 3", 3],
    ["a missing start", "DELETE FROM journal WHERE seq = 1", 1],
    ["a missing end", "DELETE FROM journal WHERE seq >= 4", 4],
    ["nothing left", "DELETE FROM journal", 1],
    ["more than its end says", "UPDATE runs SET head = 3", 4],
  ])("tells of %s where it is, and loses nothing silently (S4)", async (_, damage, seq) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append("r", 0, records(1, 5))
    alter(path, driver, (database) => database.exec(damage))
    await expect(store.read("r", 0)).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining(`run "r" is damaged at ${seq}`),
    })
    await store.close()
  })

  test("when it is closed has written what waited, and takes and gives nothing more", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const last = store.append("r", 0, records(1, 1))
    await store.close()
    await store.close()
    await last
    await expect(store.append("r", 1, records(2, 1))).rejects.toMatchObject({ code: "STORE_CLOSED" })
    await expect(store.read("r", 0)).rejects.toMatchObject({ code: "STORE_CLOSED" })
    const again = openStore(path, driver)
    expect(await again.read("r", 0)).toEqual(records(1, 1))
    await again.close()
  })
})

test.skipIf(drivers.length < 2)(
  "either driver reads what the other wrote (needs node:sqlite too: Node 22 or later)",
  async () => {
    const path = freshPath()
    for (const [seq, { driver }] of [...drivers, ...drivers].entries()) {
      const store = openStore(path, driver)
      expect(await store.read("r", 0)).toEqual(records(1, seq))
      await store.append("r", seq, records(seq + 1, 1))
      await store.close()
    }
  },
)
