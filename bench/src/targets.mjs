// What the engine is held to.
import { growth } from "./judging.mjs"
import { measuredCell, ratioTo } from "./report.mjs"

const ours = "superstep"

function overBare(section) {
  const cell = measuredCell(section, ours, 1)
  const bare = measuredCell(section, "plain", 1)
  return cell && bare && cell.cost - bare.cost
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
    name: "cost per task, 100,000 tasks against 100",
    atMost: 1.5,
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
    name: "memory per pending task, bytes",
    atMost: 1_500,
    measure: (sections) => measuredCell(sections.pending, ours, 100_000)?.cost,
    limit: (sections) => measuredCell(sections.pending, "plain", 100_000)?.cost,
  },
  {
    name: "import and hello world over bare node, ms",
    atMost: 25,
    measure: (sections) => overBare(sections["start-up"]),
  },
]
