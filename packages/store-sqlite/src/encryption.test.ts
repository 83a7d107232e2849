/** Encryption at rest: what is readable in the file, and what becomes of values and keys that are not the right ones. */
import { existsSync, readFileSync } from "node:fs"
import { LARGE_VALUE } from "@superstep/engine/stores"
import { describe, expect, test } from "vitest"
import type { Driver } from "./file/driver.ts"
import type { StoreKeys } from "./open-store.ts"
import { checkStoreFile, type Damage } from "./repair/check-store.ts"
import { salvageStore } from "./repair/salvage.ts"
import type { SqliteStore } from "./sqlite-store.ts"
import { alter, created, drivers, freshPath, lease, openStore, records } from "./stores.test-support.ts"

const key = (id: string, fill: number) => ({ id, key: new Uint8Array(32).fill(fill) })
const [a, b] = [key("a", 1), key("b", 2)]
const SECRET = "The storks are back"
const LARGE = { note: SECRET.repeat(Math.ceil(LARGE_VALUE / SECRET.length) + 1) }
const [{ driver }] = drivers as [(typeof drivers)[0]]

const open = (path: string, keys?: StoreKeys, on: Driver = driver) => openStore(path, on, 0, keys)

/** The secret, wherever a store has something of a run. */
async function fill(store: SqliteStore, runId: string): Promise<void> {
  const thread = `thread of ${runId}`
  await store.beat({ id: "h", machine: "m", pid: 1, born: "" })
  await store.append(lease(runId), 0, [...records(1, 2, SECRET), ...records(3, 1, LARGE)], {
    ...created({ thread, labels: { customer: "acme" } }),
    opened: [{ id: "q", node: "n", task: 1, prompt: SECRET, openedAt: 1, to: "Ada" }],
    thread: [{ key: "memory", kind: "set", value: SECRET }],
  })
  await store.saveSnapshot(lease(runId), { seq: 3, data: { state: SECRET, large: LARGE } })
  for (const id of ["open", "refused"]) {
    const command = { type: "answer", request: "q", value: SECRET } as const
    await store.post({ id: `${id} ${runId}`, runId, at: 1, command })
  }
  await store.refuseMail(lease(runId), `refused ${runId}`, { code: "ANSWER_INVALID", message: SECRET })
  const ended = `ended ${runId}`
  const error = { code: "TIMEOUT", message: SECRET }
  await store.append(lease(ended), 0, records(1, 1, SECRET), { ...created(), status: "failed", error })
  await store.records.put("webhook", runId, { secret: SECRET }, null)
  await store.subscriptions.add(`consumer ${runId}`, "now")
  const claimed = await store.subscriptions.claim(`consumer ${runId}`, "h")
  if (claimed === undefined) throw new Error("The consumer is not free.")
  const failure = { message: SECRET, at: 1, attempts: 1 }
  await store.subscriptions.advance(claimed.lease, { position: 1, failure })
}

