import { statSync } from "node:fs"
import { describe, expect, test } from "vitest"
import type { SqliteStore } from "../sqlite-store.ts"
import {
  committingStore,
  created,
  drivers,
  fillDisk,
  freshPath,
  lease,
  open,
  openStore,
  records,
  storeOver,
  watched,
} from "../stores.test-support.ts"
import { LOG_PART, MAX_BYTES, MAX_WRITES, SETTLED_PER_TURN, WRITES_PER_LOOK } from "./transactions.ts"

describe.each(drivers)("writes to a file by $name", ({ driver }) => {
  /** A store that counts its commits. */
  function countedStore(maxChanging?: number): { store: SqliteStore; commits: () => number } {
    let commits = 0
    const count = () => {
      commits += 1
    }
    const store = committingStore(open(freshPath(), driver), count, maxChanging)
    return { store, commits: () => commits }
  }

  test("of one turn of the event loop are one transaction, over all runs", async () => {
    const { store, commits } = countedStore()
    await Promise.all(
      Array.from({ length: 50 }, (_, i) => store.append(lease(`r${i}`), 0, records(1, 2), created())),
    )
    expect(commits()).toBe(1)
    for (let i = 0; i < 50; i++) expect(await store.read(`r${i}`, 0)).toEqual(records(1, 2))
    await store.close()
  })

  test("of a very large turn are several transactions, and none of them holds the lock for long", async () => {
    const { store, commits } = countedStore()
    const many = Array.from({ length: 2 * MAX_WRITES + 1 }, (_, i) => store.claim(`r${i}`, 1, "h"))
    await Promise.all(many)
    expect(commits()).toBe(3)
    const large = "x".repeat(MAX_BYTES / 2)
    await Promise.all([
      store.append(lease("a"), 0, records(1, 1, large), created()),
      store.append(lease("a"), 1, records(2, 1, large)),
      store.append(lease("a"), 2, records(3, 1), { status: "completed" }),
    ])
    expect(commits()).toBe(5)
    expect(await store.run("a")).toMatchObject({ seq: 3, status: "completed" })
    await store.close()
  })

  test("that take long are made in several turns, in their order (S5)", async () => {
    const { store, commits } = countedStore(0)
    const appends = Array.from({ length: 2 * WRITES_PER_LOOK + 1 }, (_, seq) =>
      store.append(lease("r"), seq, records(seq + 1, 1), seq === 0 ? created() : undefined),
    )
    let turns = 0
    const turn = () => {
      turns += 1
      if (turns < 10) setImmediate(turn)
    }
    setImmediate(turn)
    const turnsOf = await Promise.all(appends.map((append) => append.then(() => turns)))
    expect(commits()).toBe(3)
    // Others had their turns between them.
    expect(new Set(turnsOf).size).toBe(3)
    expect(await store.read("r", 0)).toEqual(records(1, appends.length))
    await store.close()
  })

  test("of one transaction are settled a few per turn, in their order: others have their turns between them", async () => {
    const { store, commits } = countedStore()
    const settled: number[] = []
    const perTurn: number[] = []
    const appends = Array.from({ length: 2 * SETTLED_PER_TURN + 1 }, (_, i) =>
      store.append(lease(`r${i}`), 0, records(1, 1), created()).then(() => settled.push(i)),
    )
    while (settled.length < appends.length) {
      const before = settled.length
      await new Promise((resolve) => setImmediate(resolve))
      perTurn.push(settled.length - before)
    }
    expect(commits()).toBe(1)
    expect(Math.max(...perTurn)).toBe(SETTLED_PER_TURN)
    expect(settled).toEqual(appends.map((_, i) => i))
    await store.close()
  })

  test("of one transaction are all settled when the store is closed", async () => {
    const { store } = countedStore()
    const appends = Array.from({ length: 2 * SETTLED_PER_TURN + 1 }, (_, i) =>
      store.append(lease(`r${i}`), 0, records(1, 1), created()),
    )
    await appends[0]
    await store.close()
    await Promise.all(appends)
  })

  test("that are alone again and again still let the event loop turn", async () => {
    const { store } = countedStore()
    await store.append(lease("r"), 0, records(1, 1), created())
    let hasTurned = false
    setImmediate(() =>
      setImmediate(() => {
        hasTurned = true
      }),
    )
    let seq = 1
    for (; !hasTurned; seq++) await store.append(lease("r"), seq, records(seq + 1, 1))
    expect(await store.read("r", 0)).toEqual(records(1, seq))
    await store.close()
  })

  test("reach the file from a thread while the log grows, before the event loop has to move them", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const thread = store.keepAlive({
      holder: { id: "h", machine: "m", pid: process.pid, born: "" },
      every: 60_000,
      hungAfter: 600_000,
      loopState: new SharedArrayBuffer(1_024),
      onBlocked: () => undefined,
    })
    const before = statSync(path).size
    const body = "x".repeat(40_000)
    const count = Math.ceil((LOG_PART * 4_096) / body.length)
    await store.append(lease("r"), 0, records(1, 1), created())
    for (let seq = 1; seq <= count; seq++) await store.append(lease("r"), seq, records(seq + 1, 1, body))
    await expect.poll(() => statSync(path).size).toBeGreaterThan(before)
    expect(await store.read("r", 0, 2)).toEqual([...records(1, 1), ...records(2, 1, body)])
    thread.stop()
    await store.close()
  })

  test("are one transaction whatever they write", async () => {
    const { store, commits } = countedStore()
    await store.append(lease("a"), 0, records(1, 1), created({ thread: "t" }))
    await store.append(lease("b"), 0, records(1, 1), created())
    await store.post({ id: "old", runId: "a", at: 1, command: { type: "cancel" } })
    await store.refuseMail(lease("a"), "old", { code: "NO", message: "No." })
    const before = commits()
    const results = await Promise.all([
      store.append(lease("a"), 1, records(2, 1), { thread: [{ key: "k", kind: "set", value: 1 }] }),
      store.saveSnapshot(lease("a"), { seq: 2, data: "s" }),
      store.beat({ id: "h", machine: "m", pid: 1, born: "" }),
      store.claim("b", 1, "h2"),
      store.claim("b", 1, "h3"),
      store.release(lease("a"), 5),
      store.post({ id: "new", runId: "a", at: 1, command: { type: "cancel" } }),
      store.refuseMail(lease("a"), "new", { code: "NO", message: "No." }),
      store.mailOutcome("old"),
      store.pin("a", true),
      store.removeThread("nobody's"),
      store.dismiss("nobody", { reason: "died" }),
    ])
    expect(commits()).toBe(before + 1)
    expect(results.slice(3, 5)).toEqual([{ runId: "b", holder: "h2", token: 2 }, undefined])
    expect(results[8]).toEqual({ ok: false, code: "NO", message: "No." })
    expect(await store.run("a")).toMatchObject({ seq: 2, wakeAt: 5, pinned: true })
    expect(await store.thread("t")).toEqual({ version: 1, state: { k: 1 } })
    await store.close()
  })

  test("are none while somebody asks for an outcome that is not there yet", async () => {
    const { store, commits } = countedStore()
    await store.post({ id: "m", runId: "r", at: 1, command: { type: "cancel" } })
    for (let i = 0; i < 3; i++) expect(await store.mailOutcome("m")).toBeUndefined()
    expect(commits()).toBe(1)
    await store.close()
  })

  test("are acknowledged by nothing before the commit that holds them (S1)", async () => {
    const { store, commits } = countedStore()
    const seen: number[] = []
    const first = store.append(lease("a"), 0, records(1, 1), created()).then(() => seen.push(commits()))
    const second = store.claim("a", 1, "h2").then(() => seen.push(commits()))
    await Promise.resolve()
    expect(seen).toEqual([])
    await Promise.all([first, second])
    expect(seen).toEqual([1, 1])
    await store.close()
  })

  test("of 1,000 runs of 10 steps are a commit for each round, not for each step", async () => {
    const { store, commits } = countedStore()
    await Promise.all(
      Array.from({ length: 1_000 }, async (_, i) => {
        await store.append(lease(`r${i}`), 0, records(1, 1), created())
        for (let seq = 1; seq < 10; seq++) await store.append(lease(`r${i}`), seq, records(seq + 1, 1))
      }),
    )
    expect(commits()).toBe(10)
    expect(await store.read("r999", 0)).toEqual(records(1, 10))
    await store.close()
  })

  test("of records to many runs share their statements: a refused one leaves the others of its turn alone (S3)", async () => {
    const path = freshPath()
    const database = open(path, driver)
    let commits = 0
    const store = committingStore(database, () => {
      commits += 1
    })
    const other = openStore(path, driver)
    const runs = Array.from({ length: 47 }, (_, i) => `r${i}`)
    const appendAll = (seq: number) =>
      Promise.allSettled(
        runs.map((run, i) => store.append(lease(run), seq, records(seq + 1, 1 + (i % 3), run))),
      )
    await Promise.all(runs.map((run) => store.append(lease(run), 0, records(1, 1), created())))
    commits = 0
    expect((await appendAll(1)).every(({ status }) => status === "fulfilled")).toBe(true)
    expect(commits).toBe(1)
    await other.claim("r30", 1, "h2")
    await other.append(lease("r31"), 3, records(4, 1, "unexpected"))
    const outcomes = await Promise.allSettled(
      runs.map((run, i) => store.append(lease(run), 2 + (i % 3), records(3 + (i % 3), 2, run))),
    )
    expect(
      outcomes.flatMap((outcome, i) => (outcome.status === "rejected" ? [[i, outcome.reason.code]] : [])),
    ).toEqual([
      [30, "RUN_TAKEN"],
      [31, "JOURNAL_CONFLICT"],
    ])
    for (const [i, run] of runs.entries()) {
      const length = 2 + (i % 3) + (i === 30 || i === 31 ? 0 : 2)
      expect((await store.read(run, 0)).length).toBe(i === 31 ? length + 1 : length)
    }
    await store.close()
    await other.close()
  })

  test("to a run under suspicion clear it with the first record that is no intent, beside others and at the first try", async () => {
    const executed: string[] = []
    const store = storeOver(watched(open(freshPath(), driver), { exec: (sql) => executed.push(sql) }))
    await store.beat({ id: "h", machine: "m", pid: 1, born: "" })
    for (const run of ["a", "b"]) await store.append(lease(run), 0, records(1, 1), created())
    await store.dismiss("h", { reason: "died" })
    const [a, b] = [await store.claim("a", 2, "h2"), await store.claim("b", 2, "h2")] as const
    if (a === undefined || b === undefined) throw new Error("not claimed")
    await store.append(b, 1, records(2, 1))
    await store.append(a, 1, records(2, 1), { intent: true })
    expect(await store.run("a")).toMatchObject({ seq: 2, takeovers: 1 })
    executed.length = 0
    await Promise.all([
      store.append(b, 2, records(3, 1)),
      store.append(a, 2, records(3, 1)),
      store.append(b, 3, records(4, 1)),
    ])
    expect(executed).toEqual(["BEGIN IMMEDIATE", "COMMIT"])
    expect(await store.run("a")).toMatchObject({ seq: 3, takeovers: 0 })
    expect(await store.run("b")).toMatchObject({ seq: 4, takeovers: 0 })
    await store.close()
  })

  test("to a run that was idle for a while, and to one that ends, are as many records as were handed over", async () => {
    const store = openStore(freshPath(), driver)
    await store.append(lease("a"), 0, records(1, 1), created())
    await store.append(lease("a"), 1, records(2, 1))
    await store.setIdle(lease("a"), { wakeAt: 9 })
    await Promise.all([
      store.append(lease("a"), 2, records(3, 1)),
      store.setIdle(lease("a"), false),
      store.append(lease("a"), 3, records(4, 2)),
      store.append(lease("a"), 5, records(6, 1), { idle: {}, status: "waiting" }),
      store.append(lease("a"), 6, records(7, 1)),
      store.append(lease("a"), 7, records(8, 1), { idle: false, status: "running" }),
      store.append(lease("a"), 8, records(9, 1)),
    ])
    expect(await store.run("a")).toMatchObject({ seq: 9, status: "running" })
    await store.append(lease("a"), 9, records(10, 2), { status: "completed" })
    await expect(store.append(lease("a"), 10, records(11, 1))).rejects.toMatchObject({
      code: "JOURNAL_CONFLICT",
    })
    const { bytes } = (await store.run("a")) ?? {}
    expect(bytes).toBe(records(1, 11).reduce((sum, { entry }) => sum + JSON.stringify(entry).length, 0))
    expect(await store.read("a", 0)).toEqual(records(1, 11))
    await store.close()
  })

  test("to one run in one turn may follow each other", async () => {
    const store = openStore(freshPath(), driver)
    await Promise.all([
      store.append(lease("r"), 0, records(1, 1), created()),
      store.append(lease("r"), 1, records(2, 1)),
      store.append(lease("r"), 2, records(3, 1), { status: "completed" }),
    ])
    expect(await store.read("r", 0)).toEqual(records(1, 3))
    expect(await store.run("r")).toMatchObject({ status: "completed", seq: 3 })
    await store.close()
  })

  test("of two connections find what the other wrote: one appends after a record, one takes a run (S2)", async () => {
    const path = freshPath()
    const stores = [openStore(path, driver), openStore(path, driver)] as const
    await stores[0].append(lease("r"), 0, records(1, 1), created())
    for (let seq = 1; seq < 20; seq++) {
      const outcomes = await Promise.allSettled(
        stores.map((store, i) => store.append(lease("r", seq), seq, records(seq + 1, 1, `of ${i}`))),
      )
      expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"])
      const lost = outcomes.find((outcome) => outcome.status === "rejected")
      expect(lost?.reason).toMatchObject({ code: "JOURNAL_CONFLICT" })
      const winner = outcomes.findIndex(({ status }) => status === "fulfilled")
      for (const store of stores) {
        expect(await store.read("r", seq)).toEqual(records(seq + 1, 1, `of ${winner}`))
      }
      const claims = await Promise.all(stores.map((store) => store.claim("r", seq, "h")))
      expect(claims.filter((claim) => claim !== undefined)).toEqual([lease("r", seq + 1)])
    }
    for (const store of stores) await store.close()
  })

  test("fail together when the disk is full, change nothing, and succeed again when there is room (S3)", async () => {
    const database = open(freshPath(), driver)
    const store = storeOver(database)
    await store.append(lease("a"), 0, records(1, 1), created())
    fillDisk(database)
    const outcomes = await Promise.allSettled([
      store.append(lease("a"), 1, records(2, 1), { status: "waiting" }),
      store.claim("a", 1, "h2"),
      store.append(lease("b"), 0, records(1, 1, "x".repeat(60_000)), created()),
      store.append(lease("c"), 0, records(1, 1, "x".repeat(1_000_000)), created()),
    ])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        reason: {
          code: "STORE_WRITE_FAILED",
          cause: expect.any(Error),
          message: expect.stringContaining("full"),
        },
      })
    }
    expect(await store.read("a", 0)).toEqual(records(1, 1))
    expect(await store.run("a")).toMatchObject({ status: "running", token: 1, seq: 1 })
    expect(await store.run("b")).toBeUndefined()
    database.exec("PRAGMA max_page_count = 100000")
    await store.append(lease("c"), 0, records(1, 1, "x".repeat(1_000_000)), created())
    await store.append(lease("a"), 1, records(2, 1))
    expect(await store.read("a", 0)).toEqual(records(1, 2))
    await store.close()
  })

  test("fail while another process keeps the file locked, and work again when it lets go", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const other = openStore(path, driver)
    await store.append(lease("r"), 0, records(1, 1), created())
    const holder = driver(path)
    holder.exec("BEGIN IMMEDIATE")
    await expect(store.append(lease("r"), 1, records(2, 1))).rejects.toMatchObject({
      code: "STORE_WRITE_FAILED",
      message: expect.stringContaining("locked"),
    })
    await expect(store.claim("r", 1, "h2")).rejects.toMatchObject({ code: "STORE_WRITE_FAILED" })
    // Nobody who writes keeps others from reading.
    expect(await store.read("r", 0)).toEqual(records(1, 1))
    holder.exec("ROLLBACK")
    holder.close()
    await other.append(lease("r"), 1, records(2, 1))
    // What the refused turn saw is not held on to.
    expect(await store.read("r", 0)).toEqual(records(1, 2))
    await store.append(lease("r"), 2, records(3, 1))
    expect(await other.read("r", 0)).toEqual(records(1, 3))
    await store.close()
    await other.close()
  })

  test("that are refused leave the others of their turn alone, and change nothing (S3)", async () => {
    const store = openStore(freshPath(), driver)
    await store.append(lease("r"), 0, records(1, 1), created({ key: "k", thread: "t" }))
    const all = { graphs: [{ hash: "x", graph: 1 }], thread: [{ key: "x", kind: "set", value: 1 }] } as const
    const outcomes = await Promise.allSettled([
      store.append(lease("good"), 0, records(1, 1), created()),
      store.append(lease("r"), 0, records(1, 1), { ...created(), ...all }),
      store.append(lease("k"), 0, records(1, 1), { ...created({ key: "k" }), ...all }),
      store.append(lease("t"), 0, records(1, 1), { ...created({ thread: "t" }), ...all }),
      store.append(lease("f"), 9, records(10, 1), { ...created({ forkOf: { runId: "r", seq: 9 } }), ...all }),
      store.append(lease("r", 7), 1, records(2, 1), { status: "failed", ...all }),
      store.append(lease("r"), 3, records(4, 1), { status: "failed", ...all }),
      store.append(lease("none"), 0, records(1, 1), { status: "failed", ...all }),
      store.saveSnapshot(lease("r", 7), { seq: 1, data: 1 }),
      store.append(lease("better"), 0, records(1, 1), created()),
    ])
    const codes = [
      "RUN_EXISTS",
      "KEY_TAKEN",
      "THREAD_BUSY",
      "JOURNAL_CONFLICT",
      "RUN_TAKEN",
      "JOURNAL_CONFLICT",
    ]
    expect(outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.code : "made"))).toEqual(
      ["made", ...codes, "JOURNAL_CONFLICT", "RUN_TAKEN", "made"],
    )
    expect((await store.runs({})).map(({ runId }) => runId)).toEqual(["better", "good", "r"])
    expect(await store.run("r")).toMatchObject({ status: "running", seq: 1 })
    expect(await store.graph("x")).toBeUndefined()
    expect(await store.thread("t")).toEqual({ version: 0, state: {} })
    await store.close()
  })

  test("of records that do not follow on, and of what JSON cannot hold, are refused alone", async () => {
    const store = openStore(freshPath(), driver)
    const good = store.append(lease("good"), 0, records(1, 1), created())
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    const bad = { ...records(1, 1)[0], entry: { type: "step.recorded", value: cyclic } } as never
    await expect(store.append(lease("r"), 0, [bad], created())).rejects.toMatchObject({
      code: "STORE_WRITE_FAILED",
    })
    await expect(store.append(lease("r"), 0, records(2, 1), created())).rejects.toThrow("expected record 1")
    await expect(store.saveSnapshot(lease("good"), { seq: 1, data: cyclic as never })).rejects.toThrow(
      'The snapshot of run "good" cannot be written as JSON',
    )
    await good
    expect(await store.read("r", 0)).toEqual([])
    await store.close()
  })

  test("of a value that cannot be written fail alone, wherever it is (S3)", async () => {
    const store = openStore(freshPath(), driver)
    const cyclic: unknown[] = []
    cyclic.push(cyclic)
    const request = { id: "q", node: "n", task: 1, prompt: "?", openedAt: 1, data: cyclic as never }
    const [entry] = records(1, 1).map((record) => ({ ...record, entry: { ...record.entry, at: Number.NaN } }))
    const outcomes = await Promise.allSettled([
      store.append(lease("a"), 0, records(1, 1), created()),
      store.append(lease("b"), 0, records(1, 1), { ...created(), opened: [request] }),
      store.append(lease("c"), 0, [entry as never], created()),
      store.post({
        id: "m",
        runId: "a",
        at: 1,
        command: { type: "answer", request: "q", value: cyclic as never },
      }),
      store.append(lease("d"), 0, records(1, 1), created()),
    ])
    expect(outcomes.map((outcome) => (outcome.status === "rejected" ? outcome.reason.code : "made"))).toEqual(
      ["made", "STORE_WRITE_FAILED", "STORE_WRITE_FAILED", "STORE_WRITE_FAILED", "made"],
    )
    expect((await store.runs({})).map(({ runId }) => runId)).toEqual(["d", "a"])
    await store.close()
  })

  test("that wait when the store is closed are made; later ones, and reads, are refused", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    const last = store.append(lease("r"), 0, records(1, 1), created())
    await store.close()
    await store.close()
    await last
    const refused = [
      store.append(lease("r"), 1, records(2, 1)),
      store.read("r", 0),
      store.run("r"),
      store.claim("r", 1, "h"),
      store.prune({ keep: 0 }),
      store.report(),
    ]
    for (const one of refused) await expect(one).rejects.toMatchObject({ code: "STORE_CLOSED" })
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
      await store.append(lease("r"), seq, records(seq + 1, 1), seq === 0 ? created() : undefined)
      await store.close()
    }
  },
)
