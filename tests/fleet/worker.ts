/**
 * A worker of a fleet: starts as many runs as it is told to, unless another worker has, and looks after all runs of the
 * file until it is killed. Every step leaves a line in the trail before its result is on record.
 */
import { appendFileSync } from "node:fs"
import { Runtime } from "superstep"
import { sqliteStore } from "superstep/sqlite"
import { errand } from "./errand.ts"

const [path = "", trail = ""] = process.argv.slice(2)
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
let [next, count, isStarting] = [0, 0, false]
process.on("message", (told: number) => {
  count = told
  if (!isStarting) void startNext()
})
// Whoever started it is gone.
process.on("disconnect", () => process.exit())
process.send?.("ready")
/** One after another, so that some are always under way; those that are there are passed by. */
async function startNext(): Promise<void> {
  isStarting = next < count
  if (!isStarting) return
  const key = `errand ${next}`
  const [there] = await store.runs({ key })
  if (there === undefined) runtime.start(flow, next, { key }).result.catch(() => undefined)
  next += 1
  setTimeout(startNext, there === undefined ? 100 : 0)
}
