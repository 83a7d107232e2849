/** Signals to runs whose workers are killed: each accepted signal is taken once, in order, though two senders send it. */
import type { ChildProcess } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as fc from "fast-check"
import type { Runtime } from "superstep"
import { expect, inject, test } from "vitest"
import { openCaller } from "../runtimes.ts"
import { sized } from "../sized.ts"
import { openStore } from "../stores.ts"
import { answer, kill, killableWorkers } from "./killable-workers.ts"

const RUNS = 4
const SIZE = sized({
  check: { signals: 8, kills: 3 },
  short: { signals: 20, kills: 10 },
  full: { signals: 40, kills: 20 },
})
const WORKERS = 2
const SEED = inject("seed")

const fleet = killableWorkers("signal")

/** `addressOf` gives the store of the test, in a folder of its own. */
export function signalTest(addressOf: (folder: string) => string, size = SIZE): void {
  test(
    `every accepted signal is taken once while ${size.kills} of ${WORKERS} workers are killed`,
    {
      timeout: 300_000,
    },
    () => deliversAll(addressOf(fleet.folder), size),
  )
}

async function deliversAll(path: string, { signals: SIGNALS, kills: KILLS }: typeof SIZE): Promise<void> {
  const trail = join(fleet.folder, "trail")
  const workers = await Promise.all(Array.from({ length: WORKERS }, () => fleet.start(path, trail)))
  const [first] = workers as [ChildProcess]
  first.send({ runs: RUNS, count: SIGNALS })
  await answer(first)
  const stores = [openStore(path), openStore(path)]
  const senders = await Promise.all(stores.map((store) => openCaller(path, { store, workflows: [] })))
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
    workers[victim] = await fleet.start(path, trail)
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
