/**
 * A worker of a fleet: starts so many runs, unless another worker has, and looks after all runs of the file until it
 * is killed. Every step leaves a line in the trail before its result is on record.
 */
import { appendFileSync } from "node:fs"
import { Runtime } from "superstep"
import { sqliteStore } from "superstep/sqlite"
import { errand } from "./errand.ts"

const [path = "", trail = "", count = "0"] = process.argv.slice(2)
const flow = errand((line) => appendFileSync(trail, `${line}\n`))
const store = sqliteStore({ path })
const runtime = new Runtime({
  store,
  workflows: [flow],
  // So short that holders seem dead now and then: who is only slow must do no harm.
  lease: 1_000,
  evictAfter: 0,
  onProblem: ({ runId, error }) => appendFileSync(trail, `problem ${runId} ${error.message}\n`),
})
await runtime.recover()
process.send?.("ready")
/** One after another, so that some are always under way; those that are there are passed by. */
async function startNext(i: number): Promise<void> {
  if (i === Number(count)) return
  const [there] = await store.runs({ key: `errand ${i}` })
  if (there === undefined) runtime.start(flow, i, { key: `errand ${i}` }).result.catch(() => undefined)
  setTimeout(() => startNext(i + 1), there === undefined ? 100 : 0)
}
await startNext(0)
