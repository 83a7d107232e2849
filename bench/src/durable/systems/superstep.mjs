// Ours with its store on SQLite: every step is in the journal before anything follows from it.
import { sqliteStore } from "@superstep/store-sqlite"
import { append, channel, node, replace, workflow } from "superstep"
import { expectAnswer, itemList } from "../../answers.mjs"
import { message, stepsOfConcurrentRun } from "../message.mjs"

const messages = channel("messages", append())
const last = channel("last", replace())
const runId = "waits"

const adding = node("adding", async (count, ctx) => {
  ctx.state.write(messages, [message(count)])
  return count + 1
})
const replacing = node("replacing", async (count, ctx) => {
  ctx.state.write(last, message(count))
  return count + 1
})
const asking = node("asking", async (_, ctx) => ctx.ask({ prompt: "Continue?" }))

/** The default limit of supersteps is for agents; these runs are longer on purpose. */
function atMost(steps) {
  return { limits: { supersteps: steps + 2 } }
}

function stepsWorkflow(steps) {
  return workflow("steps", { state: [messages] })
    .start(adding)
    .loop(adding, adding, { until: (count) => count >= steps })
    .build()
}

function waitingWorkflow({ steps, growing }) {
  const step = growing ? adding : replacing
  return workflow("waits", { state: [messages, last] })
    .start(step)
    .loop(step, step, { until: (count) => count >= steps, exit: asking })
    .build()
}

export function open(path, { full }) {
  const store = sqliteStore({ path, durability: full ? "full" : "normal" })
  return {
    steps(count) {
      const built = stepsWorkflow(count)
      const options = { store, ...atMost(count) }
      return async () => (await built.run(0, options)).state.messages.length
    },
    concurrent(runs) {
      const built = stepsWorkflow(stepsOfConcurrentRun)
      return async () => {
        const results = await Promise.all(itemList(runs).map(() => built.run(0, { store })))
        return results.reduce((sum, { state }) => sum + state.messages.length, 0)
      }
    },
    close: () => store.close(),
  }
}

export async function wait(path, options) {
  const store = sqliteStore({ path })
  const { status } = await waitingWorkflow(options).run(0, { store, runId, ...atMost(options.steps) })
  expectAnswer("superstep: status", status, "waiting")
  await store.close()
}

export async function resume(path, options) {
  const store = sqliteStore({ path })
  const { status, state } = await waitingWorkflow(options).resume(runId, { store })
  expectAnswer("superstep: status", status, "waiting")
  return { lastMessage: options.growing ? state.messages.at(-1) : state.last, close: () => store.close() }
}
