/** Faults of a SQLite file, beside those of every store. */
import { readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { Worker } from "node:worker_threads"
import { sqliteStore } from "@superstep/store-sqlite"
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import { saveEvery } from "../../packages/engine/src/runtime/journal/load-run.ts"
import type { Database } from "../../packages/store-sqlite/src/file/driver.ts"
import {
  alter,
  drivers,
  fillDisk,
  freshPath,
  open,
  openStore,
  storeOver,
} from "../../packages/store-sqlite/src/stores.test-support.ts"
import {
  type Breakable,
  beforeRound,
  DONE,
  faultTests,
  isGone,
  recorded,
  rounds,
  stepsRun,
} from "./faults-suite.ts"

const SEED = inject("seed")
const [{ driver }] = drivers as [(typeof drivers)[number]]

function onDatabase(fault: (database: Database) => void, repaired: string): Breakable {
  const address = freshPath()
  const database = open(address, driver)
  return {
    address,
    store: storeOver(database),
    fault: () => fault(database),
    repair: () => database.exec(repaired),
  }
}

faultTests({
  newAddress: freshPath,
  sql: (address, text) => alter(address, driver, (database) => database.exec(text)),
  faults: {
    "a full disk": {
      code: "STORE_WRITE_FAILED",
      message: /journal of run "r" was not written.*full/,
      make: () => onDatabase(fillDisk, "PRAGMA max_page_count = 1000000"),
    },
    "a read-only file": {
      code: "STORE_WRITE_FAILED",
      message: /journal of run "r" was not written.*readonly/,
      make: () =>
        onDatabase((database) => database.exec("PRAGMA query_only = ON"), "PRAGMA query_only = OFF"),
    },
    "a file that another process keeps locked": {
      code: "STORE_WRITE_FAILED",
      message: /journal of run "r" was not written.*locked/,
      make() {
        const address = freshPath()
        const store = openStore(address, driver)
        const other = driver(address)
        return {
          address,
          store,
          fault: () => other.exec("BEGIN IMMEDIATE"),
          repair() {
            other.exec("ROLLBACK")
            other.close()
          },
        }
      },
    },
  },
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
  beforeRound(4, () => {
    worker = new Worker(program, { eval: true, workerData: { path, locked, driver: driverPath } })
    // The run writes when the lock is there, not before.
    Atomics.wait(locked, 0, 0)
  })
  expect(await rounds.run(0, { store, runId: "r" }).result).toMatchObject(DONE)
  expect(stepsRun()).toEqual([0, 1, 2, 3, 4, 5, 6, 7])
  await worker?.terminate()
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
    stepsRun()
    const run = known ? rounds.resume("r", { store: torn }) : rounds.run(0, { store: torn, runId: "r" })
    expect(await run.result, where).toMatchObject(DONE)
    const all = [0, 1, 2, 3, 4, 5, 6, 7]
    expect(before, where).toEqual(all.slice(0, before.length))
    expect(stepsRun(), where).toEqual(all.slice(before.length))
    await torn.close()
  }
  expect(ends.size).toBeGreaterThan(4)
})
