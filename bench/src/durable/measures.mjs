// What is measured: for each measure its sizes, how many durable steps a pass has, and the right answer of a pass.
import { stepsOfConcurrentRun } from "./message.mjs"
import { systemNames } from "./systems/index.mjs"

const withFull = ["raw", "superstep"]
const withoutFull = systemNames.filter((name) => !withFull.includes(name))

/** As timing.mjs takes them; `prepare` gets a session. */
export const timedMeasures = [
  {
    id: "steps",
    title: "One run, each step adds a message of 1 KB to its state: time per durable step",
    sizeName: (size) => `${size} steps`,
    sizes: [100, 300, 1_000, 10_000],
    operations: (size) => size,
    expected: (size) => size,
    needs: "open",
    prepare: (session, size) => session.steps(size),
  },
  {
    id: "full",
    title: "The same, durable against power failure too: time per durable step",
    sizeName: (size) => `${size} steps`,
    sizes: [1_000],
    operations: (size) => size,
    expected: (size) => size,
    needs: "open",
    full: true,
    leaveOut: withoutFull,
    prepare: (session, size) => session.steps(size),
  },
  {
    id: "concurrent",
    title: `Concurrent runs of ${stepsOfConcurrentRun} such steps: time per durable step`,
    sizeName: (size) => `${size} runs`,
    sizes: [1_000],
    operations: (size) => size * stepsOfConcurrentRun,
    expected: (size) => size * stepsOfConcurrentRun,
    needs: "open",
    prepare: (session, size) => session.concurrent(size),
  },
  {
    id: "concurrent-full",
    title: "The same, durable against power failure too: time per durable step",
    sizeName: (size) => `${size} runs`,
    sizes: [1_000],
    operations: (size) => size * stepsOfConcurrentRun,
    expected: (size) => size * stepsOfConcurrentRun,
    needs: "open",
    full: true,
    leaveOut: withoutFull,
    prepare: (session, size) => session.concurrent(size),
  },
]

const resumable = ["raw", "superstep", "langgraph", "langgraph delta"]

/** Which systems at which size: a long history is only made of those that make it in seconds. */
export const resumeMeasures = [
  {
    id: "resume",
    title: "Resume in a new process, state of constant size: time after import",
    growing: false,
    sizes: { 1000: resumable, 100000: ["raw", "superstep"] },
  },
  {
    id: "resume-growing",
    title: "Resume in a new process, 1 KB of state per step: time after import",
    growing: true,
    sizes: { 1000: resumable, 10000: ["raw", "superstep"] },
  },
]

export const measureIds = [...timedMeasures, ...resumeMeasures].map((measure) => measure.id)
