// What the engine is held to. A target that this run did not measure is said to be so, never reached.
import { measuredCell, ratioTo } from "./report.mjs"
import { pairedRatio } from "./statistics.mjs"
import { shortNumber, textTable } from "./table.mjs"

const ours = "superstep"

/** Cost at one size against the cost at another. */
function growth(section, system, from, to) {
  const small = measuredCell(section, system, from)
  const large = measuredCell(section, system, to)
  return small && large && pairedRatio(large.samples, small.samples)
}

function overBare(section) {
  const cell = measuredCell(section, ours, 1)
  const bare = measuredCell(section, "plain", 1)
  return cell && bare && cell.cost - bare.cost
}

const targets = [
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

/**
 * @returns each target with its measured value, the plain limit's own value where it has one, and `reached`:
 *   true, false, or undefined when not measured
 */
export function judgeTargets(sections) {
  return targets.map(({ name, atMost, atLeast, measure, limit }) => {
    const value = measure(sections)
    const reached =
      value === undefined ? undefined : atMost === undefined ? value >= atLeast : value <= atMost
    return { name, atMost, atLeast, value, plain: limit?.(sections), reached }
  })
}

export function targetTable(judged) {
  const number = (value) => (value === undefined ? "" : shortNumber(value))
  const rows = judged.map(({ name, atMost, atLeast, value, plain, reached }) => [
    name,
    atMost === undefined ? `≥ ${shortNumber(atLeast)}` : `≤ ${shortNumber(atMost)}`,
    number(value),
    number(plain),
    reached === undefined ? "not measured" : reached ? "reached" : "not reached",
  ])
  return textTable(["target", "is", "measured", "plain's own", ""], rows)
}
