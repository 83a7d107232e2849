// Workflows whose runs are long, wide or loud, a server with the studio for them, and a Chromium out of npm.
import chromium from "@sparticuz/chromium"
import { createServer, listen } from "@superstep/server"
import { loadStudio } from "@superstep/studio"
import { chromium as playwright } from "playwright-core"
import { memoryStore, node, Runtime, workflow } from "superstep"
import { agent } from "superstep/agents"

/** About as many events as asked for: half of them in a loop of supersteps, half in a map. */
function longWorkflow(events) {
  const passes = Math.floor(events / 2 / 4)
  const items = Math.floor(events / 2 / 2)
  const turn = node("turn", (n) => n + 1)
  const split = node("split", () => Array.from({ length: items }, (_, i) => i))
  const work = node("work", (n) => n * 2)
  const sum = node("sum", (list) => list.length)
  return workflow("long", {
    limits: { supersteps: passes + 100, visits: passes + items, loops: passes + 100 },
  })
    .start(turn)
    .loop(turn, turn, { while: (n) => n < passes, max: passes, exit: split })
    .map(split, work, sum)
    .output(sum)
    .build()
}

/** As many nodes as asked for: layers of ten that are joined again. */
function wideWorkflow(nodes) {
  const layers = Math.max(1, Math.floor(nodes / 11))
  const wide = workflow("wide")
  let before = node("start", (n) => n)
  wide.start(before)
  for (let layer = 0; layer < layers; layer++) {
    const many = Array.from({ length: 10 }, (_, i) => node(`step ${layer} ${i}`, (n) => n))
    const join = node(`join ${layer}`, () => layer)
    wide.fanOut(before, many).fanIn(many, join)
    before = join
  }
  return wide.build()
}

/** Writes so many words as fast as it can, once `gate` opens. */
function loudModel(words, gate) {
  return {
    specificationVersion: "v3",
    provider: "bench",
    modelId: "loud",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("This model only streams.")),
    doStream: async () => {
      await gate()
      let written = -1
      const stream = new ReadableStream({
        pull(controller) {
          if (written === -1) {
            controller.enqueue({ type: "stream-start", warnings: [] })
            controller.enqueue({ type: "text-start", id: "t" })
          } else if (written < words)
            controller.enqueue({ type: "text-delta", id: "t", delta: `word${written} ` })
          else {
            controller.enqueue({ type: "text-end", id: "t" })
            controller.enqueue({
              type: "finish",
              finishReason: { unified: "stop", raw: undefined },
              usage: { inputTokens: { total: 1 }, outputTokens: { total: words } },
            })
            controller.close()
          }
          written++
        },
      })
      return { stream }
    },
  }
}

/** Records steps and logs without end, in bursts that `gate` lets through. */
function liveWorkflow(gate) {
  const work = node("work", async (_, ctx) => {
    for (let burst = 0; ; burst++) {
      const steps = await gate()
      if (steps === undefined) return burst
      for (let i = 0; i < steps; i++) {
        await ctx.step(`${burst}.${i}`, () => ({ burst, i, text: "what was found there" }))
        if (i % 4 === 0) ctx.log("info", "One more", { i })
        if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
      }
    }
  })
  return workflow("live").start(work).build()
}

export async function openWorld({ events, nodes, words }) {
  const gates = { loud: makeGate(), live: makeGate() }
  const loud = agent({ name: "loud", model: loudModel(words, gates.loud.wait), instructions: "Write." })
  const workflows = [
    longWorkflow(events),
    wideWorkflow(nodes),
    workflow("loud").start(loud).build(),
    liveWorkflow(gates.live.wait),
    workflow("small")
      .start(node("one", (n) => n))
      .build(),
  ]
  const runtime = new Runtime({ store: memoryStore(), workflows })
  const server = await listen(createServer({ runtime, workflows, studio: loadStudio() }), { port: 0 })
  chromium.setGraphicsMode = false
  const browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    headless: true,
    args: [
      ...chromium.args.filter((flag) => !/^--(?:headless|single-process|no-zygote)/.test(flag)),
      "--no-sandbox",
      "--disable-background-networking",
      "--enable-precise-memory-info",
    ],
  })
  return {
    url: `${server.url}/studio`,
    runtime,
    browser,
    gates,
    start(name, input) {
      const workflow = workflows.find((one) => one.name === name)
      const { id, result } = runtime.start(workflow, input)
      result.catch(() => undefined)
      return { id, result }
    },
    async close() {
      gates.loud.open(1)
      gates.live.open(undefined)
      await browser.close()
      await server.close({ grace: 100 })
      await runtime.close()
    },
  }
}

/** What waits gets the next value that is let through. */
function makeGate() {
  const values = []
  const waiting = []
  return {
    wait: () =>
      values.length > 0 ? Promise.resolve(values.shift()) : new Promise((resolve) => waiting.push(resolve)),
    open(value) {
      const next = waiting.shift()
      if (next === undefined) values.push(value)
      else next(value)
    },
  }
}
