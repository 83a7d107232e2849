/** Workers that claim limited runs from one store, and are killed: limits hold, every run ends, tenants take turns. */
import type { ChildProcess } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import { sized } from "../sized.ts"
import { openStore } from "../stores.ts"
import { answer, kill, killableWorkers } from "./killable-workers.ts"

const SIZE = sized({
  check: { big: 60, kills: 3 },
  short: { big: 300, kills: 10 },
  full: { big: 600, kills: 20 },
})
const SMALL = 10
const WORKERS = 3
const SEED = inject("seed")

const fleet = killableWorkers("queue")

/** `addressOf` gives the store of the test, in a folder of its own. */
export function queueTest(addressOf: (folder: string) => string, size = SIZE): void {
  test(
    `limits hold while ${size.kills} of ${WORKERS} workers on one store are killed`,
    {
      timeout: 120_000,
    },
    () => limitsHold(addressOf(fleet.folder), size),
  )
}

async function limitsHold(path: string, { big: BIG, kills: KILLS }: typeof SIZE): Promise<void> {
  const trail = join(fleet.folder, "trail")
  const lines = () => (existsSync(trail) ? readFileSync(trail, "utf8").trim().split("\n") : [])
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => fleet.start(path, trail)))
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
    // From here on it may be dead, and what it executed begins elsewhere.
    killed.set(String(dying.pid), lines().length)
    await kill(dying)
    workers[victim] = await fleet.start(path, trail)
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
    const isAlive = (pid: string | undefined) => pid !== undefined && i < (killed.get(pid) ?? all.length)
    const [what, tenant = "", n, pid = ""] = line.split(" ")
    const job = `${tenant} ${n}`
    if (what === "end") executing.delete(job)
    else {
      expect(isAlive(executing.get(job)), `SEED=${SEED}: ${job} executes twice`).toBe(false)
      executing.set(job, pid)
    }
    const jobs = [...executing].flatMap(([one, by]) => (isAlive(by) ? [one] : []))
    const ofTenant = jobs.filter((one) => one.startsWith(tenant)).length
    expect(ofTenant, `SEED=${SEED}, line ${i}: ${tenant}`).toBeLessThanOrEqual(2)
    most = Math.max(most, jobs.length)
  }
  expect(most, `SEED=${SEED}`).toBeLessThanOrEqual(4)
  const ends = all.filter(isEnd)
  const lastSmall = ends.findLastIndex((line) => line.startsWith("end small"))
  const bigBefore = ends.slice(early, lastSmall).filter((line) => line.startsWith("end big")).length
  // A run whose worker was killed continues after the others have seen that, however many turns that takes.
  const isSmallKilled = all.filter((line) => line.startsWith("begin small")).length > SMALL
  if (!isSmallKilled) expect(bigBefore, `SEED=${SEED}`).toBeLessThan(BIG / 2 + 10)
  console.log(
    `SEED=${SEED}: ${killed.size} kills, at most ${most} runs at a time, ${ends.length} ends of ${runs.length} runs`,
  )
  await Promise.all(workers.map(kill))
  await store.close()
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}