/** Everything that `fill` wrote, as it is read. */
async function contentOf(store: SqliteStore, runId: string): Promise<unknown[]> {
  return [
    (await store.read(runId, 0)).map(({ entry }) => (entry as { value?: unknown }).value),
    (await store.snapshot(runId))?.data,
    (await store.requests({ runId, outcome: ["open", "delivering"] })).map(({ prompt }) => prompt),
    (await store.thread(`thread of ${runId}`)).state,
    (await store.mail("h")).filter((mail) => mail.runId === runId).map(({ command }) => command),
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

async function filled(keys: StoreKeys | undefined, on?: Driver): Promise<string> {
  const path = freshPath()
  const store = open(path, keys, on)
  await fill(store, "r")
  await store.close()
  return path
}

/** The file and its log. */
function bytesOf(path: string): string {
  return [path, `${path}-wal`].map((file) => (existsSync(file) ? readFileSync(file, "latin1") : "")).join("")
}

describe.each(drivers)("an encrypted file by $name", ({ driver: on }) => {
  test("has nothing of what runs contain, and everything comes back", async () => {
    const path = await filled([a], on)
    expect(bytesOf(path)).not.toContain(SECRET)
    expect(bytesOf(await filled(undefined, on))).toContain(SECRET)
    const store = open(path, [a], on)
    expect(store.isEncrypted).toBe(true)
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    expect(await store.mailOutcome("refused r")).toMatchObject({ message: SECRET })
    await store.close()
  })

  test("is found by id, workflow, status, label, thread and person as before", async () => {
    const store = open(await filled([a], on), [a], on)
    for (const query of [
      { labels: { customer: "acme" } },
      { thread: "thread of r" },
      { status: ["running"] },
    ]) {
      expect((await store.runs(query as object)).map(({ runId }) => runId)).toEqual(["r"])
    }
    expect(await store.requests({ to: "Ada" })).toHaveLength(1)
    await store.close()
  })
})

describe("the keys of a file", () => {
  test("are needed, and the right ones: nothing is written otherwise", async () => {
    const path = await filled([a])
    const before = bytesOf(path)
    for (const [keys, code, id] of [
      [undefined, "STORE_KEY_MISSING", "a"],
      [[b], "STORE_KEY_MISSING", "a"],
      [[key("a", 9)], "STORE_KEY_WRONG", "a"],
      [[b, key("a", 9)], "STORE_KEY_WRONG", "a"],
    ] as const) {
      expect(() => open(path, keys)).toThrow(
        expect.objectContaining({ code, message: expect.stringContaining(`"${id}"`) }),
      )
    }
    expect(bytesOf(path)).toBe(before)
  })

  test("encrypt what is written to a plain file from then on, and the rest when that is asked for", async () => {
    const path = await filled(undefined)
    const store = open(path, [a])
    await fill(store, "new")
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    expect(await contentOf(store, "new")).toEqual(CONTENT)
    const counts: number[] = []
    const count = await store.encryptAgain((rows) => counts.push(rows))
    expect(count).toBeGreaterThan(8)
    expect(counts.at(-1)).toBeLessThanOrEqual(count)
    expect(await store.encryptAgain()).toBe(0)
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    await store.close()
    expect(bytesOf(path)).not.toContain(SECRET)
  })

  test("are rotated: old values stay readable, and afterwards need the new key only", async () => {
    const path = await filled([a])
    const store = open(path, [b, a])
    await fill(store, "new")
    expect(await contentOf(store, "r")).toEqual(CONTENT)
    await store.encryptAgain()
    await store.close()
    const after = open(path, [b])
    expect(await contentOf(after, "r")).toEqual(CONTENT)
    expect(await contentOf(after, "new")).toEqual(CONTENT)
    expect(await after.mailOutcome("refused r")).toMatchObject({ message: SECRET })
    await after.close()
    expect(() => open(path, [a])).toThrow(expect.objectContaining({ code: "STORE_KEY_MISSING" }))
  })

  test("are asked for where another process begins to encrypt, or none are there to encrypt with", async () => {
    const path = await filled(undefined)
    const plain = open(path)
    await expect(plain.encryptAgain()).rejects.toMatchObject({ code: "OPTION_INVALID" })
    const other = open(path, [a])
    await fill(other, "new")
    await expect(plain.read("new", 0)).rejects.toMatchObject({ code: "STORE_KEY_MISSING" })
    await Promise.all([plain.close(), other.close()])
  })
})

describe("a sealed value", () => {
  /** Without checksums, which whoever changes a file on purpose would correct. */
  async function changed(sql: string): Promise<SqliteStore> {
    const path = await filled([a])
    alter(path, driver, (database) => {
      for (const table of ["journal", "snapshots", "requests", "thread_writes", "mail"])
        database.exec(`UPDATE ${table} SET sum = NULL`)
      database.exec(sql)
    })
    return open(path, [a])
  }

  test.each([
    [
      "moved to another record",
      "UPDATE journal SET body = (SELECT body FROM journal WHERE seq = 1) WHERE seq = 2",
    ],
    ["cut", "UPDATE journal SET body = substr(body, 1, length(body) - 4) WHERE seq = 2"],
    ["changed", "UPDATE journal SET body = substr(body, 1, 40) || 'AAAA' || substr(body, 45) WHERE seq = 2"],
    ["of another kind", "UPDATE journal SET body = (SELECT body FROM requests) WHERE seq = 2"],
    [
      "of another run",
      "UPDATE journal SET body = (SELECT body FROM journal WHERE run = 2) WHERE run = 1 AND seq = 1",
    ],
    ["replaced by a plain large value", "UPDATE blobs SET body = '\"x\"'"],
  ])("that was %s is STORE_CORRUPT", async (_, sql) => {
    const store = await changed(sql)
    await expect(store.read("r", 0)).rejects.toMatchObject({ code: "STORE_CORRUPT" })
    await store.close()
  })

  test("that was moved is found by the check of the store, and what is sound is salvaged with it", async () => {
    const path = await filled([a])
    const check = async () => {
      const found: Damage[] = []
      for await (const damage of checkStoreFile(path, undefined, [a])) found.push(damage)
      return found
    }
    expect(await check()).toEqual([])
    alter(path, driver, (database) => {
      database.exec(
        "UPDATE journal SET sum = NULL, body = (SELECT body FROM journal WHERE seq = 2) WHERE seq = 3",
      )
    })
    expect(await check()).toMatchObject([{ part: "journal", runId: "r", seq: 3 }])
    const to = freshPath()
    expect(await salvageStore({ from: path, to, driver, keys: [a] })).toMatchObject({ whole: 1, cut: 1 })
    const store = open(to, [a])
    expect(await store.read("r", 0)).toEqual(records(1, 2, SECRET))
    expect((await store.run("ended r"))?.error?.message).toBe(SECRET)
    await store.close()
    expect(() => open(to)).toThrow(expect.objectContaining({ code: "STORE_KEY_MISSING" }))
  })
})
