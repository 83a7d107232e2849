// What the engine is held to.
import { growth } from "./judging.mjs"
import { leastCost, measuredCell, ratioTo } from "./report.mjs"
import { leastDifference } from "./statistics.mjs"

const ours = "superstep"

function overBare(section, system) {
  const cell = measuredCell(section, system, 1)
  const bare = measuredCell(section, "plain", 1)
  return cell && bare && leastDifference(cell.samples, bare.samples)
}

/** Of a section with one size for each system. */
function cellOf(section, system) {
  return section?.cells.find((cell) => cell.system === system)
}

function perSize(section, system) {
  const cell = cellOf(section, system)
  return cell && cell.cost / cell.size
}

export const engineTargets = [
  {
    name: "chain step, times the plain loop (1,000 nodes)",
    atMost: 10,
    measure: (sections) => ratioTo(sections.chain, ours, "plain", 1_000),
  },
  {
    name: "loop step, times the plain loop (1,000 passes)",
    atMost: 10,
    measure: (sections) => ratioTo(sections.loop, ours, "plain", 1_000),
  },
  {
    name: "chain step, times faster than LangGraph.js",
    atLeast: 200,
    measure: (sections) => ratioTo(sections.chain, "langgraph", ours, 1_000),
  },
  {
    name: "chain step, times faster than LangGraph.js functional",
    atLeast: 200,
    measure: (sections) => ratioTo(sections.chain, "langgraph functional", ours, 1_000),
  },
  {
    name: "loop step, times faster than LangGraph.js",
    atLeast: 200,
    measure: (sections) => ratioTo(sections.loop, "langgraph", ours, 1_000),
  },
  {
    name: "cost per step, 1,000 nodes against 10",
    atMost: 1.25,
    measure: (sections) => growth(sections.chain, ours, 10, 1_000),
    limit: (sections) => growth(sections.chain, "plain", 10, 1_000),
  },
  {
    name: "step of 1,000 concurrent runs, times plain",
    atMost: 10,
    measure: (sections) => ratioTo(sections.concurrent, ours, "plain", 1_000),
  },
  {
    name: "first fan-out of 10,000 in a new process, ms",
    atMost: 50,
    measure: (sections) => leastCost(sections.cold, ours, 10_000),
    limit: (sections) => leastCost(sections.cold, "plain", 10_000),
  },
  {
    name: "cost per task, 100,000 tasks against 100",
    atMost: 2,
    measure: (sections) => growth(sections["fan-out"], ours, 100, 100_000),
    limit: (sections) => growth(sections["fan-out"], "plain", 100, 100_000),
  },
  {
    name: "cost per nested call, 200 levels against 50",
    atMost: 1.5,
    measure: (sections) => growth(sections.nested, ours, 50, 200),
    limit: (sections) => growth(sections.nested, "plain", 50, 200),
  },
  {
    name: "import and hello world over bare node, ms",
    atMost: 20,
    measure: (sections) => overBare(sections["start-up"], ours),
  },
  {
    name: "import alone over bare node, ms",
    atMost: 20,
    measure: (sections) => overBare(sections["start-up"], `${ours}, import alone`),
  },
]

export const memoryTargets = [
  {
    name: "heap per pending task, bytes",
    atMost: 700,
    measure: (sections) => cellOf(sections.pending, ours)?.cost,
    limit: (sections) => cellOf(sections.pending, "plain")?.cost,
  },
  {
    name: "heap per idle run, bytes",
    atMost: 4_000,
    measure: (sections) => cellOf(sections.idle, ours)?.cost,
    limit: (sections) => cellOf(sections.idle, "plain")?.cost,
  },
  {
    name: "a value of 200 MB: most memory, times the value",
    atMost: 2,
    measure: ({ value }) => perSize(value, ours),
    limit: ({ value }) => perSize(value, "plain"),
  },
  {
    name: "the same on SQLite, times raw inserts",
    atMost: 1.25,
    measure: ({ value }) => value && perSize(value, `${ours} + sqlite`) / perSize(value, "raw"),
  },
]
