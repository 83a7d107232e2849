import fc from "fast-check"
import { expect, test } from "vitest"
import { randomGraph } from "../core/random-graph.test-support.ts"
import { randomProgram } from "../testing/simulation/random-program.test-support.ts"
import { printReplay, recordingOf, replay } from "./index.ts"
import { anyDay, playDay } from "./random-day.test-support.ts"
import { openRecording } from "./replay.ts"
import { ReplayedRun } from "./replayed-run.ts"

test("a random run of any graph replays as the same against its own workflow (R1, R3)", async () => {
  await fc.assert(
    fc.asyncProperty(
      randomGraph,
      fc.nat(),
      fc.boolean(),
      anyDay,
      fc.nat(5),
      async (spec, salt, mayWait, how, input) => {
        const { workflow } = randomProgram(spec, salt, mayWait)
        const recording = await recordingOf(await playDay(workflow, input, how), "day")
        const report = await replay(recording, workflow)
        const { journal } = await openRecording(recording)
        const { records } = await new ReplayedRun(journal, {}).play(workflow.program)
        expect(JSON.parse(JSON.stringify(records))).toEqual(JSON.parse(JSON.stringify(recording.records)))
        expect(printReplay(report)).toBe('Replay of run "day" of workflow "random": the same.')
      },
    ),
    { numRuns: 60 },
  )
})
