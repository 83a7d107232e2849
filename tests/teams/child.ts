/** Runs the team, or resumes its run, and kills itself right after the n-th append is durable. */
import { deadlyStore } from "../crash/deadly-store.ts"
import { desk } from "./desk.ts"

const [path = "", trail = "", runId = "", at = "0"] = process.argv.slice(2)
const { store, deadly } = deadlyStore(path, Number(at))
const team = desk(trail)
const known = (await store.run(runId)) !== undefined
const run = known ? team.resume(runId, { store: deadly }) : team.run("How many?", { runId, store: deadly })
const { status, outputs, usage, state } = await run.result
console.log(JSON.stringify({ status, outputs, modelCalls: usage.modelCalls, team: state.team }))
await store.close()
