/**
 * A hostile day: workers on two machines share a file; they are killed, stopped, blocked and their clocks stepped, while
 * one run kills whichever process executes it. Every other run finishes, and every effect happens once, or again
 * under the same key where its process was killed or stopped in the middle of it.
 */
import * as fc from "fast-check"
import { expect, inject, test } from "vitest"
import { type Effect, field, until, type Worker } from "./workers.ts"

const RUNS = 24
const STEPS = 25
const ROUNDS = inject("isProof") ? 3 : 1
const SEED = inject("seed")
const FAULTS = ["kill", "stop", "block", "clock"] as const
type Fault = (typeof FAULTS)[number]

test(`${RUNS} runs survive ${ROUNDS * FAULTS.length} kills, stops, blocked loops and clock steps beside a run that kills its process`, {
  timeout: 300_000,
}, async () => {
  const { store, worker, effects } = field({ lease: 1_000 })
  const machines = ["a", "a", "b", "b"]
  const workers: Worker[] = []
  for (const machine of machines) workers.push(await worker({ machine }))
  /** Processes that were killed, or stopped for longer than a lease. */
  const interrupted = new Set<number>()
  const counts: Record<Fault | "deaths", number> = { kill: 0, stop: 0, block: 0, clock: 0, deaths: 0 }

  const replaceDead = async () => {
    for (const [i, one] of workers.entries()) {
      if (!one.process.isOver) continue
      counts.deaths++
      interrupted.add(one.process.pid)
      workers[i] = await worker({ machine: machines[i] })
    }
  }
  for (let i = 0; i < RUNS; i++) (workers[i % 4] as Worker).start("steps", `s${i}`, STEPS)
  ;(workers[0] as Worker).start("deadly", "culprit", 400)
  // A start survives its process once it is recorded; what a killed process had not recorded never began.
  await until(async () => (await store.runs({ limit: 100 })).length === RUNS + 1)

  const all = Array.from({ length: ROUNDS }, () => FAULTS).flat()
  const [order = []] = fc.sample(fc.shuffledSubarray(all, { minLength: all.length }), {
    seed: SEED,
    numRuns: 1,
  })
  const victims = fc.sample(fc.nat(3), { seed: SEED, numRuns: all.length })
  for (const [i, fault] of order.entries()) {
    const victim = victims[i] as number
    const before = effects().length
    // In the middle of work, not between: some effects after the last fault, unless all is done.
    await until(async () => effects().length > before + 5 || (await isDone()))
    await replaceDead()
    const one = workers[victim] as Worker
    counts[fault]++
    if (fault === "kill") {
      interrupted.add(one.process.pid)
      one.process.signal("SIGKILL")
      await one.process.end()
      workers[victim] = await worker({ machine: machines[victim] })
    } else if (fault === "stop") {
      interrupted.add(one.process.pid)
      one.process.signal("SIGSTOP")
      // Until another one has beaten for two leases: so long the others have looked. One that was stopped in the middle
      // of a write keeps all others from writing, so that the stop itself is bounded.
      const beats = async () =>
        Math.max(
          0,
          ...(await store.holders()).flatMap(({ pid, beat }) => (pid === one.process.pid ? [] : [beat])),
        )
      const from = await beats()
      const end = performance.now() + 4_000
      await until(async () => (await beats()) > from + 6 || performance.now() > end)
      one.process.signal("SIGCONT")
    } else if (fault === "block") one.start("block", `b${i}`, 1_500)
    else one.send({ type: "clock", by: i % 2 === 0 ? 7_200_000 : -7_200_000 })
  }

  async function isDone(): Promise<boolean> {
    const done = await store.runs({ workflow: "steps", status: ["completed"], limit: 100 })
    return done.length === RUNS
  }
  await until(async () => {
    await replaceDead()
    const parked = (await store.run("culprit"))?.status === "quarantined"
    const blocked = await store.runs({ workflow: "block", status: ["running", "waiting"] })
    return parked && blocked.length === 0 && (await isDone())
  })

  const where = `SEED=${SEED}`
  const quarantined = await store.runs({ status: ["quarantined"] })
  expect(
    quarantined.map(({ runId }) => runId),
    where,
  ).toEqual(["culprit"])
  for (let i = 0; i < RUNS; i++) {
    const records = await store.read(`s${i}`, 0)
    const finished = records.filter(({ entry }) => entry.type === "task.finished")
    expect(finished, `${where}, run s${i}`).toHaveLength(1)
  }
  const byName = new Map<string, Effect[]>()
  for (const effect of effects()) {
    const name = `${effect.runId} ${effect.name}`
    byName.set(name, [...(byName.get(name) ?? []), effect])
  }
  for (let i = 0; i < RUNS; i++) {
    for (let step = 0; step < STEPS; step++) expect(byName.has(`s${i} ${step}`), where).toBe(true)
  }
  let again = 0
  for (const [name, times] of byName) {
    again += times.length - 1
    expect(new Set(times.map(({ key }) => key)).size, `${where}, ${name}: one key`).toBe(1)
    for (const { pid } of times.slice(0, -1)) {
      expect(
        interrupted.has(pid),
        `${where}, ${name}: repeated after process ${pid}, which was not interrupted`,
      ).toBe(true)
    }
  }
  console.log(
    `${where}: ${JSON.stringify(counts)}; ${byName.size} effects, ${again} repeated under the same key`,
  )
})
