/** Workers on one store, killed one after another: their runs continue in other workers automatically, each to its one correct end. */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import type { StoredRun } from "superstep"
import { afterAll, beforeAll, expect, inject, test } from "vitest"
import { bundledTogether } from "../bundled.ts"
import { openStore } from "../stores.ts"

const WORKERS = 3
const SEED = inject("seed")

export interface FleetSize {
  readonly runs: number
  readonly kills: number
}

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-fleet-"))
  const file = join(import.meta.dirname, "worker.ts")
  program = bundledTogether([file])(file)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function worker(path: string, trail: string): Promise<ChildProcess> {
  const child = fork(program, [path, trail], {
    execArgv: [],
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  })
  return new Promise((resolve) => child.once("message", () => resolve(child)))
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGKILL")
  await ended
}

/** `addressOf` gives the store of a test, in a folder of its own. */
export function fleetTest(
  { runs: RUNS, kills: KILLS }: FleetSize,
  addressOf: (folder: string) => string,
): void {
  test(
    `${RUNS} runs survive ${KILLS} kills of the ${WORKERS} workers that share them`,
    {
      timeout: 300_000,
    },
    () => survives({ runs: RUNS, kills: KILLS }, addressOf(folder)),
  )
}

async function survives({ runs: RUNS, kills: KILLS }: FleetSize, path: string): Promise<void> {
  const trail = join(folder, "trail")
  const victims = fc.sample(fc.nat(WORKERS - 1), { seed: SEED, numRuns: KILLS })
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => worker(path, trail)))
  const store = openStore(path)
  for (const [i, victim] of victims.entries()) {
    const count = Math.floor(((i + 1) * RUNS) / KILLS)
    // One has the new runs to itself until one is in progress: however fast processes start, a worker dies in the middle of it. On
    // a cluster, any of them may have got it.
    workers[victim]?.send(count)
    let place = -1
    const inTurn = workers.map((_, turn) => (victim + turn) % WORKERS)
    await until(async () => {
      place = inTurn.find((one) => isUnderWay(trail, workers[one] as ChildProcess)) ?? -1
      return place >= 0
    })
    for (const one of workers) one.send(count)
    await kill(workers[place] as ChildProcess)
    const next = await worker(path, trail)
    next.send(count)
    workers[place] = next
  }
  const runs = await allOver(RUNS, () => store.runs({ limit: 1_000 }))
  expect(runs).toHaveLength(RUNS)
  for (const { runId, status, key } of runs) {
    const where = `SEED=${SEED}, run ${runId}`
    const n = Number(key?.split(" ")[1])
    expect(status, where).toBe("completed")
    const records = await store.read(runId, 0)
    const last = records.findLast(({ entry, frame }) => frame === "" && entry.type === "task.finished")?.entry
    expect(last, where).toMatchObject({
      sends: [{ value: `shop ${n}, post ${n}, bank ${n}: confirmed by nobody`, route: { output: true } }],
    })
    const finished = records.flatMap(({ frame, entry }) =>
      entry.type === "task.finished" ? [`${frame} ${entry.task}`] : [],
    )
    expect(new Set(finished).size, where).toBe(finished.length)
    // start, shop, post, bank with its own, note, confirm
    expect(finished, where).toHaveLength(7)
  }
  // A step may have run without being recorded when its worker died; never because another worker took over normally.
  const lines = linesOf(trail)
  expect(lines.filter((line) => line.startsWith("problem "))).toEqual([])
  const visits = lines.map((line) => line.split(" ").slice(0, 2).join(" "))
  expect(new Set(visits).size).toBe(RUNS * 3)
  const pids = new Map<string, Set<string>>()
  for (const line of lines) {
    const [runId = "", , pid = ""] = line.split(" ")
    pids.set(runId, (pids.get(runId) ?? new Set()).add(pid))
  }
  const moved = [...pids.values()].filter(({ size }) => size > 1).length
  expect(moved).toBeGreaterThan(0)
  const again = visits.length - RUNS * 3
  console.log(
    `SEED=${SEED}: ${KILLS} kills; ${moved} runs continued in another worker; ${again} steps ran again, whose worker died in them`,
  )
  await Promise.all(workers.map(kill))
  await store.close()
}

function linesOf(trail: string): string[] {
  return existsSync(trail) ? readFileSync(trail, "utf8").trim().split("\n") : []
}

/** The worker made the first visit of a run, and no worker the next one yet. */
function isUnderWay(trail: string, { pid }: ChildProcess): boolean {
  const visits = linesOf(trail).map((line) => line.split(" "))
  return visits.some(
    ([runId, , by]) => by === String(pid) && visits.filter(([other]) => other === runId).length === 1,
  )
}

/** The runs once none is in flight. */
async function allOver(
  count: number,
  list: () => Promise<readonly StoredRun[]>,
): Promise<readonly StoredRun[]> {
  let runs: readonly StoredRun[] = []
  await until(async () => {
    runs = await list()
    return runs.length >= count && runs.every(({ status }) => status !== "running" && status !== "waiting")
  })
  return runs
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}
