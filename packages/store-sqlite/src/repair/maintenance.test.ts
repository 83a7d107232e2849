/** Checking a whole store, and recovering what is readable of a damaged one. */
import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { Driver } from "../file/driver.ts"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  over,
  records,
  storeOver,
} from "../stores.test-support.ts"
import { checkStore, type Damage } from "./check-store.ts"
import { allOf, fill, listsOf } from "./flipped-values.test-support.ts"
import { type SalvagedRun, salvageStore } from "./salvage.ts"

async function filled(driver: Driver): Promise<string> {
  const path = freshPath()
  const store = openStore(path, driver)
  await fill(store)
  await store.close()
  return path
}

async function damages(path: string, driver: Driver) {
  const database = open(path, driver)
  const store = storeOver(database)
  const shares: number[] = []
  const found: Damage[] = []
  const checking = checkStore(database, store, ({ share }) => shares.push(share))
  for (;;) {
    const { done, value } = await checking.next()
    if (done) {
      await store.close()
      return { found, counts: value, shares }
    }
    found.push(value)
  }
}

async function salvaged(path: string, driver: Driver) {
  const runs: SalvagedRun[] = []
  const to = freshPath()
  const result = await salvageStore({ from: path, to, driver, onRun: (run) => runs.push(run) })
  const store = openStore(to, driver)
  return { result, runs, to, store }
}

describe.each(drivers)("a store by $name", ({ driver }) => {
  test("that is sound has no damage, and is counted", async () => {
    const { found, counts, shares } = await damages(await filled(driver), driver)
    expect(found).toEqual([])
    expect(counts).toEqual({ runs: 3, records: 8 })
    expect(shares).toEqual([...shares].sort((a, b) => a - b))
  })

  test("lists every damage, with runs and records", async () => {
    const path = await filled(driver)
    alter(path, driver, (database) => {
      database.exec(`
        UPDATE journal SET events = 99 WHERE run = 1 AND seq IN (2, 4);
        DELETE FROM journal WHERE run = 2 AND seq = 4;
        UPDATE runs SET workflow = 'x' WHERE run_id = 'over';
        UPDATE blobs SET body = replace(body, 'large', 'small');
        UPDATE thread_writes SET value = '4' WHERE version = 2`)
    })
    const { found } = await damages(path, driver)
    const at = found.map(({ part, runId, seq }) => [part, runId, seq])
    expect(at).toEqual(
      expect.arrayContaining([
        ["journal", "first", 2],
        ["journal", "first", 4],
        ["journal", "first", 5],
        ["journal", "fork", 4],
        ["run", undefined, undefined],
        ["large values", undefined, undefined],
        ["thread", undefined, undefined],
      ]),
    )
    expect(found.every(({ message }) => !message.includes("Restore"))).toBe(true)
  })

  test("tells an index that does not lead to its rows", async () => {
    const path = await filled(driver)
    alter(path, driver, (database) => {
      // As a lost page of the index would: the row is there, and is not found by its name.
      database.exec("PRAGMA writable_schema = ON")
      database.exec(
        "UPDATE sqlite_master SET sql = replace(sql, 'run_id, id', 'graph, id') WHERE name = 'runs_run_id'",
      )
    })
    const { found } = await damages(path, driver)
    expect(found.map(({ part }) => part)).toContain("file")
  })

  test("that is sound is recovered as it is, and the file that it came from stays untouched", async () => {
    const path = await filled(driver)
    const [file, sound] = [readFileSync(path), openStore(path, driver)]
    const before = { ...(await allOf(sound)), ...(await listsOf(sound)) }
    await sound.close()
    const { result, runs, to, store } = await salvaged(path, driver)
    expect(result).toEqual({ whole: 3, cut: 0, lost: 0, problems: [] })
    expect(runs.map(({ runId, outcome, seq, of }) => [runId, outcome, seq, of])).toEqual([
      ["first", "whole", 5, 5],
      ["fork", "whole", 4, 4],
      ["over", "whole", 1, 1],
    ])
    expect({ ...(await allOf(store)), ...(await listsOf(store)) }).toEqual(before)
    expect(await store.report()).toMatchObject({ blobs: { count: 1 } })
    await store.append(lease("new"), 0, records(1, 1), created())
    await store.close()
    expect(readFileSync(path)).toEqual(file)
    expect((await damages(to, driver)).found).toEqual([])
  })

  test("with a damaged record is recovered with that run cut before it, and forks of what is cut off lost", async () => {
    const path = await filled(driver)
    alter(path, driver, (database) => {
      database.exec(`
        UPDATE journal SET events = 99 WHERE run = 1 AND seq = 2;
        UPDATE thread_writes SET value = '4' WHERE version = 2;
        UPDATE agents SET name = 'x' WHERE id = 'b'`)
    })
    const { result, runs, to, store } = await salvaged(path, driver)
    expect(result).toMatchObject({ whole: 1, cut: 1, lost: 1 })
    expect(result.problems).toEqual([
      'Thread "thread" is cut after write 1 of 2.',
      expect.stringContaining("A row of agents is damaged"),
    ])
    expect(runs).toMatchObject([
      { runId: "fork", outcome: "lost", reason: expect.stringContaining("forked from") },
      { runId: "over", outcome: "whole" },
      { runId: "first", outcome: "cut", seq: 1, of: 5, reason: expect.stringContaining("damaged at 2") },
    ])
    expect(await store.read("first", 0)).toEqual(records(1, 1, "some value"))
    expect(await store.run("fork")).toBeUndefined()
    const cut = await store.run("first")
    expect(cut).toMatchObject({ status: "quarantined", seq: 1 })
    expect(cut?.holder).toBeUndefined()
    expect(cut?.bytes).toBe(Buffer.byteLength(JSON.stringify(records(1, 1, "some value")[0]?.entry)))
    // It waits for a person to release it.
    expect(await store.free({ workflows: ["w"], now: Date.now(), limit: 9, suspects: false })).toEqual([])
    // Both questions were opened, and none was answered, when the first record was written. An answer to the second is mail.
    const asked = await store.requests({ runId: "first", outcome: ["open", "delivering"] })
    expect(asked.map(({ id, outcome }) => [id, outcome])).toEqual([
      ["q1", "open"],
      ["q2", "delivering"],
    ])
    expect(await store.snapshot("first")).toBeUndefined()
    expect(await store.thread("thread")).toEqual({ version: 1, state: { messages: ["hello"] } })
    expect((await store.registry.agents()).map(({ id }) => id)).toEqual(["a"])
    await store.close()
    expect((await damages(to, driver)).found).toEqual([])
  })

  test("whose cut run had a thread that another run has now loses the cut run, not the other", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("old"), 0, records(1, 2), over("t"))
    await store.append(lease("now"), 0, records(1, 1), created({ thread: "t" }))
    await store.close()
    alter(path, driver, (database) =>
      database.exec("UPDATE journal SET events = 9 WHERE run = 1 AND seq = 2"),
    )
    const { runs, store: recovered } = await salvaged(path, driver)
    expect(runs.map(({ runId, outcome }) => [runId, outcome])).toEqual([
      ["now", "whole"],
      ["old", "lost"],
    ])
    expect(await recovered.run("now")).toMatchObject({ status: "running", thread: "t" })
    await recovered.close()
  })

  test("is recovered into a new file only, from an existing one", async () => {
    const path = await filled(driver)
    await expect(salvageStore({ from: path, to: path, driver })).rejects.toThrow(/already exists/)
    const missing = freshPath()
    await expect(salvageStore({ from: missing, to: freshPath(), driver })).rejects.toThrow(/does not exist/)
  })
})
