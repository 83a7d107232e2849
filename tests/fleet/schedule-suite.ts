/** Processes that fire the same schedules on one store, and are killed: each time has exactly one run. */
import { type ChildProcess, fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import { afterAll, beforeAll, expect, inject, test } from "vitest"
import { bundled } from "../bundled.ts"
import { sized } from "../sized.ts"
import { openStore } from "../stores.ts"

const PROCESSES = sized({ check: 4, short: 6, full: 10 })
const SCHEDULES = 3
const TIMES = sized({ check: 5, short: 20, full: 40 })
const KILLS = sized({ check: 4, short: 15, full: 30 })
const SEED = inject("seed")
const EVERY = 1_000

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-schedules-"))
  program = bundled(join(import.meta.dirname, "schedule-worker.ts"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** `addressOf` gives the store of the test, in a folder of its own. */
export function scheduleTest(addressOf: (folder: string) => string): void {
  test(
    `each time of ${SCHEDULES} schedules has one run while ${PROCESSES} processes fire and ${KILLS} are killed`,
    {
      timeout: 300_000,
    },
    () => firesOnce(addressOf(folder)),
  )
}

async function firesOnce(path: string): Promise<void> {
  const problems: unknown[] = []
  const worker = async (): Promise<ChildProcess> => {
    const child = fork(program, [path, String(SCHEDULES)], {
      execArgv: [],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    })
    await new Promise((resolve, reject) => {
      child.once("message", resolve)
      child.once("exit", (code) => reject(new Error(`A worker ended with code ${code}.`)))
    })
    child.on("message", (message) => problems.push(message))
    return child
  }
  const workers = await Promise.all(Array.from({ length: PROCESSES }, worker))
  const store = openStore(path)
  const fired = async () => {
    const runs = await store.runs({ limit: 100_000 })
    return Array.from({ length: SCHEDULES }, (_, i) => {
      const own = runs.filter(({ labels }) => labels?.schedule === `tick/s${i}`)
      return own.map(({ labels }) => Date.parse(labels?.scheduledAt ?? "")).sort((a, b) => a - b)
    })
  }
  const reached = async (count: number) => {
    while ((await fired()).some(({ length }) => length < count)) await later()
  }
  for (const [i, victim] of fc.sample(fc.nat(PROCESSES - 1), { seed: SEED, numRuns: KILLS }).entries()) {
    await reached(Math.ceil(((i + 1) * TIMES) / (KILLS + 1)))
    await kill(workers[victim] as ChildProcess)
    workers[victim] = await worker()
  }
  await reached(TIMES)
  await Promise.all(workers.map(kill))
  const all = await fired()
  for (const [i, times] of all.entries()) {
    const expected = times.map((_, n) => (times[0] as number) + n * EVERY)
    expect(times, `SEED=${SEED}: schedule ${i}`).toEqual(expected)
  }
  expect(problems).toEqual([])
  await store.close()
  console.log(`SEED=${SEED}: ${KILLS} kills, ${all.flat().length} runs of ${SCHEDULES} schedules`)
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGKILL")
  await ended
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 50))
}
