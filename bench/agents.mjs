#!/usr/bin/env node
// What an agent costs beside its model: the same model asked directly, through callModel, and by an agent; each for a
// whole reply, and for one that is streamed to an observer.
import { performance } from "node:perf_hooks"
import { agent } from "superstep/agents"
import { callModel } from "superstep/models"
import { tool } from "superstep/tools"
import { z } from "zod"
import { describeEnvironment, environmentText } from "./src/environment.mjs"
import { judgeTargets, targetTable } from "./src/judging.mjs"
import { resultsFile, writeResult } from "./src/results.mjs"
import { costText, textTable } from "./src/table.mjs"

const turns = 10
const rounds = 9
const calls = 300

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
}
const said = {
  content: [{ type: "text", text: "done" }],
  finishReason: { unified: "stop", raw: "stop" },
  usage,
  warnings: [],
}

/** The parts of a reply, all there: two pieces of text, or a call. */
function streamed({ content, finishReason }) {
  const parts = content.flatMap((part) =>
    part.type === "text"
      ? [part.text.slice(0, 2), part.text.slice(2)].map((delta) => ({ type: "text-delta", id: "0", delta }))
      : [part],
  )
  const all = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }]
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at < all.length) controller.enqueue(all[at++])
      else controller.close()
    },
  })
}

/** Answers at once; asks for a tool until it has had `turns` results. */
function stubModel(wanted) {
  const reply = (prompt) => {
    const had = prompt.reduce((sum, { role }) => sum + (role === "tool" ? 1 : 0), 0)
    if (had >= wanted) return said
    const call = { type: "tool-call", toolCallId: `c${had}`, toolName: "next", input: "{}" }
    return { ...said, content: [call], finishReason: { unified: "tool-calls", raw: "tool_calls" } }
  }
  return {
    specificationVersion: "v3",
    provider: "stub",
    modelId: "stub",
    supportedUrls: {},
    doGenerate: async ({ prompt }) => reply(prompt),
    doStream: async ({ prompt }) => ({ stream: streamed(reply(prompt)) }),
  }
}

async function readAll(stream) {
  const reader = stream.getReader()
  while (!(await reader.read()).done);
}

async function watch(run) {
  for await (const _ of run);
  return await run
}

const next = tool({ name: "next", description: "The next one.", input: z.object({}), run: () => "more" })
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
const ways = {
  [WHOLE]: { per: 1, run: () => model.doGenerate({ prompt }) },
  callModel: { per: 1, run: () => callModel([model], asked, { signal }) },
  "an agent, one call": { per: 1, over: WHOLE, run: () => alone.run("go") },
  [`an agent, ${tools}`]: { per: turns, over: WHOLE, run: () => looping.run("go") },
  [STREAM]: { per: 1, run: async () => readAll((await model.doStream({ prompt })).stream) },
  "callModel, streamed": { per: 1, run: () => callModel([model], asked, { signal, onDelta() {} }) },
  "an agent, one call, streamed": { per: 1, over: STREAM, run: () => watch(alone.stream("go")) },
  [`an agent, ${tools}, streamed`]: { per: turns, over: STREAM, run: () => watch(looping.stream("go")) },
}

async function sample({ per, run }) {
  const times = Math.ceil(calls / per)
  const start = performance.now()
  for (let i = 0; i < times; i++) await run()
  return ((performance.now() - start) * 1_000) / (times * per)
}

const samples = Object.fromEntries(Object.keys(ways).map((way) => [way, []]))
for (let round = 0; round < rounds; round++) {
  for (const [way, measured] of Object.entries(ways)) {
    const microseconds = await sample(measured)
    if (round > 1) samples[way].push(microseconds)
  }
}
const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]
const medians = Object.fromEntries(Object.entries(samples).map(([way, values]) => [way, median(values)]))

const environment = describeEnvironment(["superstep"])
console.log(environmentText(environment))
const rows = Object.entries(medians).map(([way, microseconds]) => [way, costText(microseconds, "µs")])
console.log(`\nTime per model call\n\n${textTable(["asked by", "per call"], rows)}`)
const targets = judgeTargets(
  Object.entries(ways)
    .filter(([, { over }]) => over !== undefined)
    .map(([way, { over }]) => ({
      name: `overhead per model call over ${over}, µs: ${way}`,
      atMost: 100,
      measure: (all) => all[way] - all[over],
    })),
  medians,
)
console.log(`\nTargets\n\n${targetTable(targets)}`)
writeResult(resultsFile("agents"), { environment, medians, targets })
