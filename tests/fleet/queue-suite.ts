/** Workers that claim limited runs from one store, and are killed: limits hold, every run ends, tenants take turns. */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import { afterAll, beforeAll, expect, inject, test } from "vitest"
import { bundled } from "../bundled.ts"
import { openStore } from "../stores.ts"

const BIG = inject("isProof") ? 600 : 60
const SMALL = 10
const KILLS = inject("isProof") ? 20 : 3
const WORKERS = 3
const SEED = inject("seed")

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-queue-"))
  program = await bundled(join(import.meta.dirname, "queue-worker.ts"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function answer(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once("message", resolve))
}

async function worker(...args: string[]): Promise<ChildProcess> {
  const child = fork(program, args, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
  await answer(child)
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGKILL")
  await ended
}

/** `addressOf` gives the store of the test, in a folder of its own. */
export function queueTest(addressOf: (folder: string) => string): void {
  test(`limits hold while ${KILLS} of ${WORKERS} workers on one store are killed`, { timeout: 120_000 }, () =>
    limitsHold(addressOf(folder)),
  )
}

async function limitsHold(path: string): Promise<void> {
  const trail = join(folder, "trail")
  const lines = () => (existsSync(trail) ? readFileSync(trail, "utf8").trim().split("\n") : [])
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => worker(path, trail)))
  const killed = new Map<string, number>()
  const [first] = workers as [ChildProcess]
  for (const [tenant, count] of [
    ["big", BIG],
    ["small", SMALL],
  ] as const) {
    first.send({ tenant, count })
    await answer(first)
  }
  const isEnd = (line: string) => line.startsWith("end")
  // Tenants can take turns from here on.
  const early = lines().filter(isEnd).length
  for (const [i, victim] of fc.sample(fc.nat(WORKERS - 1), { seed: SEED, numRuns: KILLS }).entries()) {
    const due = Math.floor(((i + 0.5) * BIG) / KILLS)
    while (lines().filter(isEnd).length < due) await later()
    const dying = workers[victim] as ChildProcess
    await kill(dying)
    killed.set(String(dying.pid), lines().length)
    workers[victim] = await worker(path, trail)
  }
  const store = openStore(path)
  while ((await store.runs({ status: ["queued", "running", "waiting"], limit: 1 })).length > 0) await later()
  const runs = await store.runs({})
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(["completed"]))
  expect(runs).toHaveLength(BIG + SMALL)
  const all = lines()
  expect(all.filter((line) => line.startsWith("problem"))).toEqual([])
  let most = 0
  const executing = new Map<string, string>()
  for (const [i, line] of all.entries()) {
    for (const [pid, at] of killed) {
      if (at === i) for (const [job, by] of executing) if (by === pid) executing.delete(job)
    }
    const [what, tenant = "", n, pid = ""] = line.split(" ")
    const job = `${tenant} ${n}`
    if (what === "end") executing.delete(job)
    else {
      expect(executing.has(job), `SEED=${SEED}: ${job} executes twice`).toBe(false)
      executing.set(job, pid)
    }
    const ofTenant = [...executing.keys()].filter((one) => one.startsWith(tenant)).length
    expect(ofTenant, `SEED=${SEED}, line ${i}: ${tenant}`).toBeLessThanOrEqual(2)
    most = Math.max(most, executing.size)
  }
  expect(most, `SEED=${SEED}`).toBeLessThanOrEqual(4)
  const ends = all.filter(isEnd)
  const lastSmall = ends.findLastIndex((line) => line.startsWith("end small"))
  const bigBefore = ends.slice(early, lastSmall).filter((line) => line.startsWith("end big")).length
  expect(bigBefore, `SEED=${SEED}`).toBeLessThan(BIG / 2 + 10)
  console.log(
    `SEED=${SEED}: ${killed.size} kills, at most ${most} runs at a time, ${ends.length} ends of ${runs.length} runs`,
  )
  await Promise.all(workers.map(kill))
  await store.close()
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}
