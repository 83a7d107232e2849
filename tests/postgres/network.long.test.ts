/**
 * Workers that reach the server through proxies of their own, while everything goes wrong: connections are cut before a
 * statement and before its answer, a worker is cut off for longer than its lease, processes are killed, stopped and blocked,
 * their clocks are changed, and the server crashes. Every run ends as if nothing had happened.
 *
 * N1 A finished step is not repeated: the recorded attempt of a step is its last one, but for an effect that a process had
 *    begun when it was stopped.
 * N2 A step is attempted twice only where a process was killed, stopped or cut off in it: a cut connection repeats nothing.
 * N3 What was accepted is delivered, once: an answer whose sender got a success is the one in the journal.
 */
import * as fc from "fast-check"
import { expect, inject, onTestFinished, test } from "vitest"
import { field, until, useStores } from "../hostile/workers.ts"
import { expectDelivered, type Fault, Fleet, repeatedSteps } from "./network.test-support.ts"
import { startPostgres } from "./start-postgres.ts"

const SEED = inject("seed")
const RUNS = inject("isProof") ? 24 : 6
const STEPS = inject("isProof") ? 60 : 20
const QUESTIONS = inject("isProof") ? 20 : 4
/** ROUNDS=… makes a longer day of it. */
const ROUNDS = Number(process.env.ROUNDS ?? (inject("isProof") ? 2 : 1))
const WORKERS = 3
const FAULTS: readonly (Fault | "crash")[] = ["kill", "stop", "block", "clock", "cut", "partition", "crash"]

test(`${RUNS} runs survive ${ROUNDS} times ${FAULTS.join(", ")}: no finished step is repeated, and every accepted answer is delivered`, {
  timeout: 600_000,
}, async () => {
  const server = await startPostgres()
  onTestFinished(() => server.stop())
  const address = `${server.url()}#network`
  useStores(() => address)
  const { store, worker, effects } = field({ lease: 1_500 })
  const fleet = new Fleet(store, worker)
  await fleet.start(WORKERS, address)
  const ids = Array.from({ length: RUNS }, (_, i) => `s${i}`)
  for (const [i, runId] of ids.entries()) fleet.worker(i).start("steps", runId, STEPS)
  const questions = Array.from({ length: QUESTIONS }, (_, i) => `q${i}`)
  for (const [i, runId] of questions.entries()) fleet.worker(i).start("ask", runId)
  await until(async () => (await store.runs({ limit: 1_000 })).length === RUNS + QUESTIONS)

  const all = Array.from({ length: ROUNDS }, () => FAULTS).flat()
  const [order = []] = fc.sample(fc.shuffledSubarray(all, { minLength: all.length }), {
    seed: SEED,
    numRuns: 1,
  })
  const victims = fc.sample(fc.nat(WORKERS - 1), { seed: SEED, numRuns: all.length })
  const isDone = async () =>
    (await store.runs({ workflow: "steps", status: ["completed"], limit: RUNS })).length === RUNS
  for (const [i, fault] of order.entries()) {
    const before = effects().length
    // In the middle of work, not between: some effects after the last fault, unless all is done.
    await until(async () => effects().length > before + 5 || (await isDone()))
    fleet.answer(questions.filter((_, number) => number % order.length === i))
    if (fault === "crash") await server.crash()
    else await fleet.suffer(fault, victims[i] as number, i)
  }
  await until(async () => {
    fleet.answerAgain()
    return (await store.runs({ status: ["queued", "running", "waiting"], limit: 1 })).length === 0
  })

  const runs = await store.runs({ limit: 1_000 })
  expect(new Set(runs.map(({ status }) => status)), `SEED=${SEED}`).toEqual(new Set(["completed"]))
  expect(runs.map(({ runId }) => runId).sort(), `SEED=${SEED}`).toEqual(
    [...ids, ...questions, ...fleet.blocking].sort(),
  )
  const repeated = await repeatedSteps(store, effects(), fleet, { ids, steps: STEPS })
  const accepted = fleet.accepted()
  await expectDelivered(store, accepted)
  console.log(
    `SEED=${SEED}: ${JSON.stringify({ ...fleet.counts, crash: ROUNDS })}, ${fleet.cuts} connections cut; ${RUNS * STEPS} steps, ${repeated} repeated by processes that were interrupted; answers: ${JSON.stringify(fleet.outcomes())}`,
  )
})
