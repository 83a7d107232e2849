import { describe, expect, test } from "vitest"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  records,
} from "../stores.test-support.ts"
import type { Driver } from "./driver.ts"
import { VERSION_1, VERSION_2 } from "./old-schemas.test-support.ts"

/** The tables, indexes and triggers of a file, and what a new file has in them. */
function schemaOf(path: string, driver: Driver): unknown {
  const database = open(path, driver)
  const all = (sql: string) => database.prepare(sql).all()
  const made = all("SELECT type, name, sql FROM sqlite_master ORDER BY name") as { sql: string | null }[]
  const schema = made.map((one) => ({ ...one, sql: spelled(one.sql) }))
  const rows = ["meta", "event_end", "name_index"].map((table) => all(`SELECT * FROM ${table}`))
  database.close()
  return { schema, rows }
}

/** A statement that adds a column to a table leaves its own spelling. */
function spelled(sql: string | null): string | undefined {
  return sql
    ?.replace(/\s+/g, " ")
    .replace(/ ?([(),]) ?/g, "$1")
    .replace('TABLE "runs"', "TABLE runs")
}

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

  test("has its journals, and its runs can be claimed", async () => {
    const { path, bytes } = oldFile()
    const store = openStore(path, driver)
    expect(await store.read("a\u0000", 0)).toEqual([...records(1, 2), ...records(3, 1, "x".repeat(100_000))])
    expect(await store.read("b", 0)).toEqual(records(1, 1).map((record) => ({ ...record, frame: "2" })))
    const known = {
      graph: "",
      status: "running",
      token: 0,
      executing: true,
      takeovers: 0,
      blamed: false,
      trials: 0,
      pinned: false,
    }
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
    expect(await store.free({ workflows: ["flow"], now: 0, limit: 9, suspects: false })).toEqual([a])

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
    expect(schemaOf(freshPath(), driver)).toEqual(schemaOf(oldFile().path, driver))
  })
})

describe.each(drivers)("a file of version 2, opened by $name", ({ driver }) => {
  /** A run that waits in a thread, with a question, and a fork of it that is over. */
  function oldFile(): string {
    const path = freshPath()
    alter(path, driver, (database) => {
      database.exec("PRAGMA auto_vacuum = INCREMENTAL")
      database.exec("PRAGMA journal_mode = WAL")
      database.exec(VERSION_1)
      database.exec(VERSION_2)
      const addRun = database.prepare(
        `INSERT INTO runs (id, run_id, head, bytes, workflow, graph, status, key, thread, fork_run, fork_seq, token,
           holder, created_at, updated_at, rested_at)
         VALUES (?, ?, 2, 10, 'flow', 'g', ?, ?, ?, ?, ?, 3, ?, 500, 1002, 1002)`,
      )
      addRun.run(1, "a", "waiting", "k", "t", null, 0, "h")
      addRun.run(2, "f", "completed", null, null, 1, 2, null)
      const add = database.prepare(
        "INSERT INTO journal (run, seq, frame, events, body) VALUES (1, ?, '', ?, ?)",
      )
      for (const { seq, events, entry } of records(1, 2)) add.run(seq, events, JSON.stringify(entry))
      const request = { id: "q", node: "n", task: 1, prompt: "?", openedAt: 1 }
      database
        .prepare(
          "INSERT INTO requests (run, request_id, workflow, outcome, body) VALUES (1, 'q', 'flow', 'open', ?)",
        )
        .run(JSON.stringify(request))
    })
    return path
  }

  test("has its runs as they were, without labels", async () => {
    const store = openStore(oldFile(), driver)
    const a = await store.run("a")
    expect(a).toEqual({
      runId: "a",
      workflow: "flow",
      graph: "g",
      key: "k",
      thread: "t",
      status: "waiting",
      createdAt: 500,
      updatedAt: 1_002,
      seq: 2,
      bytes: 10,
      token: 3,
      holder: "h",
      executing: true,
      takeovers: 0,
      blamed: false,
      trials: 0,
      pinned: false,
    })
    expect(await store.run("f")).toMatchObject({ forkOf: { runId: "a", seq: 2 }, status: "completed" })
    expect(await store.read("a", 0)).toEqual(records(1, 2))
    expect(await store.read("f", 0)).toEqual(records(1, 2))
    expect(await store.requests({})).toMatchObject([{ runId: "a", id: "q" }])
    await store.append(lease("a", 3), 2, records(3, 1), { status: "running" })
    expect(await store.runs({ labels: { file: "x" } })).toEqual([])
    await store.close()
  })

  test("takes runs with labels, and definitions", async () => {
    const path = oldFile()
    const store = openStore(path, driver)
    await store.append(lease("new"), 0, records(1, 1), created({ labels: { file: "x" } }))
    expect((await store.runs({ labels: { file: "x" } })).map(({ runId }) => runId)).toEqual(["new"])
    const row = { description: null, prompt: null, model: null, tools: null, config: null }
    await store.registry.write({ agents: [{ id: "a", name: "a", ...row }] })
    await store.close()
    const again = openStore(path, driver)
    expect(await again.registry.agents()).toHaveLength(1)
    await again.close()
  })

  test("has the same tables as a new one", () => {
    expect(schemaOf(freshPath(), driver)).toEqual(schemaOf(oldFile(), driver))
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
