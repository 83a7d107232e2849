/** Signals to runs whose workers are killed: each accepted signal is taken once, in order, though two senders send it. */
import { type ChildProcess, fork } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as fc from "fast-check"
import { Runtime } from "superstep"
import { afterAll, beforeAll, expect, inject, test } from "vitest"
import { bundled } from "../bundled.ts"
import { openStore } from "../stores.ts"

const RUNS = 4
const SIGNALS = inject("isProof") ? 40 : 8
const KILLS = inject("isProof") ? 20 : 3
const WORKERS = 2
const SEED = inject("seed")

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-signals-"))
  program = await bundled(join(import.meta.dirname, "signal-worker.ts"))
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
export function signalTest(addressOf: (folder: string) => string): void {
  test(
    `every accepted signal is taken once while ${KILLS} of ${WORKERS} workers are killed`,
    {
      timeout: 300_000,
    },
    () => deliversAll(addressOf(folder)),
  )
}

async function deliversAll(path: string): Promise<void> {
  const trail = join(folder, "trail")
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => worker(path, trail)))
  const [first] = workers as [ChildProcess]
  first.send({ runs: RUNS, count: SIGNALS })
  await answer(first)
  const stores = [openStore(path), openStore(path)]
  const senders = stores.map((store) => new Runtime({ store, workflows: [], recover: false }))
  const counts = { accepted: 0, stored: 0 }
  const send = async (runtime: Runtime, run: number, n: number) => {
    const delivery = await runtime.signal({ key: `key ${run}` }, "add", n, { id: `signal ${n}` })
    counts.accepted++
    if (delivery === "stored") counts.stored++
  }
  const sending = senders.flatMap((runtime) =>
    Array.from({ length: RUNS }, async (_, run) => {
      for (let n = 0; n < SIGNALS; n++) await send(runtime, run, n)
      return await runtime.update<number>(`run ${run}`, "sum", null, { id: "sum" })
    }),
  )
  const all = Promise.all(sending)
  for (const [i, victim] of fc.sample(fc.nat(WORKERS - 1), { seed: SEED, numRuns: KILLS }).entries()) {
    const due = Math.floor(((i + 0.5) * RUNS * SIGNALS) / KILLS)
    while (counts.accepted < due) await later()
    await kill(workers[victim] as ChildProcess)
    workers[victim] = await worker(path, trail)
  }
  const expected = Array.from({ length: SIGNALS }, (_, n) => n)
  const sum = expected.reduce((one, other) => one + other, 0)
  expect(await all).toEqual(Array.from({ length: sending.length }, () => sum))
  const [store] = stores as [(typeof stores)[number]]
  while ((await store.runs({ status: ["queued", "running", "waiting"], limit: 1 })).length > 0) await later()
  const [runtime] = senders as [Runtime]
  for (let run = 0; run < RUNS; run++) {
    const where = `SEED=${SEED}, run ${run}`
    const { status, outputs, signals } = await runtime.state(`run ${run}`)
    expect([status, outputs, signals], where).toEqual(["completed", [expected], []])
    const records = await store.read(`run ${run}`, 0)
    const received = records.flatMap(({ entry }) => (entry.type === "signal.received" ? [entry.id] : []))
    expect(new Set(received).size, where).toBe(received.length)
    expect(received, where).toHaveLength(SIGNALS + 1)
  }
  const problems = existsSync(trail) ? readFileSync(trail, "utf8").trim().split("\n") : []
  expect(problems.filter((line) => line.startsWith("problem"))).toEqual([])
  console.log(
    `SEED=${SEED}: ${KILLS} kills, ${RUNS * SIGNALS} signals, accepted ${counts.accepted} times, ${counts.stored} of them while nobody executed the run`,
  )
  await Promise.all(senders.map((one) => one.close()))
  await Promise.all(workers.map(kill))
  await Promise.all(stores.map((one) => one.close()))
}

function later(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 20))
}
