/** The schema: made once however many processes start, and left alone where it is not ours or newer. */
import { spawn } from "node:child_process"
import { join } from "node:path"
import type { Lease } from "@superstep/engine"
import type pg from "pg"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../../../tests/bundled.ts"
import { inSchema, type PostgresPool } from "./database.ts"
import { record, start } from "./records.test-support.ts"
import { freshStore, newSchema, pool, sql, url } from "./stores.test-support.ts"
import { TABLES } from "./tables.ts"

const PROCESSES = 10

test(`${PROCESSES} processes that start at once on an empty database all get the same schema`, async () => {
  const program = bundled(join(import.meta.dirname, "starter-program.test-support.ts"))
  const schema = newSchema()
  onTestFinished(async () => void (await sql(`DROP SCHEMA IF EXISTS "${schema}" CASCADE`)))
  const codes = await Promise.all(
    Array.from({ length: PROCESSES }, (_, i) => {
      const child = spawn(process.execPath, [program, url, schema, `run ${i}`], {
        stdio: ["ignore", "ignore", "inherit"],
      })
      return new Promise<number | null>((resolve) => child.on("close", resolve))
    }),
  )
  expect(codes).toEqual(Array(PROCESSES).fill(0))
  const store = freshStore({ schema })
  expect(await store.runs({})).toHaveLength(PROCESSES)
  expect(await sql(`SELECT version FROM "${schema}".meta`)).toEqual([{ version: 10 }])
})

/** The pool of this file; `before` is called with each statement, and may reject. */
function poolWith(before: (text: string) => Promise<void>): PostgresPool {
  return {
    async query(query) {
      await before(query.text)
      return pool.query(query as pg.QueryConfig)
    },
    async connect() {
      const client = await pool.connect()
      return {
        async query(query) {
          await before(query.text)
          return client.query(query as pg.QueryConfig)
        },
        release: (error) => client.release(error),
      }
    },
    end: async () => undefined,
    on: () => undefined,
  }
}

function gate(): { readonly open: () => void; readonly opened: Promise<void> } {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

test("a process that waited while another made the schema leaves the functions that are called already", async () => {
  const waiting = gate()
  const made = gate()
  const held = poolWith(async (text) => {
    if (!text.includes("pg_advisory_xact_lock")) return
    waiting.open()
    await made.opened
  })
  const first = freshStore()
  const second = freshStore({ schema: first.schema, pool: held })
  const functions = () =>
    sql(`SELECT oid FROM pg_proc WHERE pronamespace = '"${first.schema}"'::regnamespace ORDER BY oid`)

  const read = second.run("r")
  await waiting.opened
  await start(first, "r")
  const before = await functions()
  made.open()
  expect(await read).toMatchObject({ runId: "r" })
  expect(before.length).toBeGreaterThan(10)
  expect(await functions()).toEqual(before)
})

test("a call of a function that a migration replaces meanwhile is made again", async () => {
  let isReplacing = false
  const replacing = poolWith(async () => {
    if (!isReplacing) return
    isReplacing = false
    throw Object.assign(new Error("cache lookup failed for function 23669"), { code: "XX000" })
  })
  const store = freshStore({ pool: replacing })
  await store.release(await start(store, "r"), undefined)
  isReplacing = true
  const query = { holder: "holder", workflows: ["workflow"], now: () => 1, limit: 1 }
  expect((await store.queue.claimNext(query)).runs).toMatchObject([{ runId: "r" }])
  expect(isReplacing).toBe(false)
})

test("a schema of a later version, or of another program, is left as it is", async () => {
  const store = freshStore()
  await start(store, "r")
  await sql(`UPDATE "${store.schema}".meta SET version = 99`)
  const later = freshStore({ schema: store.schema })
  await expect(later.run("r")).rejects.toMatchObject({
    code: "STORE_UNUSABLE",
    message: expect.stringMatching(
      /is of version 99, and this @superstep\/store-postgres knows versions up to 10: update/,
    ),
  })
  const foreign = newSchema()
  await sql(`CREATE SCHEMA "${foreign}"; CREATE TABLE "${foreign}".runs (id int)`)
  const other = freshStore({ schema: foreign })
  await expect(other.run("r")).rejects.toMatchObject({
    code: "STORE_UNUSABLE",
    message: expect.stringMatching(
      /has the tables of another program: choose another name with the option schema/,
    ),
  })
})

test("a schema of version 1 gets what is new, and functions of this version instead of its own", async () => {
  const schema = newSchema()
  const tables = inSchema(TABLES, `"${schema}".`)
  await sql(`CREATE SCHEMA "${schema}"; CREATE TABLE "${schema}".meta AS SELECT 1 AS version; ${tables};
    CREATE FUNCTION "${schema}".append_1(a int[]) RETURNS void LANGUAGE sql AS 'SELECT'`)
  const store = freshStore({ schema })
  await start(store, "r")
  expect(await store.subscriptions.events(0, 10)).toMatchObject([{ type: "run.started", runId: "r" }])
  const names = await sql<{ proname: string }>(
    `SELECT proname FROM pg_proc WHERE pronamespace = '"${schema}"'::regnamespace AND proname LIKE 'append%' ORDER BY 1`,
  )
  expect(names).toEqual([{ proname: "append_2" }, { proname: "append_plain_9" }])
})

test("runs in flight continue after the migration from version 8", async () => {
  const before = freshStore()
  const leases = await Promise.all(["a", "b", "c"].map((runId) => start(before, runId)))
  await sql(`DROP FUNCTION "${before.schema}".append_plain_9; UPDATE "${before.schema}".meta SET version = 8`)
  const store = freshStore({ schema: before.schema })
  await Promise.all(leases.map((lease) => store.append(lease, 1, [record(2)])))
  for (const { runId } of leases) {
    expect(await store.read(runId, 0)).toEqual([record(1), record(2)])
    expect(await store.run(runId)).toMatchObject({ seq: 2, updatedAt: 2 })
  }
  // One run alone, by a process that has not been restarted.
  await before.append(leases[0] as Lease, 2, [record(3)])
  expect(await sql(`SELECT version FROM "${before.schema}".meta`)).toEqual([{ version: 10 }])
})

test("a process whose functions a newer version has replaced writes nothing more, and says so", async () => {
  const store = freshStore()
  const lease = await start(store, "r")
  await sql(`ALTER FUNCTION "${store.schema}".beat_1 RENAME TO beat_2;
    ALTER FUNCTION "${store.schema}".append_2 RENAME TO append_3`)
  const holder = { id: "holder", machine: "m", pid: 1, born: "" }
  await expect(Promise.resolve(store.beat(holder))).rejects.toMatchObject({ code: "STORE_OUTDATED" })
  await expect(store.append(lease, 1, [], { status: "completed" })).rejects.toMatchObject({
    code: "STORE_OUTDATED",
    message: expect.stringMatching(/Restart this process with the newer version/),
  })
})
