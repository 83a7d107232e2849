/** Damage to any byte of a store is reported, never read as another value. */
import { spawn } from "node:child_process"
import { statSync } from "node:fs"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { describe, expect, inject, test } from "vitest"
import { bundled } from "../../../../tests/bundled.ts"
import type { Database } from "../file/driver.ts"
import { outdatedCheck, withLateStatements } from "../file/schema.ts"
import { Transactions } from "../file/transactions.ts"
import { storeOn } from "../sqlite-store.ts"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  records,
} from "../stores.test-support.ts"
import { checkStoreFile } from "./check-store.ts"
import { fill } from "./flipped-values.test-support.ts"

const program = fileURLToPath(new URL("./flipped.test-support.ts", import.meta.url))
/** About how many bytes are changed, one at a time. */
const FLIPS = inject("isProof") ? 800 : 80

interface Line {
  readonly at?: number
  readonly what?: string
  readonly same?: number
  readonly reported?: number
}

/** What the program says beside the positions that it tries; and the last position, should it end too early. */
async function flip(sound: string, from: number, step: number, driver: string): Promise<Line[]> {
  const args = [sound, `${sound}.${from}`, from, statSync(sound).size, step, driver].map(String)
  const child = spawn(process.execPath, [bundled(program), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = new Promise<unknown>((resolve) => child.on("close", resolve))
  const lines: Line[] = []
  let last: Line = {}
  for await (const text of createInterface({ input: child.stdout })) {
    const line = JSON.parse(text) as Line
    if (Object.keys(line).join() === "at") last = line
    else lines.push(line)
  }
  const code = await ended
  return code === 0 ? lines : [...lines, { ...last, what: `the process ended with ${code}` }]
}

describe.each(drivers)("a store by $name", ({ name, driver }) => {
  test("with one changed byte gives the same values, or says that it is damaged", {
    timeout: 600_000,
  }, async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store)
    await store.close()
    // Prime: so that it goes through all places within pages.
    const step = nextPrime(Math.ceil(statSync(path).size / FLIPS))
    const seed = inject("seed")
    const lines = await flip(path, seed % step, step, name)
    const counts = lines.pop()
    expect(lines, `SEED=${seed}`).toEqual([])
    expect(counts?.same).toBeGreaterThan(FLIPS)
    expect(counts?.reported).toBeGreaterThan(FLIPS / 20)
  })

  const damages: readonly [what: string, sql: string, read: string, message: RegExp][] = [
    [
      "a record's body",
      `UPDATE journal SET body = replace(body, 'some value', 'some other') WHERE run = 1 AND seq = 2`,
      "first",
      /run "first" is damaged at 2: its checksum/,
    ],
    [
      "a record's number of events",
      "UPDATE journal SET events = events + 1 WHERE run = 1 AND seq = 3",
      "first",
      /run "first" is damaged at 3: its checksum/,
    ],
    [
      "a record's frame",
      "UPDATE journal SET frame = '7' WHERE run = 1 AND seq = 3",
      "first",
      /run "first" is damaged at 3: its checksum/,
    ],
    [
      "records that change places",
      "UPDATE journal SET seq = CASE seq WHEN 1 THEN -2 WHEN 2 THEN -1 END WHERE run = 1 AND seq < 3; UPDATE journal SET seq = -seq WHERE run = 1 AND seq < 0",
      "first",
      /run "first" is damaged at 1: its checksum/,
    ],
    [
      "a record of another run",
      "UPDATE journal SET body = (SELECT body FROM journal WHERE run = 2 AND seq = 3), sum = (SELECT sum FROM journal WHERE run = 2 AND seq = 3) WHERE run = 1 AND seq = 3",
      "first",
      /run "first" is damaged at 3: its checksum/,
    ],
    [
      "the place of a fork",
      "UPDATE runs SET fork_seq = 3 WHERE run_id = 'fork'",
      "fork",
      /Run "fork" is damaged: its checksum/,
    ],
    [
      "a name that the index does not find",
      "UPDATE runs SET workflow = 'v' WHERE run_id = 'over'",
      "over",
      /Run "over" is damaged: its checksum/,
    ],
  ]
  test.each(damages)("tells damage to %s, with the run and the record", async (_, sql, runId, message) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store)
    alter(path, driver, (database) => database.exec(sql))
    await expect(store.read(runId, 0)).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringMatching(message),
    })
    await store.close()
  })

  // Without its trigger, as damage would change it.
  test.each([
    ["runs_moved", "UPDATE runs SET head = head + 1 WHERE run_id = 'over'"],
    ["runs_moved", "UPDATE runs SET token = 9 WHERE run_id = 'over'"],
    ["runs_moved", "UPDATE runs SET wake_at = 78 WHERE run_id = 'over'"],
    ["runs_moved", "UPDATE runs SET pinned = 0 WHERE run_id = 'over'"],
    ["runs_changed", "UPDATE runs SET status = 'failed' WHERE run_id = 'over'"],
    ["runs_changed", "UPDATE runs SET graph = 'h' WHERE run_id = 'over'"],
  ])("tells that a run stands otherwise than it was written: %s, %s", async (trigger, sql) => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store)
    alter(path, driver, (database) => {
      const [row] = database.prepare("SELECT sql FROM sqlite_master WHERE name = ?").all(trigger) as [
        { sql: string },
      ]
      database.exec(`DROP TRIGGER ${trigger}; ${sql}; ${row.sql}`)
    })
    const damaged = { code: "STORE_CORRUPT", message: expect.stringContaining('Run "over" is damaged') }
    await expect(store.run("over")).rejects.toMatchObject(damaged)
    await expect(store.runs({})).rejects.toMatchObject(damaged)
    // A later change does not make it good.
    await store.pin("over", true)
    await expect(store.run("over")).rejects.toMatchObject(damaged)
    await store.close()
  })

  test("tells damage to a request, a snapshot, a graph, a thread, mail and a definition", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store)
    alter(path, driver, (database) => {
      database.exec(`
        UPDATE requests SET body = replace(body, 'Which?', 'What?!');
        UPDATE snapshots SET body = replace(body, '2', '4');
        UPDATE graphs SET body = replace(body, '"a"', '"c"');
        UPDATE thread_writes SET value = '4' WHERE version = 2;
        UPDATE mail SET wish = replace(wish, 'that', 'this');
        UPDATE workflow_nodes SET nodeName = 'O' WHERE id = 'n';
        UPDATE agents SET position = 9 WHERE id = 'a'`)
    })
    const reads = [
      store.requests({ outcome: ["open", "delivering"] }),
      store.snapshot("first"),
      store.graph("g"),
      store.thread("thread"),
      store.mail("h"),
      store.registry.definition("w"),
      store.registry.agents(),
    ]
    for (const read of reads) {
      await expect(read).rejects.toMatchObject({
        code: "STORE_CORRUPT",
        message: expect.stringContaining("checksum"),
      })
    }
    expect(await store.thread("thread", 1)).toEqual({ version: 1, state: { messages: ["hello"] } })
    await store.close()
  })

  test("reads what was written before there were checksums", async () => {
    const path = freshPath()
    const store = openStore(path, driver)
    await fill(store)
    const before = await store.read("fork", 0)
    const row = await store.run("first")
    alter(path, driver, (database) => {
      database.exec(
        "UPDATE journal SET sum = NULL; UPDATE runs SET sum = NULL, state_sum = NULL, state = NULL",
      )
    })
    expect(await store.read("fork", 0)).toEqual(before)
    expect(await store.run("first")).toEqual(row)
    await store.append(lease("first"), 5, records(6, 1))
    expect(await store.run("first")).toEqual({ ...row, seq: 6, bytes: expect.any(Number), updatedAt: 1_006 })
    await store.close()
  })

  test("that a newer version brought up to date takes no writes of this one, and can still be read", async () => {
    const path = freshPath()
    const database: Database = open(path, driver)
    const rules = { mayWrite: () => undefined, mayChange: outdatedCheck(database, path), busyTimeout: 0 }
    const store = storeOn(path, database, new Transactions(database, rules))
    await store.append(lease("r"), 0, records(1, 1), created())
    alter(path, driver, (other) => other.exec("UPDATE meta SET version = version + 1"))
    const outcomes = await Promise.allSettled([
      store.append(lease("r"), 1, records(2, 1)),
      store.append(lease("r"), 1, records(2, 1), { status: "completed" }),
      store.append(lease("s"), 0, records(1, 1), created()),
      store.claim("r", 1, "other"),
    ])
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({
        reason: {
          code: "STORE_OUTDATED",
          message: expect.stringMatching(/newer Superstep.*Restart this process/),
        },
      })
    }
    expect(await store.read("r", 0)).toEqual(records(1, 1))
    expect(await store.run("r")).toMatchObject({ seq: 1, token: 1 })
    expect(await store.run("s")).toBeUndefined()
    await store.close()
  })

  test.each([
    ["prepared at once", (database: Database) => database],
    ["prepared later", withLateStatements],
  ])("whose tables a newer version changed says so to statements that are %s", async (_, prepared) => {
    const path = freshPath()
    const database: Database = open(path, driver)
    const rules = { mayWrite: () => undefined, mayChange: outdatedCheck(database, path), busyTimeout: 0 }
    const store = storeOn(path, prepared(database, path), new Transactions(database, rules))
    await store.append(lease("r"), 0, records(1, 1), created())
    alter(path, driver, (other) =>
      other.exec("ALTER TABLE runs RENAME COLUMN blob_bytes TO other; UPDATE meta SET version = version + 1"),
    )
    const started = store.append(lease("s"), 0, records(1, 1), created())
    await expect(started).rejects.toMatchObject({ code: "STORE_OUTDATED" })
    await store.close()
  })

  test("that lacks a table says that it is damaged, to whoever uses the table", async () => {
    const path = freshPath()
    await openStore(path, driver).close()
    alter(path, driver, (other) => other.exec("DROP TABLE records"))
    const store = openStore(path, driver)
    await expect(store.records.list("k")).rejects.toMatchObject({ code: "STORE_CORRUPT" })
    await expect(store.records.put("k", "id", 1, null)).rejects.toMatchObject({ code: "STORE_CORRUPT" })
    await store.append(lease("r"), 0, records(1, 1), created())
    await store.close()
    await expect(checkStoreFile(path).next()).rejects.toMatchObject({ code: "STORE_CORRUPT" })
  })
})

function nextPrime(from: number): number {
  const isPrime = (n: number) =>
    Array.from({ length: Math.floor(Math.sqrt(n)) - 1 }, (_, i) => i + 2).every((d) => n % d !== 0)
  let prime = Math.max(2, from)
  while (!isPrime(prime)) prime += 1
  return prime
}
