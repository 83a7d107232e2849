/** Runs the team, or resumes its run, and kills itself right after the n-th append is durable. */
import { sqliteStore } from "superstep/sqlite"
import { desk } from "./desk.ts"

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
const team = desk(trail)
const known = (await store.run(runId)) !== undefined
const run = known ? team.resume(runId, { store: deadly }) : team.run("How many?", { runId, store: deadly })
const { status, outputs, usage, state } = await run.result
console.log(JSON.stringify({ status, outputs, modelCalls: usage.modelCalls, team: state.team }))
await store.close()
