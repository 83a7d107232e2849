/**
 * Workers on one store whose runs and tasks share rates, and that are killed and stopped at random. By the clock of the store, no
 * window of time has more starts than a rate admits, and every run ends. Only that is asserted: how fast runs start depends
 * on the machine.
 */
import type { ChildProcess } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as fc from "fast-check"
import type { StoredRun } from "superstep"
import { expect, inject, test } from "vitest"
import { rateExcess } from "../../packages/engine/src/testing/store-suite/rates.ts"
import { sized } from "../sized.ts"
import { openStore } from "../stores.ts"
import { answer, kill, killableWorkers } from "./killable-workers.ts"
import { PERIOD, RATES, TENANTS } from "./rate-limits.ts"
import { type LoggedStart, type StartLog, startLog } from "./start-log.ts"

const SIZE = sized({
  check: { runs: 60, kills: 2, stops: 2 },
  short: { runs: 300, kills: 10, stops: 10 },
  full: { runs: 600, kills: 30, stops: 30 },
})
const WORKERS = 3
const SEED = inject("seed")
/** The longest stop, in milliseconds: longer than a lease. */
const MAX_STOP = 2_000

const fleet = killableWorkers("rate")

/** `addressOf` gives the store of the test, in a folder of its own. */
export function rateTest(addressOf: (folder: string) => string): void {
  const { kills, stops } = SIZE
  test(
    `no rate is exceeded while ${WORKERS} workers on one store are killed ${kills} times and stopped ${stops} times`,
    { timeout: 300_000 },
    () => ratesHold(addressOf(fleet.folder)),
  )
}

async function ratesHold(path: string): Promise<void> {
  const { runs: RUNS } = SIZE
  const trail = join(fleet.folder, "trail")
  const store = openStore(path)
  await store.runs({ limit: 1 })
  const log = await startLog(path)
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => fleet.start(path, trail)))
  const [first] = workers as [ChildProcess]
  first.send(RUNS)
  await answer(first)
  await disturb(workers, log, () => fleet.start(path, trail))
  const inFlight = async (workflow?: string) =>
    (await store.runs({ status: ["queued", "running", "waiting"], workflow, limit: 1 })).length > 0
  while (await inFlight("jobs")) await later()
  for (const worker of workers) {
    worker.send("enough")
    await answer(worker)
  }
  while (await inFlight()) await later()

  const runs = await store.runs({ limit: 100_000 })
  expect(new Set(runs.map(({ status }) => status)), `SEED=${SEED}`).toEqual(new Set(["completed"]))
  const jobs = runs.filter(({ workflow }) => workflow === "jobs")
  expect(jobs, `SEED=${SEED}`).toHaveLength(RUNS)
  for (const { runId } of jobs) expect(await store.slots.ofRun(runId), `SEED=${SEED}`).toEqual([])
  const starts = await log.starts()
  const tasks = starts.filter(({ lanes }) => lanes !== undefined && lanes.length > 0)
  checkRuns(starts, jobs)
  checkTasks(tasks)
  const pulses = checkThrottle(
    runs.filter(({ workflow }) => workflow === "pulse"),
    readFileSync(trail, "utf8").trim().split("\n"),
  )
  console.log(
    `SEED=${SEED}: ${SIZE.kills} kills, ${SIZE.stops} stops; ${RUNS} starts of runs, ${tasks.length} of tasks; ${pulses}`,
  )
  await Promise.all(workers.map(kill))
  await log.close()
  await store.close()
}

/** Kills and stops workers in the middle of work: each time after some more runs have started. */
async function disturb(
  workers: ChildProcess[],
  log: StartLog,
  start: () => Promise<ChildProcess>,
): Promise<void> {
  const { runs, kills, stops } = SIZE
  const faults = [...Array<"kill">(kills).fill("kill"), ...Array<"stop">(stops).fill("stop")]
  const [order = []] = fc.sample(fc.shuffledSubarray(faults, { minLength: faults.length }), {
    seed: SEED,
    numRuns: 1,
  })
  const places = fc.sample(fc.tuple(fc.nat(WORKERS - 1), fc.nat(MAX_STOP)), {
    seed: SEED,
    numRuns: order.length,
  })
  const continuing: Promise<void>[] = []
  for (const [i, fault] of order.entries()) {
    const [place, time] = places[i] as [number, number]
    while ((await log.count()) < Math.floor(((i + 0.5) * runs) / order.length)) await later()
    const victim = workers[place] as ChildProcess
    if (fault === "kill") {
      await kill(victim)
      workers[place] = await start()
      continue
    }
    victim.kill("SIGSTOP")
    // By the clock, not by what others do meanwhile: one that is stopped in a transaction on SQLite keeps them waiting.
    continuing.push(later(time).then(() => void victim.kill("SIGCONT")))
  }
  await Promise.all(continuing)
}

function checkRuns(starts: readonly LoggedStart[], jobs: readonly StoredRun[]): void {
  const byId = new Map(starts.filter(({ lanes }) => lanes === undefined).map((one) => [one.runId, one]))
  const of = (some: readonly StoredRun[]) => some.map(({ runId }) => byId.get(runId) as LoggedStart)
  expect(of(jobs), `SEED=${SEED}`).not.toContain(undefined)
  expect(rateExcess(of(jobs), RATES.runs.all), `SEED=${SEED}: runs`).toBeUndefined()
  for (const tenant of TENANTS) {
    const own = of(jobs.filter(({ flow }) => flow?.tenant === tenant))
    expect(rateExcess(own, RATES.runs.tenant), `SEED=${SEED}: runs of ${tenant}`).toBeUndefined()
  }
}

function checkTasks(tasks: readonly LoggedStart[]): void {
  // Every task has started, and those whose process died or was taken for dead have started again.
  expect(tasks.length, `SEED=${SEED}`).toBeGreaterThanOrEqual(SIZE.runs)
  expect(rateExcess(tasks, RATES.tasks.all), `SEED=${SEED}: tasks`).toBeUndefined()
  for (const tenant of TENANTS) {
    const own = tasks.filter(({ lanes }) => lanes?.includes(`rateLimit[0] ${tenant}`))
    expect(own.length, `SEED=${SEED}`).toBeGreaterThanOrEqual(SIZE.runs / TENANTS.length)
    expect(rateExcess(own, RATES.tasks.tenant), `SEED=${SEED}: tasks of ${tenant}`).toBeUndefined()
  }
}

/** At most one run of a tenant in each period, and every id that a caller got is that of a run. */
function checkThrottle(pulses: readonly StoredRun[], lines: readonly string[]): string {
  const periods = pulses.map(({ createdAt, key }) => `${key} ${Math.floor(createdAt / PERIOD)}`)
  expect(new Set(periods).size, `SEED=${SEED}`).toBe(pulses.length)
  for (const { createdAt, key = "" } of pulses)
    expect((JSON.parse(key) as unknown[]).at(-1), `SEED=${SEED}`).toBe(Math.floor(createdAt / PERIOD))
  const known = new Set(pulses.map(({ runId }) => runId))
  const ids = lines.map((line) => line.split(" ")[1] ?? "")
  expect(
    ids.filter((id) => !known.has(id)),
    `SEED=${SEED}`,
  ).toEqual([])
  expect(ids.length, `SEED=${SEED}`).toBeGreaterThan(pulses.length)
  return `${ids.length} inputs throttled to ${pulses.length} runs`
}

function later(milliseconds = 20): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
