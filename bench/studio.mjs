#!/usr/bin/env node
// The studio in Chromium: first paint, a large graph, a run of 20,000 events, tokens at full speed, memory of a live run.
import { runBench, show } from "./src/bench.mjs"
import { listOption, positiveOption } from "./src/options.mjs"
import { firstPaint, graph, longRun, memory, tokens } from "./src/studio/measures.mjs"
import { openWorld } from "./src/studio/world.mjs"
import { costText, shortNumber, textTable } from "./src/table.mjs"

const whole = {
  rounds: 5,
  runs: 500,
  nodes: 300,
  events: 20_000,
  frames: 300,
  words: 10_000,
  parts: 6,
  steps: 5_000,
}
const small = { rounds: 1, runs: 5, nodes: 22, events: 200, frames: 10, words: 50, parts: 2, steps: 50 }

const ms = (value) => costText(value, "ms")

const measures = {
  "first-paint": {
    title: "The list of runs, from the start of the navigation to its rows",
    run: firstPaint,
    rows: ({ median }) => [["rows on the screen", ms(median)]],
  },
  graph: {
    title: "A graph of 300 nodes, from its data to the screen",
    run: graph,
    rows: ({ median }) => [["laid out and drawn", ms(median)]],
  },
  "long-run": {
    title: "A run of 20,000 events",
    run: longRun,
    rows: ({ opened, scrubbed }) => [
      ["events", shortNumber(scrubbed.events)],
      ["opened", ms(opened.median)],
      ["frames per second while dragging", shortNumber(scrubbed.fps)],
      ["95 % of frames within", ms(scrubbed.p95)],
    ],
  },
  tokens: {
    title: "Tokens at full speed",
    run: tokens,
    rows: ({ words, took, longest, over }) => [
      ["tokens", shortNumber(words)],
      ["on the screen after", ms(took)],
      ["longest task of the page", ms(longest)],
      ["tasks over 50 ms", String(over)],
    ],
  },
  memory: {
    title: "The heap of a page on a live run",
    run: memory,
    rows: ({ events, heaps, growth }) => [
      ["events", shortNumber(events)],
      ...heaps.map((heap, i) => [`after part ${i + 1}`, costText(heap, "B")]),
      ["second half against first", shortNumber(growth)],
    ],
  },
}

const options = {
  only: { type: "string", help: `measures, by comma: ${Object.keys(measures).join(", ")}` },
  rounds: { type: "string", default: String(whole.rounds), help: "samples of each time" },
}

async function measure(values) {
  const only = listOption(values.only, Object.keys(measures), "measure")
  const sizes = values.smoke
    ? small
    : { ...whole, rounds: Math.ceil(positiveOption(values.rounds, "--rounds")) }
  const world = await openWorld(sizes)
  const sections = {}
  try {
    for (const id of only) {
      const { title, run, rows } = measures[id]
      console.error(`measuring ${id} …`)
      sections[id] = await run(world, sizes)
      show(title, textTable(["", ""], rows(sections[id])))
    }
  } finally {
    await world.close()
  }
  return { partial: only.length < Object.keys(measures).length, sizes, sections }
}

await runBench({
  name: "studio",
  options,
  packages: ["superstep", "@superstep/server", "@superstep/studio"],
  measure,
  targets: [
    { name: "first paint of the runs, ms", atMost: 1_000, measure: (found) => found["first-paint"]?.median },
    {
      name: "graph of 300 nodes after its data, ms",
      atMost: 100,
      measure: ({ graph: found }) => found?.median,
    },
    {
      name: "open a run of 20,000 events, ms",
      atMost: 1_000,
      measure: (found) => found["long-run"]?.opened.median,
    },
    {
      name: "frames per second while dragging through it",
      atLeast: 50,
      measure: (found) => found["long-run"]?.scrubbed.fps,
    },
    {
      name: "10,000 tokens at full speed: longest task, ms",
      atMost: 50,
      measure: ({ tokens: found }) => found?.longest,
    },
    {
      name: "heap of a live run, second half against first",
      atMost: 1.1,
      measure: ({ memory: found }) => found?.growth,
    },
  ],
})
