/** What happens to the connections and to the server while runs are written to. */
import { isSuperstepError } from "@superstep/engine"
import * as fc from "fast-check"
import { expect, inject, onTestFinished, test } from "vitest"
import { startPostgres } from "../../../tests/postgres/start-postgres.ts"
import { type PostgresNotice, postgresStore } from "./open-store.ts"
import { type Break, breakingProxy } from "./proxy.test-support.ts"
import { leaseOf, record, start } from "./records.test-support.ts"
import { freshStore, sql, url } from "./stores.test-support.ts"

const SEED = inject("seed")
const APPENDS = inject("isProof") ? 60 : 8
const CRASHES = inject("isProof") ? 10 : 1
const RUNS = inject("isProof") ? 20 : 5

test("connections that break before a commit or before its answer arrives lose nothing and repeat nothing (P2)", async () => {
  const proxy = await breakingProxy(url)
  const store = freshStore({ url: proxy.url })
  const leases = await Promise.all(Array.from({ length: RUNS }, (_, i) => start(store, `run ${i}`)))
  const kinds = fc.sample(fc.constantFrom<Break | undefined>("before", "after", undefined), {
    seed: SEED,
    numRuns: 10_000,
  })
  let asked = 0
  proxy.breaks = (sent) => (sent.includes("append") || sent.includes("journal") ? kinds[asked++] : undefined)
  await Promise.all(
    leases.map(async (lease, run) => {
      for (let seq = 1; seq <= APPENDS; seq++) {
        // Plain ones, and such as change more.
        const change = (seq + run) % 3 === 0 ? { idle: false as const } : undefined
        await store.append(lease, seq, [record(seq + 1, `${run} ${seq}`)], change)
      }
    }),
  )
  proxy.breaks = () => undefined
  for (const [run, { runId }] of leases.entries()) {
    const values = (await store.read(runId, 1)).map(({ entry }) => (entry as { value?: unknown }).value)
    expect(values, `SEED=${SEED}`).toEqual(Array.from({ length: APPENDS }, (_, i) => `${run} ${i + 1}`))
  }
  expect(proxy.broken).toBeGreaterThan(0)
  // biome-ignore lint/suspicious/noConsole: proofs print what they did.
  console.log(`SEED=${SEED}: ${proxy.broken} connections broken, ${RUNS * APPENDS} appends`)
})

test("a run whose creation was done and not acknowledged is there once, and is its starter's", async () => {
  const proxy = await breakingProxy(url)
  const store = freshStore({ url: proxy.url })
  await store.report()
  let isBroken = false
  proxy.breaks = (sent) => {
    if (isBroken || !sent.includes("append")) return undefined
    isBroken = true
    return "after"
  }
  await start(store, "r")
  expect(proxy.broken).toBe(1)
  expect((await store.runs({})).map(({ runId, seq }) => [runId, seq])).toEqual([["r", 1]])
  await expect(start(store, "r", "somebody else")).rejects.toMatchObject({ code: "RUN_EXISTS" })
})

test("a claim, a heartbeat and the outcome of mail survive the loss of their answers", async () => {
  const proxy = await breakingProxy(url)
  const store = freshStore({ url: proxy.url })
  const lease = await start(store, "r")
  const breakOnce = (part: string) => {
    const before = proxy.broken
    proxy.breaks = (sent) => (proxy.broken === before && sent.includes(part) ? "after" : undefined)
  }
  breakOnce("claim")
  expect(await store.claim("r", 1, "other")).toEqual({ runId: "r", holder: "other", token: 2 })
  breakOnce("beat")
  expect(await store.beat({ id: "holder", machine: "machine", pid: 1, born: "then" })).toBe(true)
  await store.post({ id: "mail", runId: "r", at: 1, command: { type: "cancel" } })
  await store.append({ ...lease, holder: "other", token: 2 }, 1, [record(2)], { mail: ["mail"] })
  breakOnce("DELETE")
  expect(await store.mailOutcome("mail")).toEqual({ ok: true })
  expect(await store.mailOutcome("mail")).toBeUndefined()
  expect(proxy.broken).toBe(3)
})

test("a server that is away is waited for, with a notice; then what was asked is done", async () => {
  const proxy = await breakingProxy(url)
  const notices: PostgresNotice[] = []
  let isNoticed: () => void = () => undefined
  const noticed = new Promise<void>((resolve) => {
    isNoticed = resolve
  })
  const onNotice = (notice: PostgresNotice) => {
    notices.push(notice)
    isNoticed()
  }
  const store = freshStore({ url: proxy.url, onNotice })
  proxy.shut()
  const asked = start(store, "r").then(() => store.run("r"))
  await noticed
  proxy.open()
  expect(await asked).toMatchObject({ runId: "r", seq: 1 })
  expect(notices).toHaveLength(1)
  expect(notices[0]?.code).toBe("STORE_AWAY")
  expect(notices[0]?.message).not.toContain("secret")
})

