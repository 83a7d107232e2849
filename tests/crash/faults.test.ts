/**
 * Faults of the file and of the clock while runs execute: a run stops with an error that says why, or continues. When the
 * fault is over, runs resume from their journals. Acknowledged work is neither lost nor repeated.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"
import { sqliteStore } from "@superstep/store-sqlite"
import * as fc from "fast-check"
import { append, channel, node, type Store, workflow } from "superstep"
import { manualClock } from "superstep/testing"
import { beforeEach, expect, inject, test } from "vitest"
import { saveEvery } from "../../packages/engine/src/runtime/journal/load-run.ts"
import type { Database } from "../../packages/store-sqlite/src/file/driver.ts"
import {
  alter,
  drivers,
  freshPath,
  open,
  openStore,
  storeOver,
} from "../../packages/store-sqlite/src/stores.test-support.ts"

const SEED = inject("seed")
const [{ driver }] = drivers as [(typeof drivers)[number]]

const log = channel("log", append<string>())

/** Called with every round before its step. */
let onRound: (round: number) => void
/** The rounds whose steps ran. */
let steps: number[]
beforeEach(() => {
  onRound = () => undefined
  steps = []
})

/** Eight rounds with a step each, whose results fill pages. */
const round = node("round", async (n: number, ctx) => {
  onRound(n)
  const text = await ctx.step("text", () => {
    steps.push(n)
    return `${n}`.repeat(6_000)
  })
  ctx.state.write(log, [text.slice(0, 1)])
  return n + 1
})
const rounds = workflow("rounds", { state: [log] })
  .start(round)
  .loop(round, round, { while: (n) => n < 8 })
  .build()

const DONE = { status: "completed", outputs: [8], state: { log: ["0", "1", "2", "3", "4", "5", "6", "7"] } }

/** The recorded steps. */
async function recorded(store: Store): Promise<number[]> {
  const records = await store.read("r", 0)
  expect(records.map(({ seq }) => seq)).toEqual(records.map((_, i) => i + 1))
  return records.flatMap(({ entry }) =>
    entry.type === "step.recorded" ? [Number((entry.value as string)[0])] : [],
  )
}

/** A run of `rounds` stops at the fault in round 4, and resumes when it is over. */
async function survives(
  store: Store,
  fault: () => void,
  error: { code: string; message: RegExp },
  repair: () => void,
): Promise<void> {
  onRound = (n) => n === 4 && fault()
  const failure = await rounds.run(0, { store, runId: "r" }).result.catch((e) => e)
  expect(failure).toMatchObject({ code: error.code, message: expect.stringMatching(error.message) })
  onRound = () => undefined
  const before = await recorded(store)
  expect(before).toEqual([0, 1, 2, 3])
  expect(await store.run("r")).toMatchObject({ status: "running", seq: 9 })
  repair()
  expect(await rounds.resume("r", { store }).result).toMatchObject(DONE)
  // Recorded steps were not repeated; the step that could not be recorded was.
  expect(steps).toEqual([0, 1, 2, 3, 4, 4, 5, 6, 7])
  expect(await recorded(store)).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
}

test("a full disk stops the run, which resumes when there is space again", async () => {
  const database = open(freshPath(), driver)
  const store = storeOver(database)
  const pages = () => (database.prepare("PRAGMA page_count").all()[0] as { page_count: number }).page_count
  const full = () => database.exec(`PRAGMA max_page_count = ${pages()}`)
  const error = { code: "STORE_WRITE_FAILED", message: /journal of run "r" was not written.*full/ }
  await survives(store, full, error, () => database.exec("PRAGMA max_page_count = 1000000"))
  await store.close()
})

test("a read-only file stops the run, which resumes when the file is writable again", async () => {
  const database = open(freshPath(), driver)
  const store = storeOver(database)
  const readOnly = () => database.exec("PRAGMA query_only = ON")
  const error = { code: "STORE_WRITE_FAILED", message: /journal of run "r" was not written.*readonly/ }
  await survives(store, readOnly, error, () => database.exec("PRAGMA query_only = OFF"))
  await store.close()
})

test("a file that another process keeps locked stops the run, which resumes when the lock is free", async () => {
  const path = freshPath()
  const store = openStore(path, driver)
  const other: Database = driver(path)
  const error = { code: "STORE_WRITE_FAILED", message: /journal of run "r" was not written.*locked/ }
  await survives(
    store,
    () => other.exec("BEGIN IMMEDIATE"),
    error,
    () => other.exec("ROLLBACK"),
  )
  other.close()
  await store.close()
})

test("waits for a file that another process locks for a while", async () => {
  const path = freshPath()
  const store = sqliteStore({ path })
  await store.report()
  const locked = new Int32Array(new SharedArrayBuffer(4))
  const program = `
    const { workerData: { path, locked, driver } } = require("node:worker_threads")
    const Libsql = require(driver)
    const database = new Libsql(path)
    database.exec("BEGIN IMMEDIATE")
    Atomics.store(locked, 0, 1)
    Atomics.notify(locked, 0)
    Atomics.wait(locked, 0, 1, 300)
    database.exec("ROLLBACK")
    database.close()`
  const driverPath = createRequire(import.meta.resolve("@superstep/store-sqlite")).resolve("libsql")
  let worker: Worker | undefined
  onRound = (n) => {
    if (n !== 4) return
    worker = new Worker(program, { eval: true, workerData: { path, locked, driver: driverPath } })
    // The run writes when the lock is there, not before.
    Atomics.wait(locked, 0, 0)
  }
  expect(await rounds.run(0, { store, runId: "r" }).result).toMatchObject(DONE)
  expect(steps).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  await worker?.terminate()
  await store.close()
})

