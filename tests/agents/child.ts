/** Runs the clerk, or resumes its run, and kills itself right after the n-th append is durable. */
import type { RunResult } from "superstep"
import { deadlyStore } from "../crash/deadly-store.ts"
import { openWorker } from "../runtimes.ts"
import { clusterOf } from "../stores.ts"
import { clerk } from "./errand.ts"

const [path = "", trail = "", runId = "", at = "0"] = process.argv.slice(2)
const { store, deadly } = deadlyStore(path, Number(at))
const agent = clerk(trail)
const known = (await store.run(runId)) !== undefined
const PROMPT = "What does it cost?"
if (clusterOf(path) === undefined) {
  const run = known ? agent.resume(runId, { store: deadly }) : agent.run(PROMPT, { runId, store: deadly })
  tell(await run.result)
} else {
  // Restate brings the run to this process, also one that a killed process left.
  const { runtime, close } = await openWorker(path, { store: deadly, workflows: [agent] })
  tell(await (known ? runtime.get(runId) : runtime.start(agent, PROMPT, { runId })).result)
  await close()
}
await store.close()

function tell({ status, outputs, usage }: Pick<RunResult, "status" | "outputs" | "usage">): void {
  console.log(JSON.stringify({ status, outputs, usage }))
}
