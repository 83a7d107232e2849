import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { type Database, openSqliteFile } from "@superstep/store-sqlite/internal"
import { describe, expect, test } from "vitest"
import { superstep, type TestIo } from "../test-io.test-support.ts"
import { FILE, withRuns } from "./stored-runs.test-support.ts"

const STORE = ".superstep/superstep.db"

/** A separate connection to the test's store. */
function connection({ cwd }: Pick<TestIo, "cwd">): Database {
  const path = join(cwd, STORE)
  const options = { path, durability: "normal", busyTimeout: 0, lookAgain: 0 } as const
  return openSqliteFile({ ...options, isCurrent: () => true, migrate: () => undefined }).database
}

function sqlite(io: TestIo, statements: string): void {
  const database = connection(io)
  database.exec(statements)
  database.close()
}

const DAMAGE =
  "UPDATE journal SET events = 99 WHERE seq = 2 AND run = (SELECT id FROM runs WHERE run_id = 'a')"

function lines(text: string): Record<string, unknown>[] {
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))
}

describe("superstep doctor --store", () => {
  test("reports that an intact store is intact, and how much was checked", async () => {
    const io = await withRuns({ a: "x", b: "ask" })
    for (const args of [["--store"], ["--store", `sqlite:${STORE}`]]) {
      const { code, stdout } = await superstep(["doctor", ...args, "--json"], io)
      expect(code).toBe(0)
      expect(lines(stdout).at(-1)).toMatchObject({
        state: "ok",
        what: "integrity",
        is: expect.stringMatching(/^2 runs and \d+ records are intact$/),
      })
    }
  })

  test("lists damage with the run and the record, and exits with 1", async () => {
    const io = await withRuns({ a: "x", b: "x" })
    sqlite(io, DAMAGE)
    const { code, stdout } = await superstep(["doctor", "--store", "--json"], io)
    expect(code).toBe(1)
    expect(lines(stdout).filter(({ state }) => state === "fail")).toEqual([
      {
        state: "fail",
        what: "journal",
        runId: "a",
        seq: 2,
        is: expect.stringContaining('run "a" is damaged at 2'),
        todo: expect.stringContaining("superstep runs salvage"),
      },
    ])
    const text = await superstep(["doctor", "--store"], io)
    expect(text.code).toBe(1)
    expect(text.stdout).toMatch(/fail {2}journal +The journal of run "a" is damaged at 2/)
    // Without --store it reports whether the store can be used.
    expect((await superstep(["doctor"], io)).code).toBe(0)
  })
})

describe("superstep runs salvage", () => {
  test("recovers intact runs completely, truncates the others, and reports it", async () => {
    const io = await withRuns({ a: "x", b: "x" })
    sqlite(io, DAMAGE)
    const before = readFileSync(join(io.cwd, STORE))
    const { code, stdout } = await superstep(["runs", "salvage", "--to", "new.db"], io)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^a: cut after record 1 of \d+\. The journal of run "a" is damaged at 2/)
    expect(stdout).toMatch(/new\.db: 1 run whole, 1 cut, 0 lost\.\n$/)
    expect(readFileSync(join(io.cwd, STORE))).toEqual(before)
    const list = await superstep(["runs", "list", "--store", "sqlite:new.db", "--json"], io)
    expect(lines(list.stdout)).toMatchObject([
      { runId: "b", status: "completed" },
      { runId: "a", status: "quarantined" },
    ])
    expect((await superstep(["doctor", "--store", "sqlite:new.db", "--json"], io)).code).toBe(0)
  })

  test("of an intact store exits with 0; with --json each run is a line", async () => {
    const io = await withRuns({ a: "x" })
    const { code, stdout } = await superstep(["runs", "salvage", "--to", "sqlite:new.db", "--json"], io)
    expect(code).toBe(0)
    expect(lines(stdout)).toMatchObject([
      { runId: "a", outcome: "whole" },
      { whole: 1, cut: 0, lost: 0, problems: [] },
    ])
  })

  test("refuses an existing target, a missing store, and a store in memory", async () => {
    const io = await withRuns({ a: "x" })
    const overwrite = await superstep(["runs", "salvage", "--to", STORE], io)
    expect(overwrite.code).toBe(2)
    expect(overwrite.stderr).toContain("already exists")
    const missing = await superstep(["runs", "salvage", "--store", "sqlite:none.db", "--to", "new.db"], io)
    expect(missing.stderr).toContain("does not exist")
    expect(existsSync(join(io.cwd, "new.db"))).toBe(false)
    expect((await superstep(["runs", "salvage", "--store", "memory:", "--to", "new.db"], io)).code).toBe(2)
  })
})

test("a command that finds the store locked reports that, and continues when it is free", async () => {
  const io = await withRuns({ a: "x" })
  const holder = connection(io)
  holder.exec("BEGIN IMMEDIATE")
  // Commands that only read do not wait.
  expect((await superstep(["runs", "list", "--json"], io)).code).toBe(0)
  const ended = superstep(["run", FILE, "y", "--run-id", "b", "--quiet"], io)
  await io.seen("Waiting: ")
  expect(io.written.stderr).toMatch(/^Waiting: .*superstep\.db is locked by another process.*\n$/)
  holder.exec("ROLLBACK")
  holder.close()
  expect((await ended).code).toBe(0)
  expect(lines((await superstep(["runs", "list", "--json"], io)).stdout)).toMatchObject([
    { runId: "b", status: "completed" },
    { runId: "a" },
  ])
})