/** A run that its process left in the middle. */
async function leftRun(path: string, snapshots: number): Promise<void> {
  const store = sqliteStore({ path })
  const dying: Store = {
    ...store,
    append: (...args) => (args[1] < 9 ? store.append(...args) : new Promise(() => undefined)),
  }
  saveEvery(dying, snapshots)
  const left = new Promise<void>((resolve) => {
    onRound = (n) => n === 4 && resolve()
  })
  void rounds.run(0, { store: dying, runId: "r" })
  await left
  await isGone(store)
  await store.close()
  onRound = () => undefined
  steps = []
}

/** The heartbeats of this process stop: for the others it is dead. */
async function isGone(store: Store): Promise<void> {
  for (const { id } of await store.holders()) await store.dismiss(id, { reason: "died" })
}

test("a damaged record is named and the run is left unchanged; once the record is fixed, the run resumes", async () => {
  const path = freshPath()
  await leftRun(path, 1_000)
  let body = ""
  alter(path, driver, (database) => {
    const [row] = database.prepare("SELECT body FROM journal WHERE seq = 4").all() as [{ body: string }]
    body = row.body
    database.prepare("UPDATE journal SET body = substr(body, 1, 20) WHERE seq = 4").run()
  })
  const store = sqliteStore({ path })
  const row = await store.run("r")
  for (let i = 0; i < 2; i++) {
    const resumed = rounds.resume("r", { store }).result
    await expect(resumed).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringContaining("r"),
    })
  }
  const after = await store.run("r")
  expect(after).toMatchObject({ status: row?.status, seq: row?.seq })
  expect(after?.holder).toBeUndefined()
  expect(steps).toEqual([])
  // Other runs are none the worse for it.
  expect(await rounds.run(6, { store, runId: "other" }).result).toMatchObject({ status: "completed" })
  alter(path, driver, (database) => database.prepare("UPDATE journal SET body = ? WHERE seq = 4").run(body))
  steps = []
  expect(await rounds.resume("r", { store }).result).toMatchObject(DONE)
  expect(steps).toEqual([4, 5, 6, 7])
  await store.close()
})

test("a snapshot that is damaged is named, not passed over in silence", async () => {
  const path = freshPath()
  await leftRun(path, 2)
  alter(path, driver, (database) => database.exec("UPDATE snapshots SET body = '{\"version\":'"))
  const store = sqliteStore({ path })
  await expect(rounds.resume("r", { store }).result).rejects.toMatchObject({ code: "STORE_CORRUPT" })
  expect(steps).toEqual([])
  await store.close()
})

test("with a torn log, a run resumes from the last complete write", { timeout: 120_000 }, async () => {
  const source = freshPath()
  const store = sqliteStore({ path: source })
  saveEvery(store, 3)
  await rounds.run(0, { store, runId: "r" })
  // As a crash leaves them: nothing was moved from the log to the file yet.
  const [file, wal] = [readFileSync(source), readFileSync(`${source}-wal`)]
  await store.close()
  const cuts = fc.sample(fc.integer({ min: 0, max: wal.length }), { seed: SEED, numRuns: 40 })
  const ends = new Set<number>()
  for (const cut of cuts) {
    const path = freshPath()
    writeFileSync(path, file)
    writeFileSync(`${path}-wal`, wal.subarray(0, cut))
    const torn = sqliteStore({ path })
    const where = `SEED=${SEED}, cut at ${cut}`
    const before = await recorded(torn)
    const known = (await torn.run("r")) !== undefined
    ends.add(before.length)
    await isGone(torn)
    steps = []
    const run = known ? rounds.resume("r", { store: torn }) : rounds.run(0, { store: torn, runId: "r" })
    expect(await run.result, where).toMatchObject(DONE)
    const all = [0, 1, 2, 3, 4, 5, 6, 7]
    expect(before, where).toEqual(all.slice(0, before.length))
    expect(steps, where).toEqual(all.slice(before.length))
    await torn.close()
  }
  expect(ends.size).toBeGreaterThan(4)
})

test("a clock that goes back, in a process or from one to the next, delays what waits and loses nothing", async () => {
  const waiting = node("waiting", async (text: string, ctx) => {
    const [answer] = await Promise.all([
      ctx.ask({
        prompt: "well?",
        timeout: 5_000,
        escalate: [{ to: "boss", timeout: 5_000 }],
        default: "none",
      }),
      ctx.sleep(2_000),
    ])
    await ctx.sleep(1_000)
    return `${text} ${answer}`
  })
  const flow = workflow("waiting").start(waiting).build()
  const path = freshPath()

  const first = sqliteStore({ path })
  const clock = manualClock(1_000_000)
  void flow.run("x", { store: first, clock, runId: "r" }).result.catch(() => undefined)
  await until(async () => (await first.run("r"))?.seq === 3)
  clock.set(400_000)
  await clock.advance(100_000)
  expect(await first.run("r")).toMatchObject({ seq: 3 })
  await clock.advance(502_000)
  await until(async () => (await first.run("r"))?.seq === 4)
  await isGone(first)

  const second = sqliteStore({ path })
  const earlier = manualClock(900_000)
  const run = flow.resume("r", { store: second, clock: earlier })
  await until(() => earlier.pending > 0)
  await earlier.advance(110_000)
  // It may be further by now: what comes of one timer sets the next.
  await until(async () => ((await second.run("r"))?.seq ?? 0) >= 6)
  await earlier.advance(10_000)
  expect(await run.result).toMatchObject({ status: "completed", outputs: ["x none"] })
  const entries = (await second.read("r", 0)).map(({ entry }) => entry.type)
  expect(entries.filter((type) => type === "timer.fired")).toHaveLength(4)
  await second.close()
  await first.close()
})

/** Lets everything happen until this holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve))
}
