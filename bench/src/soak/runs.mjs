// The runs of a soak: of ten, seven complete, one is asked and answered, one fails and one is cancelled.
import { append, channel, node, workflow } from "superstep"
import { expectAnswer, personsAnswer } from "../answers.mjs"

const notes = channel("notes", append())

const first = node("first", async (value, ctx) => {
  ctx.state.write(notes, [`got ${value}`])
  return value + 1
})
const answered = node("answered", async (value, ctx) => value + (await ctx.ask({ prompt: "How many?" })))
const failing = node("failing", async () => {
  throw new Error("meant to fail")
})
const last = node("last", async (value) => value + 1)

const completing = workflow("completing", { state: [notes] })
  .chain(first, last)
  .build()
const asking = workflow("asking", { state: [notes] })
  .chain(first, answered, last)
  .build()
const breaking = workflow("breaking", { state: [notes] })
  .chain(first, failing, last)
  .build()

async function complete(store) {
  const { outputs } = await completing.run(1, { store })
  expectAnswer("completing", outputs[0], 3)
}

async function askAndAnswer(store) {
  const run = asking.run(1, { store })
  const { requests } = await run
  await run.respond(requests[0].id, personsAnswer)
  expectAnswer("asking", (await run).outputs[0], 3 + personsAnswer)
}

async function fail(store) {
  const { status } = await breaking.run(1, { store }).result
  expectAnswer("breaking", status, "failed")
}

async function cancel(store) {
  const run = asking.run(1, { store })
  await run
  run.cancel("no longer needed")
  expectAnswer("cancelled", (await run.result).status, "cancelled")
}

const kinds = [
  complete,
  complete,
  complete,
  complete,
  complete,
  complete,
  complete,
  askAndAnswer,
  fail,
  cancel,
]

/** One run, of the kind that is next. */
export function oneRun(index, store) {
  return kinds[index % kinds.length](store)
}

/** Those that a runtime has to know. */
export const workflows = [asking]

/** One that waits for an answer, and is left there. */
export async function waitingRun(runtime) {
  const { status } = await runtime.start(asking, 1)
  expectAnswer("waiting", status, "waiting")
}

/** The oldest hundred get their answers at last, and resume where they were. */
export async function answerSome(runtime) {
  for (const { runId, id } of await runtime.requests({ limit: 100 })) {
    await runtime.respond(runId, id, personsAnswer)
    expectAnswer("answered late", (await runtime.get(runId)).outputs[0], 3 + personsAnswer)
  }
}
