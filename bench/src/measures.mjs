// What is timed: for each measure its sizes, how many operations a pass has, and the right answer of a pass.
import { fanOutAnswer, itemList } from "./answers.mjs"

const concurrentSteps = 10

/** Many runs of one short chain, all started before the first has finished. */
async function concurrentPass(system, runs) {
  const run = await system.chain(concurrentSteps)
  const starts = itemList(runs)
  return async () => {
    const answers = await Promise.all(starts.map(() => run()))
    return answers.reduce((sum, answer) => sum + answer, 0)
  }
}

export const timedMeasures = [
  {
    id: "chain",
    title: "Chain of async no-op nodes: cost per step",
    sizeName: (size) => `${size} nodes`,
    sizes: [10, 100, 1_000],
    operations: (size) => size,
    expected: (size) => size,
    needs: "chain",
    prepare: (system, size) => system.chain(size),
  },
  {
    id: "loop",
    title: "Loop of two nodes: cost per step",
    sizeName: (size) => `${size} passes`,
    sizes: [1_000],
    operations: (size) => 2 * size,
    expected: (size) => 2 * size,
    needs: "loop",
    prepare: (system, size) => system.loop(size),
  },
  {
    id: "fan-out",
    title: "Fan-out and join: cost per task",
    sizeName: (size) => `${size} tasks`,
    sizes: [100, 1_000, 10_000, 100_000],
    operations: (size) => size,
    expected: fanOutAnswer,
    needs: "fanOut",
    prepare: (system, size) => system.fanOut(size),
  },
  {
    id: "concurrent",
    title: `Concurrent runs of ${concurrentSteps} steps: cost per step`,
    sizeName: (size) => `${size} runs`,
    sizes: [1_000],
    operations: (size) => size * concurrentSteps,
    expected: (size) => size * concurrentSteps,
    needs: "chain",
    // The journaled variant and the functional one say what they have to say in the chain.
    leaveOut: ["superstep + memory store", "langgraph functional"],
    prepare: concurrentPass,
  },
  {
    id: "nested",
    title: "Workflows called inside workflows: cost per level",
    sizeName: (size) => `${size} levels`,
    sizes: [50, 200],
    operations: (size) => size,
    expected: (size) => size,
    needs: "nested",
    prepare: (system, size) => system.nested(size),
  },
  {
    id: "stream",
    title: "Streaming a chain, every event consumed: cost per step",
    sizeName: (size) => `${size} steps`,
    sizes: [1_000],
    operations: (size) => size,
    expected: (size) => size,
    needs: "stream",
    prepare: (system, size) => system.stream(size),
  },
]

/** The first pass of a new process. Peers that are quadratic are left out. */
export const coldMeasures = [
  {
    id: "cold",
    title: "Fan-out and join, the first in its process: the whole pass",
    sizeName: (size) => `${size} tasks`,
    size: 10_000,
    systems: ["plain", "superstep", "mastra"],
    expected: fanOutAnswer,
    needs: "fanOut",
  },
]

/** Sizes are per system: a peer that is quadratic, or slow to start, is measured on fewer. */
export const memoryMeasures = [
  {
    id: "pending",
    title: "Memory per pending task (a fan-out whose workers all wait)",
    sizes: { plain: 100_000, superstep: 100_000, langgraph: 1_000, mastra: 10_000, xstate: 1_000 },
    expected: fanOutAnswer,
  },
  {
    id: "idle",
    title: "Memory per idle run (waits for an answer from outside)",
    sizes: { plain: 10_000, superstep: 10_000, langgraph: 1_000, mastra: 1_000, xstate: 10_000 },
    // Each run adds the person's 41 to its input, 1.
    expected: (runs) => runs * 42,
  },
]

export const measureIds = [...timedMeasures, ...coldMeasures].map((measure) => measure.id).concat("start-up")
