/** Runs the clerk, or resumes its run, and kills itself right after the n-th append is durable. */
import { sqliteStore } from "superstep/sqlite"
import { clerk } from "./errand.ts"

const [path = "", trail = "", runId = "", at = "0"] = process.argv.slice(2)
const store = sqliteStore({ path })
let appends = 0
const deadly = {
  ...store,
  append: async (...args: Parameters<typeof store.append>) => {
    await store.append(...args)
    appends++
    if (appends === Number(at)) process.kill(process.pid, "SIGKILL")
  },
}
const agent = clerk(trail)
const known = (await store.run(runId)) !== undefined
const run = known
  ? agent.resume(runId, { store: deadly })
  : agent.run("What does it cost?", { runId, store: deadly })
const { status, outputs, usage } = await run.result
console.log(JSON.stringify({ status, outputs, usage }))
await store.close()
