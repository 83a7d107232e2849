// Lists, filters and the inbox over many runs, made by SQL: a few are in flight, most are over.
import { createHash } from "node:crypto"
import pg from "pg"
import { postgresStore } from "superstep/postgres"

const TIMES = 200
const SCHEMA = "bench_lists"

export async function measureLists({ url, runs }) {
  const store = postgresStore({ url, schema: SCHEMA })
  await store.report()
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const [{ count }] = (await pool.query(`SELECT count(*)::int AS count FROM ${SCHEMA}.runs`)).rows
  if (count !== runs) await fill(pool, runs)
  const queries = []
  for (const [name, ask] of Object.entries(asked(store, runs))) {
    const times = []
    for (let i = 0; i < TIMES; i++) {
      const began = performance.now()
      const found = await ask(i)
      times.push(performance.now() - began)
      if (i === 0 && found.length === 0) throw new Error(`${name} finds nothing`)
    }
    times.sort((a, b) => a - b)
    queries.push({ name, best: times[0], p50: times[TIMES >> 1], p99: times[Math.floor(TIMES * 0.99)] })
  }
  await store.close()
  await pool.end()
  return { runs, queries }
}

function asked(store, runs) {
  const page = { limit: 20 }
  // Somewhere among the older half, another place each time.
  const before = (i) => `run-${Math.floor(runs / 2) - i * 997}`
  return {
    newest: () => store.runs(page),
    "deep page": (i) => store.runs({ ...page, before: before(i) }),
    "by id": (i) => store.run(before(i)).then((run) => [run]),
    workflow: (i) => store.runs({ ...page, workflow: `workflow ${i % 20}` }),
    "workflow, deep page": (i) => store.runs({ ...page, workflow: `workflow ${i % 20}`, before: before(i) }),
    "status failed": () => store.runs({ ...page, status: ["failed"] }),
    "status waiting": () => store.runs({ ...page, status: ["waiting"] }),
    "workflow and three statuses": (i) =>
      store.runs({ ...page, workflow: `workflow ${i % 20}`, status: ["failed", "cancelled", "running"] }),
    "one label": (i) => store.runs({ ...page, labels: { tenant: `tenant ${1 + (i % 999)}` } }),
    "one rare label": (i) => store.runs({ ...page, labels: { order: `order ${i * 4001 + 3}` } }),
    "two labels": (i) =>
      store.runs({
        ...page,
        labels: { tenant: `tenant ${1 + (i % 999)}`, region: `region ${(1 + (i % 999)) % 5}` },
      }),
    "label and status": (i) =>
      store.runs({ ...page, labels: { tenant: `tenant ${1 + (i % 999)}` }, status: ["failed"] }),
    key: (i) => store.runs({ key: `key ${(i + 1) * 10}` }),
    thread: (i) => store.runs({ ...page, thread: `thread ${1 + (i % 40)}` }),
    "common text": () => store.runs({ ...page, text: "workflow 7" }),
    inbox: () => store.requests(page),
    "inbox of a person": (i) => store.requests({ ...page, to: `person ${i % 100}` }),
    "free runs": (i) =>
      store
        .free({ workflows: [`workflow ${i % 20}`], now: 1_700_000_000_000, limit: 100, suspects: false })
        .then((found) => [found]),
  }
}

async function fill(pool, runs) {
  await pool.query(
    `TRUNCATE ${SCHEMA}.runs, ${SCHEMA}.live, ${SCHEMA}.ended, ${SCHEMA}.run_labels, ${SCHEMA}.requests RESTART IDENTITY`,
  )
  const statuses =
    "ARRAY['completed','completed','completed','completed','completed','completed','failed','cancelled','limit']"
  await pool.query(
    `INSERT INTO ${SCHEMA}.runs (run_id, workflow, graph, key, thread, labels, created_at, queue, line, tenant, score)
     SELECT 'run-' || i, 'workflow ' || i % 20, 'graph', CASE WHEN i % 10 = 0 THEN 'key ' || i END,
       CASE WHEN i % 50 <> 0 THEN 'thread ' || i % 50000 END,
       json_build_object('tenant', 'tenant ' || i % 1000, 'region', 'region ' || i % 5)::text, 1.6e12 + i, 'default',
       md5('line ' || i % 20)::uuid, md5('tenant ' || i % 1000)::uuid, 1.6e12 + i
     FROM generate_series(1, $1::int) AS i`,
    [runs],
  )
  // One in fifty is in flight.
  await pool.query(
    `INSERT INTO ${SCHEMA}.ended (run, workflow, status, head, bytes, token, updated_at)
     SELECT id, workflow, (${statuses})[1 + id % 9], 12, 9000, 1, created_at FROM ${SCHEMA}.runs WHERE id % 50 <> 0`,
  )
  await pool.query(
    `INSERT INTO ${SCHEMA}.live (run, run_id, workflow, status, head, token, wake_at, updated_at, rested_at, line, score)
     SELECT id, run_id, workflow, CASE WHEN id % 100 = 0 THEN 'waiting' ELSE 'running' END, 12, 1, 1.8e12, created_at,
       created_at, line, score
     FROM ${SCHEMA}.runs WHERE id % 50 = 0`,
  )
  const labels = [
    ["tenant", 1_000, 1],
    ["region", 5, 1],
    ["order", runs, 1],
  ]
  for (const [name, count] of labels) {
    const hashes = Array.from({ length: Math.min(count, 1_000) }, (_, i) => hashOf(name, `${name} ${i}`))
    if (count <= 1_000) {
      await pool.query(
        `INSERT INTO ${SCHEMA}.run_labels (label, run) SELECT ($1::uuid[])[1 + id % ${count}], id FROM ${SCHEMA}.runs`,
        [hashes],
      )
      continue
    }
    await pool.query(
      `INSERT INTO ${SCHEMA}.run_labels (label, run)
       SELECT substr(encode(sha256(convert_to('["${name}","${name} ' || id || '"]', 'UTF8')), 'hex'), 1, 32)::uuid, id
       FROM ${SCHEMA}.runs`,
    )
  }
  await pool.query(`
    INSERT INTO ${SCHEMA}.requests (run, request_id, workflow, recipient, outcome, body)
    SELECT id, 'r1', workflow, 'person ' || id % 100, CASE WHEN id % 50 = 0 THEN 'open' ELSE 'answered' END,
      '{"id":"r1","node":"ask","task":1,"prompt":"Publish it?","openedAt":0}'
    FROM ${SCHEMA}.runs WHERE id % 5 = 0`)
  await pool.query("VACUUM ANALYZE")
}

function hashOf(name, value) {
  return createHash("sha256")
    .update(JSON.stringify([name, value]))
    .digest("hex")
    .slice(0, 32)
}
