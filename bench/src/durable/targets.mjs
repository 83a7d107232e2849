// What durable runs are held to.
import { growth } from "../judging.mjs"
import { leastCost, measuredCell, ratioTo } from "../report.mjs"
import { messageBytes } from "./message.mjs"

const ours = "superstep"

function timesPayload(section, system, steps) {
  const cell = measuredCell(section, system, steps)
  return cell && cell.cost / (steps * messageBytes)
}

/** What each step adds to the file, from one size to another, against the payload. */
function addedPerStep(section, system, from, to) {
  const small = measuredCell(section, system, from)
  const large = measuredCell(section, system, to)
  return small && large && (large.cost - small.cost) / ((to - from) * messageBytes)
}

export const durableTargets = [
  {
    name: "durable step, times a raw insert (100 steps)",
    atMost: 2,
    measure: ({ steps }) => ratioTo(steps, ours, "raw", 100),
  },
  {
    name: "durable step, times a raw insert (1,000 steps)",
    atMost: 2,
    measure: ({ steps }) => ratioTo(steps, ours, "raw", 1_000),
  },
  {
    name: "the same against power failure, times a raw FULL insert",
    atMost: 2,
    measure: ({ full }) => ratioTo(full, ours, "raw", 1_000),
  },
  {
    name: "durable step of 1,000 concurrent runs, times a raw group commit",
    atMost: 3,
    measure: ({ concurrent }) => ratioTo(concurrent, ours, "raw", 1_000),
  },
  {
    name: "the same against power failure, times a raw FULL group commit",
    atMost: 3,
    measure: (sections) => ratioTo(sections["concurrent-full"], ours, "raw", 1_000),
  },
  {
    name: "durable step, times faster than LangGraph.js (1,000 steps)",
    atLeast: 50,
    measure: ({ steps }) => ratioTo(steps, "langgraph", ours, 1_000),
  },
  {
    name: "durable step, times faster than LangGraph.js with a delta channel",
    atLeast: 50,
    measure: ({ steps }) => ratioTo(steps, "langgraph delta", ours, 1_000),
  },
  {
    name: "time per durable step, 10,000 steps against 1,000",
    atMost: 1.25,
    measure: ({ steps }) => growth(steps, ours, 1_000, 10_000),
    limit: ({ steps }) => growth(steps, "raw", 1_000, 10_000),
  },
  {
    name: "bytes on disk after closing, times the payload (1,000 steps)",
    atMost: 1.6,
    measure: ({ onDisk }) => timesPayload(onDisk, ours, 1_000),
    limit: ({ onDisk }) => timesPayload(onDisk, "raw", 1_000),
  },
  {
    name: "bytes that each step adds from 1,000 to 10,000, times the payload",
    atMost: 2,
    measure: ({ onDisk }) => addedPerStep(onDisk, ours, 1_000, 10_000),
    limit: ({ onDisk }) => addedPerStep(onDisk, "raw", 1_000, 10_000),
  },
  {
    name: "resume after 1,000 steps, ms after import",
    atMost: 20,
    measure: ({ resume }) => leastCost(resume, ours, 1_000),
    limit: ({ resume }) => leastCost(resume, "raw", 1_000),
  },
  {
    name: "the same with 1 KB of state per step, ms after import",
    atMost: 25,
    measure: (sections) => leastCost(sections["resume-growing"], ours, 1_000),
    limit: (sections) => leastCost(sections["resume-growing"], "raw", 1_000),
  },
  {
    name: "the same, 10,000 steps against 1,000",
    atMost: 10,
    measure: (sections) => growth(sections["resume-growing"], ours, 1_000, 10_000),
    limit: (sections) => growth(sections["resume-growing"], "raw", 1_000, 10_000),
  },
  {
    name: "resume after 100,000 steps against 1,000, state of constant size",
    atMost: 1.5,
    measure: ({ resume }) => growth(resume, ours, 1_000, 100_000),
    limit: ({ resume }) => growth(resume, "raw", 1_000, 100_000),
  },
]
