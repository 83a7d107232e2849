// How much the server keeps for what is in the journals.
import pg from "pg"
import { postgresStore } from "superstep/postgres"
import { payload } from "./systems.mjs"

const RUNS = 500
const STEPS = 20

export async function measureBytes({ url }) {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  await pool.query("DROP SCHEMA IF EXISTS bench_bytes CASCADE")
  const store = postgresStore({ url, schema: "bench_bytes" })
  const before = await sizeOf(store, pool)
  let bytes = 0
  const entry = () => ({ type: "step.recorded", at: Date.now(), task: 1, key: "step", value: payload() })
  await Promise.all(
    Array.from({ length: RUNS }, async (_, n) => {
      const lease = { runId: `run-${n}`, holder: "bench", token: 1 }
      for (let seq = 1; seq <= STEPS; seq++) {
        const one = entry()
        bytes += JSON.stringify(one).length
        const change = seq === 1 ? { created: { workflow: "bench", graph: "graph" } } : {}
        const end = seq === STEPS ? { status: "completed" } : {}
        await store.append(lease, seq - 1, [{ seq, frame: "", entry: one, events: seq }], {
          ...change,
          ...end,
        })
      }
    }),
  )
  const disk = (await sizeOf(store, pool)) - before
  await store.close()
  await pool.query("DROP SCHEMA bench_bytes CASCADE")
  await pool.end()
  return { payload: bytes, disk, ratio: disk / bytes }
}

async function sizeOf(store, pool) {
  await store.report()
  await pool.query("VACUUM bench_bytes.live")
  return (await store.report()).disk.bytes
}
