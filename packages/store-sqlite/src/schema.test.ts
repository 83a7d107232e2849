import { describe, expect, test } from "vitest"
import { alter, created, drivers, freshPath, lease, open, openStore, records } from "./stores.test-support.ts"

/** As version 1 of the package made files. */
const VERSION_1 = `
  CREATE TABLE meta (version INTEGER NOT NULL);
  INSERT INTO meta (version) VALUES (1);
  CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    run_id TEXT NOT NULL UNIQUE,
    head INTEGER NOT NULL,
    workflow TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  );
  CREATE TABLE journal (
    run INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    frame TEXT NOT NULL,
    events INTEGER NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  );`

describe.each(drivers)("a file of version 1, opened by $name", ({ driver }) => {
  /** Two runs: one of them with a large record, one without a workflow. */
  function oldFile(): { path: string; bytes: number } {
    const path = freshPath()
    const all = [...records(1, 2), ...records(3, 1, "x".repeat(100_000))]
    alter(path, driver, (database) => {
      database.exec("PRAGMA journal_mode = WAL")
      database.exec(VERSION_1)
      const addRun = database.prepare("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)")
      addRun.run(3, "a\\u0000", 3, "flow", 500, 1_003)
      addRun.run(7, "b", 1, null, 600, 1_001)
      const add = database.prepare("INSERT INTO journal VALUES (?, ?, ?, ?, ?)")
      for (const { seq, events, entry } of all) add.run(3, seq, "", events, JSON.stringify(entry))
      add.run(7, 1, "2", 1, JSON.stringify(all[0]?.entry))
    })
    return { path, bytes: all.reduce((sum, { entry }) => sum + JSON.stringify(entry).length, 0) }
  }

  test("has its journals, and its runs are free to be taken up", async () => {
    const { path, bytes } = oldFile()
    const store = openStore(path, driver)
    expect(await store.read("a\u0000", 0)).toEqual([...records(1, 2), ...records(3, 1, "x".repeat(100_000))])
    expect(await store.read("b", 0)).toEqual(records(1, 1).map((record) => ({ ...record, frame: "2" })))
    const known = { graph: "", status: "running", token: 0, takeovers: 0, pinned: false }
    const a = {
      ...known,
      runId: "a\u0000",
      workflow: "flow",
      createdAt: 500,
      updatedAt: 1_003,
      seq: 3,
      bytes,
    }
    expect(await store.run("a\u0000")).toEqual(a)
    expect(await store.run("b")).toMatchObject({ ...known, workflow: "", seq: 1 })
    expect(await store.free({ workflows: ["flow"], dead: [], now: 0, limit: 9 })).toEqual([a])

    expect(await store.claim("a\u0000", 0, "h")).toEqual(lease("a\u0000", 1))
    await store.append(lease("a\u0000"), 3, records(4, 1), { status: "completed" })
    expect(await store.read("a\u0000", 3)).toEqual(records(4, 1))
    await store.close()
  })

  test("takes new runs, whose rows do not mix with the old ones", async () => {
    const { path } = oldFile()
    const store = openStore(path, driver)
    await store.append(lease("new"), 0, records(1, 2, "x".repeat(100_000)), created())
    expect(await store.read("new", 0)).toEqual(records(1, 2, "x".repeat(100_000)))
    expect((await store.runs({})).map(({ runId }) => runId)).toEqual(["new", "b", "a\u0000"])
    await store.close()
  })

  test("uses again what is removed, and keeps its size: only new files give it back", async () => {
    const { path } = oldFile()
    const store = openStore(path, driver)
    await store.claim("a\u0000", 0, "h")
    await store.append(lease("a\u0000"), 3, [], { status: "completed" })
    const before = (await store.report()).disk
    await store.remove("a\u0000")
    const { disk } = await store.report()
    expect(disk?.bytes).toBe(before?.bytes)
    expect(disk?.free).toBeGreaterThan(90_000)
    await store.close()
  })

  test("has the same tables as a new one", () => {
    const [{ path: old }, fresh] = [oldFile(), freshPath()]
    const [a, b] = [old, fresh].map((path) => {
      const database = open(path, driver)
      const schema = database.prepare("SELECT type, name, sql FROM sqlite_master ORDER BY name").all()
      database.close()
      return schema
    })
    expect(a).toEqual(b)
  })
})

describe.each(drivers)("a file by $name", ({ driver }) => {
  test("lets no second run in flight into a thread, and no second run have a key, whoever writes it", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await store.append(lease("a"), 0, records(1, 1), created({ thread: "t", key: "k" }))
    await store.append(lease("b"), 0, records(1, 1), created())
    alter(path, driver, (database) => {
      expect(() => database.exec("UPDATE runs SET thread = 't' WHERE run_id = 'b'")).toThrow(/UNIQUE/)
      expect(() => database.exec("UPDATE runs SET key = 'k' WHERE run_id = 'b'")).toThrow(/UNIQUE/)
      database.exec("UPDATE runs SET status = 'completed' WHERE run_id = 'a'")
      database.exec("UPDATE runs SET thread = 't' WHERE run_id = 'b'")
    })
    await store.close()
  })
})
