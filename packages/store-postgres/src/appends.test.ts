/** Appends of one turn of the event loop, to many runs: refused one by one (S3), and found by an index. */
import pg from "pg"
import { expect, onTestFinished, test } from "vitest"
import type { PostgresPool } from "./database.ts"
import { leaseOf, record, start } from "./records.test-support.ts"
import { freshStore, newSchema, pool, url } from "./stores.test-support.ts"

const RUNS = 300
/** More than PostgreSQL executes before it keeps a plan. */
const STEPS = 10

test("a plan that was made while few runs were in flight reads no more than the rows of its appends", async () => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  // All statements of the store in one transaction, which counts what it reads.
  await client.query("BEGIN")
  const schema = newSchema()
  const counting: PostgresPool = {
    query: (query) => client.query(query as pg.QueryConfig),
    connect: () => pool.connect() as ReturnType<PostgresPool["connect"]>,
    end: async () => undefined,
    on: () => undefined,
  }
  const store = freshStore({ pool: counting, schema })
  onTestFinished(() => client.end())
  const created = { workflow: "workflow", graph: "graph" }
  const leases = Array.from({ length: RUNS }, (_, i) => leaseOf(`run ${i}`))
  await Promise.all(leases.map((lease) => store.append(lease, 0, [record(1)], { created })))
  for (let seq = 1; seq <= STEPS; seq++) {
    await Promise.all(leases.map((lease) => store.append(lease, seq, [record(seq + 1)])))
  }
  await Promise.all(
    leases.map((lease) => store.append(lease, STEPS + 1, [record(STEPS + 2)], { status: "completed" })),
  )
  const { rows } = await client.query(
    `SELECT relname, seq_tup_read::int AS read FROM pg_stat_xact_user_tables
      WHERE schemaname = $1 AND relname IN ('runs', 'live', 'journal') ORDER BY 1`,
    [schema],
  )
  await client.query("ROLLBACK")
  expect(rows).toEqual(["journal", "live", "runs"].map((relname) => ({ relname, read: 0 })))
})

test("an append that is refused does not affect the others of its turn", async () => {
  const store = freshStore()
  const [a, b, c] = await Promise.all(["a", "b", "c"].map((runId) => start(store, runId)))
  if (a === undefined || b === undefined || c === undefined) throw new Error("not started")
  const outcomes = await Promise.allSettled([
    store.append(a, 1, [record(2)]),
    store.append(b, 2, [record(3)]),
    store.append({ ...c, token: 7 }, 1, [record(2)]),
    // After the first one, which has written this record.
    store.append(a, 1, [record(2)]),
  ])
  expect(outcomes.map((one) => (one.status === "rejected" ? one.reason.code : "written"))).toEqual([
    "written",
    "JOURNAL_CONFLICT",
    "RUN_TAKEN",
    "JOURNAL_CONFLICT",
  ])
  expect(await store.read("a", 0)).toHaveLength(2)
  expect(await store.read("b", 0)).toHaveLength(1)
  expect(await store.read("c", 0)).toHaveLength(1)
})
