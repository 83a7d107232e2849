/**
 * A worker of a fleet: starts the requested number of runs, unless another worker has, and executes all runs of the file
 * until it is killed. Every step leaves a line in the trail before its result is recorded.
 */
import { appendFileSync } from "node:fs"
import { openWorker } from "../runtimes.ts"
import { openStore } from "../stores.ts"
import { errand } from "./errand.ts"
import { problemsTo } from "./problems.ts"

const [path = "", trail = ""] = process.argv.slice(2)
const flow = errand((line) => appendFileSync(trail, `${line}\n`))
const store = openStore(path)
const { runtime } = await openWorker(path, {
  store,
  workflows: [flow],
  // So short that holders sometimes seem dead: a slow holder must do no harm.
  lease: 1_000,
  evictAfter: 0,
  // Kills are no fault of the runs.
  maxTakeovers: 1_000,
  onProblem: problemsTo((line) => appendFileSync(trail, `${line}\n`)),
})
let [next, count, isStarting] = [0, 0, false]
process.on("message", (requested: number) => {
  count = requested
  if (!isStarting) void startNext()
})
// The parent process has exited.
process.on("disconnect", () => process.exit())
process.send?.("ready")
/** Starts runs one after another, so that some are always in progress. Skips existing ones. */
async function startNext(): Promise<void> {
  isStarting = next < count
  if (!isStarting) return
  const key = `errand ${next}`
  const [there] = await store.runs({ key })
  if (there === undefined) runtime.start(flow, next, { key }).result.catch(() => undefined)
  next += 1
  setTimeout(startNext, there === undefined ? 100 : 0)
}
