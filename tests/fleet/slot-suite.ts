/** Workers on one store whose tasks and requests share limits, and that are killed: limits hold, and every run ends. */
import type { ChildProcess } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import { sized } from "../sized.ts"
import { openStore } from "../stores.ts"
import { answer, kill, killableWorkers } from "./killable-workers.ts"

const SIZE = sized({
  check: { runs: 50, kills: 3 },
  short: { runs: 200, kills: 10 },
  full: { runs: 400, kills: 20 },
})
const WORKERS = 3
const SEED = inject("seed")
/** How many there may be at the same time. */
const MAX = { big: 2, small: 2, request: 2 } as const
const MAX_TASKS = 4

const fleet = killableWorkers("slot")

/** `addressOf` gives the store of the test, in a folder of its own. */
export function slotTest(addressOf: (folder: string) => string, size = SIZE): void {
  test(
    `limits of nodes and models hold while ${size.kills} of ${WORKERS} workers on one store are killed`,
    {
      timeout: 120_000,
    },
    () => limitsHold(addressOf(fleet.folder), size),
  )
}

async function limitsHold(path: string, { runs: RUNS, kills: KILLS }: typeof SIZE): Promise<void> {
  const trail = join(fleet.folder, "trail")
  const lines = () => (existsSync(trail) ? readFileSync(trail, "utf8").trim().split("\n") : [])
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => fleet.start(path, trail)))
  const [first] = workers as [ChildProcess]
  first.send({ count: RUNS })
  await answer(first)
  const isEnd = (line: string) => line.startsWith("end") && !line.startsWith("end request")
  const killed = new Map<string, number>()
  for (const [i, victim] of fc.sample(fc.nat(WORKERS - 1), { seed: SEED, numRuns: KILLS }).entries()) {
    const due = Math.floor(((i + 0.5) * RUNS) / KILLS)
    while (lines().filter(isEnd).length < due) await later()
    const dying = workers[victim] as ChildProcess
    // From here on it may be dead, and what it executed begins elsewhere.
    killed.set(String(dying.pid), lines().length)
    await kill(dying)
    workers[victim] = await fleet.start(path, trail)
  }
  const store = openStore(path)
  while ((await store.runs({ status: ["queued", "running", "waiting"], limit: 1 })).length > 0) await later()
  expect(lines().filter((line) => line.startsWith("problem"))).toEqual([])
  const runs = await store.runs({ limit: RUNS + 1 })
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(["completed"]))
  expect(runs).toHaveLength(RUNS)
  const most = check(lines(), killed)
  for (const { runId } of runs) expect(await store.slots.ofRun(runId)).toEqual([])
  console.log(
    `SEED=${SEED}: ${killed.size} kills, ${RUNS} runs, at most at the same time: ${JSON.stringify(most)}`,
  )
  await Promise.all(workers.map(kill))
  await store.close()
}

/** Goes through what was left, and gives the most that was in progress at the same time. */
function check(all: readonly string[], killed: ReadonlyMap<string, number>): Record<string, number> {
  const most: Record<string, number> = {}
  const open = new Map<string, { readonly kind: string; readonly pid: string }>()
  for (const [i, line] of all.entries()) {
    const isAlive = (by: { readonly pid: string } | undefined) =>
      by !== undefined && i < (killed.get(by.pid) ?? all.length)
    const [what, kind = "", n = "", pid = ""] = line.split(" ")
    const id = `${kind} ${n}`
    if (what === "end") open.delete(id)
    else {
      expect(isAlive(open.get(id)), `SEED=${SEED}, line ${i}: ${id} is in progress twice`).toBe(false)
      open.set(id, { kind, pid })
    }
    const inProgress = [...open.values()].filter(isAlive)
    const ofKind = inProgress.filter((one) => one.kind === kind).length
    expect(ofKind, `SEED=${SEED}, line ${i}: ${kind}`).toBeLessThanOrEqual(MAX[kind as keyof typeof MAX])
    const tasks = inProgress.filter((one) => one.kind !== "request").length
    expect(tasks, `SEED=${SEED}, line ${i}`).toBeLessThanOrEqual(MAX_TASKS)
    most[kind] = Math.max(most[kind] ?? 0, ofKind)
    most.tasks = Math.max(most.tasks ?? 0, tasks)
  }
  return most
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}
