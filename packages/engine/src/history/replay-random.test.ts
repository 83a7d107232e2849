import fc from "fast-check"
import { expect, test } from "vitest"
import { compileGraph, graphData, type Json } from "../core/index.ts"
import { randomGraph } from "../core/random-graph.test-support.ts"
import { type Faults, type SimulateOptions, simulate } from "../testing/index.ts"
import { randomProgram } from "../testing/random-program.test-support.ts"
import { printReplay, type Recording, replay } from "./index.ts"

/** The workflow that handlers of random programs call. */
const inner = compileGraph({
  name: "inner",
  start: "first",
  nodes: [
    { id: "first", kind: "node" },
    { id: "second", kind: "node" },
  ],
  edges: [{ kind: "single", from: "first", to: "second" }],
}).graph

const faults: fc.Arbitrary<Faults> = fc.record(
  {
    fail: fc.constantFrom(0, 0.3),
    duplicateTimers: fc.constantFrom(0, 0.5),
    clockBack: fc.constantFrom(0, 0.1),
  },
  { requiredKeys: [] },
)

const day: fc.Arbitrary<SimulateOptions> = fc.record({
  seed: fc.nat(),
  faults,
  timers: fc.constantFrom("idle", "anytime"),
  answers: fc.constantFrom(
    ({ prompt }: { prompt: string }) => prompt,
    ({ id }: { id: string }) => (id.endsWith("1") ? undefined : id),
  ),
  run: fc.record(
    { budget: fc.record({ modelCalls: fc.integer({ min: 1, max: 9 }) }), timeout: fc.integer({ min: 1, max: 200 }) },
    { requiredKeys: [] },
  ),
})

test("a run of any graph, on any day, replays as the same against its own workflow (R1)", async () => {
  await fc.assert(
    fc.asyncProperty(randomGraph, fc.nat(), fc.boolean(), day, fc.nat(5), async (spec, salt, mayWait, options, input) => {
      const { workflow } = randomProgram(spec, salt, mayWait)
      const { journal } = await simulate(workflow, input, options)
      const graphs = [workflow.program.graph, inner].map(graphData)
      const recording: Recording = {
        version: 1,
        workflow: workflow.name,
        runId: "simulated",
        records: journal,
        graphs: Object.fromEntries(graphs.map(({ hash, data }): [string, Json] => [hash, data])),
      }
      const report = await replay(recording, workflow)
      expect(printReplay(report)).toBe('Replay of run "simulated" of workflow "random": the same.')
    }),
    { numRuns: Number(process.env["REPLAYS"] ?? 150) },
  )
})