test("a holder that was cut off past its lease is fenced: it writes nothing, and what it did not send is refused", async () => {
  const proxy = await breakingProxy(url)
  const cut = freshStore({ url: proxy.url })
  const other = freshStore({ schema: cut.schema })
  const lease = await start(cut, "r", "cut off")
  proxy.freeze()
  const late = cut.append(lease, 1, [record(2, "late")])
  const outcome = late.then(
    () => "written",
    (error) => (isSuperstepError(error) ? error.code : "failed"),
  )
  // The others see no heartbeat any more.
  await other.dismiss("cut off", { reason: "died" })
  const { token } = (await other.run("r")) as { token: number }
  const now = await other.claim("r", token, "other")
  if (now === undefined) throw new Error("The run could not be claimed.")
  await other.append(now, 1, [record(2, "theirs")])
  proxy.thaw()
  expect(await outcome).toBe("RUN_TAKEN")
  expect((await other.read("r", 1)).map(({ entry }) => (entry as { value?: unknown }).value)).toEqual([
    "theirs",
  ])
  expect(await cut.held("cut off")).toEqual([])
})

test("a server that crashes and starts again keeps every append that was acknowledged, and runs continue", async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const store = postgresStore({ url: server.url() })
  onTestFinished(() => store.close())
  const leases = await Promise.all(Array.from({ length: RUNS }, (_, i) => start(store, `run ${i}`)))
  const acknowledged = leases.map(() => 1)
  let isOver = false
  const writing = leases.map(async (lease, i) => {
    for (let seq = 1; !isOver; seq++) {
      await store.append(lease, seq, [record(seq + 1)])
      acknowledged[i] = seq + 1
    }
  })
  for (let crashes = 0; crashes < CRASHES; crashes++) {
    const before = acknowledged.map((seq) => seq + 5)
    while (before.some((seq, i) => (acknowledged[i] as number) < seq)) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    await server.crash()
  }
  isOver = true
  await Promise.all(writing)
  for (const [i, { runId }] of leases.entries()) {
    expect((await store.read(runId, 0)).map(({ seq }) => seq)).toEqual(
      Array.from({ length: acknowledged[i] as number }, (_, seq) => seq + 1),
    )
  }
})

test("a statement that loses a deadlock is made again (P3)", async () => {
  const store = freshStore()
  const leases = [await start(store, "a"), await start(store, "b")]
  const pg = await import("pg")
  const rival = new pg.default.Client({ connectionString: url })
  await rival.connect()
  try {
    // The rival has b and wants a; the statement has a and wants b, and the server ends one of the two.
    await rival.query("BEGIN; SET LOCAL deadlock_timeout = '10s'")
    const lock = (run: string) =>
      rival.query(`SELECT 1 FROM "${store.schema}".live WHERE run_id = '${run}' FOR UPDATE`)
    await lock("b")
    const appended = Promise.all(leases.map((lease) => store.append(lease, 1, [record(2)])))
    await untilWaiting(store.schema)
    await lock("a")
    await rival.query("COMMIT")
    await appended
  } finally {
    await rival.end()
  }
  expect((await store.read("a", 0)).length + (await store.read("b", 0)).length).toBe(4)
})

/** A statement on the schema waits for a lock. */
async function untilWaiting(schema: string): Promise<void> {
  for (;;) {
    const waiting = await sql(
      "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND position($1 IN query) > 0",
      [schema],
    )
    if (waiting.length > 0) return
  }
}

test("runs that two stores create with the same keys at once are there once for each key", async () => {
  const one = freshStore()
  const other = freshStore({ schema: one.schema })
  const count = inject("isProof") ? 10_000 : 300
  const create = (store: typeof one, holder: string) =>
    Promise.all(
      Array.from({ length: count }, (_, i) =>
        store
          .append(leaseOf(`${holder} ${i}`, 1, holder), 0, [record(1)], {
            created: { workflow: "workflow", graph: "graph", key: `key ${(i * 7919) % count}` },
          })
          .then(
            () => 1,
            (error) => (isSuperstepError(error, "KEY_TAKEN") ? 0 : Promise.reject(error)),
          ),
      ),
    )
  const made = (await Promise.all([create(one, "one"), create(other, "other")])).flat()
  expect(made.reduce((sum: number, won) => sum + won, 0)).toBe(count)
})
