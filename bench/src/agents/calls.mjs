// The ways of asking a model that answers at once.
import { agent } from "superstep/agents"
import { callModel } from "superstep/models"
import { tool } from "superstep/tools"
import { z } from "zod"
import { stubModel } from "./stub-model.mjs"

const turns = 10

async function readAll(stream) {
  const reader = stream.getReader()
  while (!(await reader.read()).done);
}

async function watch(run) {
  for await (const _ of run);
  return await run
}

export const next = tool({
  name: "next",
  description: "The next one.",
  input: z.object({}),
  run: () => "more",
})
const prompt = [{ role: "user", content: [{ type: "text", text: "go" }] }]
const model = stubModel(0)
const alone = agent({ name: "alone", model })
const looping = agent({
  name: "looping",
  model: stubModel(turns - 1),
  tools: [next],
  limits: { iterations: 100 },
})
const { signal } = new AbortController()

const tools = `${turns} calls with a tool each but the last`
const asked = { prompt, caller: { agent: "a", ordinal: 0 } }
const WHOLE = "the model itself"
const STREAM = "the model itself, streamed"

/** `per` is how many model calls one of them makes; `over` the way it is compared with. */
export const ways = {
  [WHOLE]: { per: 1, run: () => model.doGenerate({ prompt }) },
  callModel: { per: 1, run: () => callModel([model], asked, { signal }) },
  "an agent, one call": { per: 1, over: WHOLE, run: () => alone.run("go") },
  [`an agent, ${tools}`]: { per: turns, over: WHOLE, run: () => looping.run("go") },
  [STREAM]: { per: 1, run: async () => readAll((await model.doStream({ prompt })).stream) },
  "callModel, streamed": { per: 1, run: () => callModel([model], asked, { signal, onDelta() {} }) },
  "an agent, one call, streamed": { per: 1, over: STREAM, run: () => watch(alone.stream("go")) },
  [`an agent, ${tools}, streamed`]: { per: turns, over: STREAM, run: () => watch(looping.stream("go")) },
}
