// The systems: what a durable step is for each of them. Times are returned, without what comes before and after.
import { randomBytes } from "node:crypto"
import pg from "pg"
import { postgresStore } from "superstep/postgres"
import { peersIn } from "./peers.mjs"

/** As many rows in one statement as our store sends. */
const ROWS = 250

/** Half a kilobyte of random bytes, as text twice as long: nothing compresses it. */
export function payload() {
  return randomBytes(500).toString("hex")
}

export async function systemsFor({ url, peers }) {
  await dropSchema(url, "bench_superstep")
  await dropSchema(url, "bench_runtime")
  const systems = [raw(url), superstep(url), superstepLives(url)]
  return [...systems, ...(await peersIn(peers, url))]
}

async function dropSchema(url, schema) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  await client.end()
}

function raw(url) {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const ready = pool.query(
    `CREATE TABLE IF NOT EXISTS raw_steps (run bigint, seq int, body text, PRIMARY KEY (run, seq)); TRUNCATE raw_steps`,
  )
  let run = 0
  return {
    name: "raw",
    async alone(steps) {
      await ready
      run += 1
      const bodies = Array.from({ length: steps }, payload)
      const began = performance.now()
      for (let seq = 0; seq < steps; seq++) {
        const text = "INSERT INTO raw_steps (run, seq, body) VALUES ($1, $2, $3)"
        await pool.query({ name: "one", text, values: [run, seq, bodies[seq]] })
      }
      return performance.now() - began
    },
    async many(runs, steps) {
      await ready
      const first = run + 1
      run += runs
      const body = payload()
      const began = performance.now()
      for (let seq = 0; seq < steps; seq++) {
        const batches = []
        for (let at = 0; at < runs; at += ROWS) {
          const ids = Array.from({ length: Math.min(ROWS, runs - at) }, (_, i) => first + at + i)
          batches.push([ids, ids.map(() => seq), ids.map(() => body)])
        }
        const text =
          "INSERT INTO raw_steps (run, seq, body) SELECT * FROM unnest($1::bigint[], $2::int[], $3::text[])"
        await Promise.all(batches.map((values) => pool.query({ name: "many", text, values })))
      }
      return performance.now() - began
    },
    close: () => pool.end(),
  }
}

function record(seq, value) {
  return {
    seq,
    frame: "",
    entry: { type: "step.recorded", at: Date.now(), task: 1, key: "step", value },
    events: seq,
  }
}

let started = 0

/** Of existing runs: the steps are timed. A runtime in the same schema would claim these runs, whose holder it does not know. */
function superstep(url) {
  const store = postgresStore({ url, schema: "bench_superstep" })
  const start = async () => {
    const lease = { runId: `run-${process.pid}-${started++}`, holder: "bench", token: 1 }
    const created = { workflow: "bench", graph: "graph" }
    await store.append(lease, 0, [record(1, "start")], { created })
    return lease
  }
  return {
    name: "superstep",
    async alone(steps) {
      const lease = await start()
      const values = Array.from({ length: steps }, payload)
      const began = performance.now()
      for (let i = 0; i < steps; i++) await store.append(lease, i + 1, [record(i + 2, values[i])])
      return performance.now() - began
    },
    async many(runs, steps) {
      const leases = await Promise.all(Array.from({ length: runs }, start))
      const value = payload()
      const began = performance.now()
      await Promise.all(
        leases.map(async (lease) => {
          for (let i = 0; i < steps; i++) await store.append(lease, i + 1, [record(i + 2, value)])
        }),
      )
      return performance.now() - began
    },
    close: () => store.close(),
  }
}

/** Whole lives of runs, through the runtime: start, steps, end. */
function superstepLives(url) {
  const store = postgresStore({ url, schema: "bench_runtime" })
  const made = import("superstep").then(({ node, Runtime, workflow }) => {
    const value = payload()
    const step = node("step", (left) => ({ left: left.left - 1, value }))
    const flow = workflow("bench-lives", { limits: { supersteps: 100_000 } })
      .start(step)
      .edge(step, step, { when: ({ left }) => left > 0 })
      .build()
    return { flow, runtime: new Runtime({ store, workflows: [flow] }) }
  })
  const live = async (steps) => {
    const { flow, runtime } = await made
    await runtime.start(flow, { left: steps - 1 })
  }
  return {
    name: "superstep, whole runs",
    async alone(steps) {
      const began = performance.now()
      await live(steps)
      return performance.now() - began
    },
    async many(runs, steps) {
      const began = performance.now()
      await Promise.all(Array.from({ length: runs }, () => live(steps)))
      return performance.now() - began
    },
    async close() {
      await (await made).runtime.close()
      await store.close()
    },
  }
}
