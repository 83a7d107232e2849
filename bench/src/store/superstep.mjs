// Many runs in one store, by ours.
import { setImmediate as nextTurn } from "node:timers/promises"
import { sqliteStore } from "@superstep/store-sqlite"
import { Runtime } from "superstep"
import { expectAnswer, itemList } from "../answers.mjs"
import { finishing, idOf, interrupted, labelsOf } from "./workflows.mjs"

const atATime = 1_000

/** Finished runs, with labels. */
export async function finished(path, runs) {
  const store = sqliteStore({ path })
  const runtime = new Runtime({ store, workflows: [finishing], recover: false })
  for (let done = 0; done < runs; done += atATime) {
    const batch = itemList(Math.min(atATime, runs - done)).map((index) => done + index)
    await Promise.all(
      batch.map((index) => runtime.start(finishing, 0, { runId: idOf(index), labels: labelsOf(index) })),
    )
  }
  await runtime.close()
  await store.close()
}

/** Runs in their second step, all at once, when their process is killed. */
export async function running(path, runs) {
  const store = sqliteStore({ path })
  let begun = 0
  const all = new Promise((resolve) => {
    const hang = () => {
      begun += 1
      if (begun === runs) resolve()
      return new Promise(() => {})
    }
    const hanging = interrupted(hang)
    const runtime = new Runtime({ store, workflows: [hanging], recover: false })
    for (const index of itemList(runs)) void runtime.start(hanging, 0, { runId: idOf(index) })
  })
  await all
}

/** From a new runtime to the last of the runs completed. */
export async function recover(path, runs) {
  const store = sqliteStore({ path })
  const continuing = interrupted(async (value) => value + 1)
  const start = performance.now()
  const runtime = new Runtime({ store, workflows: [continuing] })
  await runtime.recover()
  while ((await store.runs({ status: ["running"], limit: 1 })).length > 0) await nextTurn()
  const elapsed = performance.now() - start
  expectAnswer("recovered runs", (await runtime.storage()).runs.completed, runs)
  await runtime.close()
  await store.close()
  return elapsed
}

/** Deletes all but the newest `keep`. */
export async function prune(path, runs, keep) {
  const store = sqliteStore({ path })
  const runtime = new Runtime({ store, workflows: [finishing], recover: false })
  const start = performance.now()
  const { count } = await runtime.prune({ keep })
  const elapsed = performance.now() - start
  expectAnswer("pruned runs", count, runs - keep)
  await runtime.close()
  await store.close()
  return elapsed
}

/** Queries by name, each with the number of runs that it finds. */
export async function open(path, runs) {
  const store = sqliteStore({ path })
  const middle = Math.floor(runs / 2)
  const limit = 20
  return {
    queries: {
      "the newest 20": async () => (await store.runs({ limit })).length,
      "a label of one run": async () =>
        (await store.runs({ labels: { customer: `customer-${middle}` }, limit })).length,
      "a label of one run in a hundred": async () =>
        (await store.runs({ labels: { team: "team-7" }, limit })).length,
      "text in one run's id": async () => (await store.runs({ text: idOf(middle).slice(3), limit })).length,
      "text that no run has": async () => (await store.runs({ text: "no such run", limit })).length,
    },
    close: () => store.close(),
  }
}
