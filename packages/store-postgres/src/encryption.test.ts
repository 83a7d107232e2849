/** Encryption at rest: what is readable in the tables, and what becomes of values and keys that are not the right ones. */
import { type EncryptionKey, LARGE_VALUE } from "@superstep/engine/stores"
import { describe, expect, test } from "vitest"
import { leaseOf, record } from "./records.test-support.ts"
import { freshStore, newSchema, sql } from "./stores.test-support.ts"

const key = (id: string, fill: number) => ({ id, key: new Uint8Array(32).fill(fill) })
const [a, b] = [key("a", 1), key("b", 2)]
const SECRET = "The storks are back"
const LARGE = SECRET.repeat(Math.ceil(LARGE_VALUE / SECRET.length) + 1)

type Store = ReturnType<typeof freshStore>

const open = (schema: string, keys?: readonly EncryptionKey[]) => freshStore({ schema, keys })

/** The secret, wherever a store has something of a run. */
async function fill(store: Store, runId: string): Promise<void> {
  const created = { workflow: "w", graph: "g", thread: `thread of ${runId}`, labels: { customer: "acme" } }
  await store.beat({ id: "holder", machine: "m", pid: 1, born: "" })
  await store.append(leaseOf(runId), 0, [record(1, SECRET), record(2, SECRET), record(3, LARGE)], {
    created,
    opened: [{ id: "q", node: "n", task: 1, prompt: SECRET, openedAt: 1, to: "Ada" }],
    thread: [{ key: "memory", kind: "set", value: SECRET }],
  })
  await store.saveSnapshot(leaseOf(runId), { seq: 3, data: { state: SECRET, large: LARGE } })
  for (const id of ["open", "refused"]) {
    const command = { type: "answer", request: "q", value: SECRET } as const
    await store.post({ id: `${id} ${runId}`, runId, at: 1, command })
  }
  await store.refuseMail(leaseOf(runId), `refused ${runId}`, { code: "ANSWER_INVALID", message: SECRET })
  const error = { code: "TIMEOUT", message: SECRET }
  await store.append(leaseOf(`ended ${runId}`), 0, [record(1, SECRET)], {
    created: { workflow: "w", graph: "g" },
    status: "failed",
    error,
  })
  await store.records.put("webhook", runId, { secret: SECRET }, null)
  await store.subscriptions.add(`consumer ${runId}`, "now")
  const claimed = await store.subscriptions.claim(`consumer ${runId}`, "holder")
  if (claimed === undefined) throw new Error("The consumer is not free.")
  const failure = { message: SECRET, at: 1, attempts: 1 }
  await store.subscriptions.advance(claimed.lease, { position: 1, failure })
}

/** Everything that `fill` wrote, as it is read. */
async function contentOf(store: Store, runId: string): Promise<unknown[]> {
  return [
    (await store.read(runId, 0)).map(({ entry }) => (entry as { value?: unknown }).value),
    (await store.snapshot(runId))?.data,
    (await store.requests({ runId })).map(({ prompt }) => prompt),
    (await store.thread(`thread of ${runId}`)).state,
    (await store.mail("holder")).filter((mail) => mail.runId === runId).map(({ command }) => command),
    (await store.run(`ended ${runId}`))?.error?.message,
    (await store.records.get("webhook", runId))?.value,
    (await store.subscriptions.consumers())
      .filter(({ consumer }) => consumer === `consumer ${runId}`)
      .map(({ failure }) => failure?.message),
  ]
}

const CONTENT = [
  [SECRET, SECRET, LARGE],
  { state: SECRET, large: LARGE },
  [SECRET],
  { memory: SECRET },
  [{ type: "answer", request: "q", value: SECRET }],
  SECRET,
  { secret: SECRET },
  [SECRET],
]

