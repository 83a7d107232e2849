/**
 * Goes on with the run that a killed process left, then starts one of its own and kills itself at a given write:
 * before it is stored, or after it is stored and before anything follows from it.
 */
import { appendFileSync } from "node:fs"
import { sqliteStore } from "@superstep/store-sqlite"
import type { Run, Store } from "superstep"
import { everything } from "./workflow.ts"

const [path = "", trail = "", killed, next, at, moment] = process.argv.slice(2)
const store = sqliteStore({ path })
const flow = everything(({ runId, task, node, attempt }) => {
  appendFileSync(trail, `${JSON.stringify({ pid: process.pid, runId, task, node, attempt })}\n`)
})

/** Answers whatever is asked until the run is over. */
async function finish(run: Run): Promise<object> {
  for (;;) {
    const { status, outputs, state, usage, requests } = await run.result
    if (status !== "waiting") return { status, outputs, state, usage }
    for (const { id } of requests) await run.respond(id, "yes")
  }
}

function deadly(writes: number, when: string): Store {
  let count = 0
  const die = () => process.kill(process.pid, "SIGKILL")
  return {
    read: store.read,
    async append(...args) {
      count++
      if (count === writes && when === "before") die()
      await store.append(...args)
      if (count === writes && when === "after") die()
    },
  }
}

if (killed !== "-") {
  // A run that was killed before its first write never was: it is started again under its name.
  const known = (await store.read(killed as string, 0)).length > 0
  const run = known
    ? flow.resume(killed as string, { store })
    : flow.run("to be or", { runId: killed, store })
  console.log(`ended ${JSON.stringify(await finish(run))}`)
}
if (next !== undefined) {
  const run = flow.run("to be or", { runId: next, store: deadly(Number(at), moment as string) })
  console.log(`survived ${JSON.stringify(await finish(run))}`)
}
await store.close()
