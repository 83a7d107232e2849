/** A process that is stopped inside a transaction holds up the writes of others, and nothing else. */
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, onTestFinished, test } from "vitest"
import { bundled } from "../../../../tests/bundled.ts"
import { type SqliteStore, type StoreNotice, sqliteStore } from "../index.ts"
import { created, freshPath, lease, records } from "../stores.test-support.ts"

const program = fileURLToPath(new URL("./stopped.test-support.ts", import.meta.url))
const noProc = process.platform !== "linux"

/** Resolves when the process has stopped itself. */
async function stoppedInside(path: string, what: "append" | "create"): Promise<ChildProcess> {
  const child = spawn(process.execPath, [bundled(program), path, what], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  onTestFinished(() => void child.kill("SIGKILL"))
  while (!/^State:\s+T/m.test(readFileSync(`/proc/${child.pid}/status`, "utf8"))) {
    await new Promise((resume) => setTimeout(resume, 5))
  }
  return child
}

async function finished(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.on("close", resolve))
  child.kill("SIGCONT")
  expect(await ended).toBe(0)
}

/** Turns of the event loop, timers and IO included, that pass while something else waits. */
async function turns(count: number): Promise<number> {
  for (let i = 0; i < count; i++) {
    await new Promise((resume) => setImmediate(resume))
    await new Promise((resume) => setTimeout(resume, 0))
  }
  return count
}

async function state(promise: Promise<unknown>): Promise<"pending" | "settled"> {
  return await Promise.race([promise.then(() => "settled" as const), Promise.resolve("pending" as const)])
}

describe.skipIf(noProc)("while another process is stopped inside a transaction (needs Linux's /proc)", () => {
  test("the event loop keeps running, reads answer, and writes succeed in order once it is resumed", {
    timeout: 60_000,
  }, async () => {
    const path = freshPath()
    const store = sqliteStore({ path })
    await store.append(lease("r"), 0, records(1, 1), created())
    const child = await stoppedInside(path, "append")

    const writes = [1, 2, 3].map((seq) => store.append(lease("r"), seq, records(seq + 1, 1)))
    expect(await turns(50)).toBe(50)
    const late = store.claim("r", 1, "other")
    expect(await turns(50)).toBe(50)
    const all = Promise.all([...writes, late])
    expect(await state(all)).toBe("pending")
    expect(await store.read("r", 0)).toEqual(records(1, 1))
    expect(await store.run("stopped")).toBeUndefined()

    await finished(child)
    await all
    // The claim came last: before any of the appends it would have taken the run from them.
    expect(await store.read("r", 0)).toEqual(records(1, 4))
    expect(await store.run("r")).toMatchObject({ token: 2, holder: "other" })
    expect(await store.read("stopped", 0)).toHaveLength(1)
    await store.close()
  })

  test("another process opens the store, reads it, and closes it only after its own writes are in", {
    timeout: 60_000,
  }, async () => {
    const path = freshPath()
    const first = sqliteStore({ path })
    await first.append(lease("r"), 0, records(1, 1), created())
    await first.close()
    const child = await stoppedInside(path, "append")

    const store = sqliteStore({ path })
    expect(await store.read("r", 0)).toEqual(records(1, 1))
    const write = store.append(lease("r"), 1, records(2, 1))
    const closed = store.close()
    await expect(store.run("r")).rejects.toMatchObject({ code: "STORE_CLOSED" })
    expect(await turns(50)).toBe(50)
    expect(await state(Promise.race([write, closed]))).toBe("pending")

    await finished(child)
    await Promise.all([write, closed])
    const after = sqliteStore({ path })
    expect(await after.read("r", 0)).toEqual(records(1, 2))
    expect(await after.read("stopped", 0)).toHaveLength(1)
    await after.close()
  })

  test("a write whose time is over fails, and says which process to resume", {
    timeout: 60_000,
  }, async () => {
    const path = freshPath()
    const store = sqliteStore({ path, busyTimeout: 20 })
    await store.append(lease("r"), 0, records(1, 1), created())
    const child = await stoppedInside(path, "append")
    await expect(store.append(lease("r"), 1, records(2, 1))).rejects.toMatchObject({
      code: "STORE_WRITE_FAILED",
      message: expect.stringMatching(
        new RegExp(
          `run "r" was not written: ${path} is locked by process ${child.pid}, which is stopped.*kill -CONT`,
        ),
      ),
    })
    await finished(child)
    await store.append(lease("r"), 1, records(2, 1))
    expect(await store.read("r", 0)).toEqual(records(1, 2))
    await store.close()
  })

  test("a store that it was making opens when it is resumed, and every call waits for that", {
    timeout: 60_000,
  }, async () => {
    const path = freshPath()
    const child = await stoppedInside(path, "create")
    const notices: StoreNotice[] = []
    const waited = new Promise<void>((resolve) => {
      const onNotice = (notice: StoreNotice) => {
        notices.push(notice)
        resolve()
      }
      store = sqliteStore({ path, onNotice })
    })
    const opened = store as SqliteStore
    const write = opened.append(lease("r"), 0, records(1, 1), created())
    const definitions = opened.registry.definitions()
    await waited
    expect(notices).toMatchObject([{ code: "STORE_LOCKED" }])
    expect(notices[0]?.message).toContain(`locked by process ${child.pid}, which is stopped`)
    expect(await state(write)).toBe("pending")
    await finished(child)
    await write
    expect(await definitions).toEqual([])
    expect(await opened.read("r", 0)).toEqual(records(1, 1))
    expect(await opened.read("stopped", 0)).toHaveLength(1)
    await opened.close()
  })

  test("a store that it was making, and does not let go of, is STORE_UNUSABLE when the time is over", {
    timeout: 60_000,
  }, async () => {
    const path = freshPath()
    const child = await stoppedInside(path, "create")
    const late = sqliteStore({ path, busyTimeout: 20 })
    await expect(late.run("r")).rejects.toMatchObject({
      code: "STORE_UNUSABLE",
      message: expect.stringContaining(`locked by process ${child.pid}`),
    })
    await expect(late.close()).rejects.toMatchObject({ code: "STORE_UNUSABLE" })
  })
})

let store: SqliteStore | undefined