/** The tables that have the secret in a row. */
async function readable(schema: string): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = '"${schema}"'::regnamespace AND relkind = 'r' ORDER BY 1`,
  )
  const found: string[] = []
  for (const { name } of tables) {
    const rows = await sql(`SELECT 1 FROM "${schema}".${name} AS t WHERE t::text LIKE '%${SECRET}%' LIMIT 1`)
    if (rows.length > 0) found.push(name)
  }
  return found
}

describe("an encrypted schema", () => {
  test("has nothing of what runs contain, is searched as before, and everything comes back", async () => {
    const plain = open(newSchema())
    await fill(plain, "r")
    const tables = [
      "blobs",
      "consumers",
      "ended",
      "journal",
      "mail",
      "records",
      "requests",
      "snapshots",
      "thread_writes",
    ]
    expect(await readable(plain.schema)).toEqual(tables)
    const store = open(newSchema(), [a])
    expect(store.isEncrypted).toBe(true)
    await fill(store, "r")
    expect(await readable(store.schema)).toEqual([])
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    expect(await store.runs({ labels: { customer: "acme" } })).toHaveLength(1)
    expect(await store.requests({ to: "Ada" })).toHaveLength(1)
    expect(await store.mailOutcome("refused r")).toMatchObject({ message: SECRET })
  })

  test("needs its keys, and the right ones: nothing is written otherwise", async () => {
    const store = open(newSchema(), [a])
    await fill(store, "r")
    for (const [keys, code] of [
      [undefined, "STORE_KEY_MISSING"],
      [[b], "STORE_KEY_MISSING"],
      [[key("a", 9)], "STORE_KEY_WRONG"],
      [[b, key("a", 9)], "STORE_KEY_WRONG"],
    ] as const) {
      const refused = open(store.schema, keys)
      await expect(refused.append(leaseOf("new"), 0, [record(1)], {})).rejects.toMatchObject({
        code,
        message: expect.stringContaining('"a"'),
      })
    }
    expect(await sql(`SELECT id FROM "${store.schema}".keys`)).toEqual([{ id: "a" }])
  })

  test("encrypts what is written to a plain one from then on, and the rest when that is asked for", async () => {
    const plain = open(newSchema())
    await fill(plain, "r")
    await expect(plain.encryptAgain()).rejects.toMatchObject({ code: "OPTION_INVALID" })
    const store = open(plain.schema, [a])
    await fill(store, "new")
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    await expect(plain.read("new", 0)).rejects.toMatchObject({ code: "STORE_KEY_MISSING" })
    expect(await store.encryptAgain()).toBeGreaterThan(10)
    expect(await store.encryptAgain()).toBe(0)
    expect(await readable(store.schema)).toEqual([])
    for (const runId of ["r", "new"]) expect(await contentOf(store, runId)).toEqual(CONTENT)
  })

  test("is rotated: old values stay readable, and afterwards need the new key only", async () => {
    const old = open(newSchema(), [a])
    await fill(old, "r")
    const store = open(old.schema, [b, a])
    await fill(store, "new")
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    await store.encryptAgain()
    const after = open(old.schema, [b])
    for (const runId of ["r", "new"]) expect(await contentOf(after, runId)).toEqual(CONTENT)
    expect(await after.mailOutcome("refused r")).toMatchObject({ message: SECRET })
    await expect(open(old.schema, [a]).run("r")).rejects.toMatchObject({ code: "STORE_KEY_MISSING" })
  })

  test("sends live events that only its processes can read, small and large", async () => {
    const store = open(newSchema(), [a])
    const watcher = open(store.schema, [a])
    const seen: unknown[] = []
    const isDone = new Promise<void>((resolve) => {
      watcher.live.subscribe("holder", { runId: "r" }, (signal) => {
        seen.push(signal)
        if (seen.length === 2) resolve()
      })
    })
    const signals = ["small", LARGE].map((text, i) => ({
      type: "event" as const,
      event: {
        runId: "r",
        seq: i,
        at: 0,
        path: [],
        type: "log",
        task: 1,
        node: "n",
        level: "info",
        message: text,
      },
    }))
    store.live.serve("holder", (_query, listener) => {
      for (const signal of signals) listener(signal as never)
      return { leave: () => undefined }
    })
    await isDone
    expect(JSON.stringify(seen)).toContain(LARGE)
    const kept = await sql<{ body: string }>(`SELECT body FROM "${store.schema}".live_values`)
    expect(kept.length).toBeGreaterThan(0)
    expect(JSON.stringify(kept)).not.toContain(SECRET)
  })

  test.each([
    [
      "moved to another record",
      "UPDATE $.journal SET body = (SELECT body FROM $.journal WHERE run = 1 AND seq = 1) WHERE seq = 2",
    ],
    ["cut", "UPDATE $.journal SET body = left(body, -4) WHERE seq = 2"],
    ["changed", "UPDATE $.journal SET body = overlay(body placing 'AAAA' from 40) WHERE seq = 2"],
    ["of another kind", "UPDATE $.journal SET body = (SELECT body FROM $.requests) WHERE seq = 2"],
    [
      "of another run",
      "UPDATE $.journal SET body = (SELECT body FROM $.journal WHERE run = 2) WHERE run = 1 AND seq = 1",
    ],
    ["replaced by a plain large value", "UPDATE $.blobs SET body = '\"x\"'"],
  ])("reports a value that was %s as STORE_CORRUPT", async (_, statement) => {
    const store = open(newSchema(), [a])
    await fill(store, "r")
    await sql(statement.replaceAll("$.", `"${store.schema}".`))
    await expect(store.read("r", 0)).rejects.toMatchObject({ code: "STORE_CORRUPT" })
  })
})
