#!/usr/bin/env node
// What it costs that a run's values are its own: a step against the plain loop for messages of several sizes, and a large
// message through many nodes against copying it once.
import { performance } from "node:perf_hooks"
import { node, workflow } from "superstep"
import { runBench, show } from "./src/bench.mjs"
import { median, pairedRatio } from "./src/statistics.mjs"
import { textTable } from "./src/table.mjs"

const large = { items: Array.from({ length: 10_000 }, (_, i) => ({ id: i, text: "x".repeat(80) })) }
const megabytes = JSON.stringify(large).length / 1e6

/** Per measure: the first message, what a step makes of it, how many steps a pass has, and how many passes a sample. */
const measures = {
  number: { first: 0, next: (n) => n + 1, steps: 1_000, passes: 20 },
  "small object": {
    first: { n: 0, text: "hello" },
    next: ({ n, text }) => ({ n: n + 1, text }),
    steps: 1_000,
    passes: 20,
  },
  "nested object": {
    first: { n: 0, tags: ["a", "b"], of: { x: 1 } },
    next: (message) => ({ ...message, n: message.n + 1 }),
    steps: 1_000,
    passes: 20,
  },
  "large, passed on": { first: large, next: (message) => message, steps: 100, passes: 3 },
  "large, wrapped anew": {
    first: { n: 0, large },
    next: ({ n, large }) => ({ n: n + 1, large }),
    steps: 100,
    passes: 3,
  },
  "large, its list copied by the handler": {
    first: large,
    next: ({ items }) => ({ items: [...items] }),
    steps: 100,
    passes: 1,
  },
}

async function plain(first, next, steps) {
  let message = first
  for (let i = 0; i < steps; i++) message = await next(message)
  return message
}

function chain(next, steps) {
  const nodes = Array.from({ length: steps }, (_, i) => node(`n${i}`, async (message) => next(message)))
  const built = workflow("chain", { limits: { supersteps: steps } })
    .chain(...nodes)
    .build()
  return async (first) => (await built.run(first)).outputs[0]
}

async function timed(passes, run) {
  const start = performance.now()
  for (let i = 0; i < passes; i++) await run()
  return (performance.now() - start) / passes
}

async function copyOnceMs() {
  const copies = []
  for (let i = 0; i < 5; i++) copies.push(await timed(3, async () => structuredClone(large)))
  return median(copies)
}

async function measureOne(name, { first, next, steps, passes }, rounds) {
  const ours = chain(next, steps)
  if (JSON.stringify(await ours(first)) !== JSON.stringify(await plain(first, next, steps)))
    throw new Error(name)
  const samples = []
  for (let round = 0; round <= rounds; round++) {
    const base = await timed(passes, () => plain(first, next, steps))
    const run = await timed(passes, () => ours(first))
    // The first round warms up.
    if (round > 0) samples.push({ plain: base, superstep: run })
  }
  const of = (system) => samples.map((one) => one[system])
  return {
    steps,
    plainMs: median(of("plain")),
    superstepMs: median(of("superstep")),
    ratio: pairedRatio(of("superstep"), of("plain")),
  }
}

async function measure({ smoke }) {
  const results = {}
  for (const [name, one] of Object.entries(measures)) {
    results[name] = await measureOne(name, smoke ? { ...one, steps: 10, passes: 1 } : one, smoke ? 1 : 9)
  }
  const rows = Object.entries(results).map(([name, { steps, plainMs, superstepMs, ratio }]) => [
    name,
    String(steps),
    `${plainMs.toFixed(3)} ms`,
    `${superstepMs.toFixed(3)} ms`,
    ratio.toFixed(1),
  ])
  const copyOnce = await copyOnceMs()
  show(
    "Messages through a chain",
    textTable(["message", "steps", "plain", "superstep", "ratio"], rows),
    `structuredClone of the large message (${megabytes.toFixed(1)} MB), once: ${copyOnce.toFixed(1)} ms`,
  )
  return { megabytes, copyOnceMs: copyOnce, results }
}

await runBench({ name: "values", packages: ["superstep"], measure })
