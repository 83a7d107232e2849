import fc from "fast-check"
import { expect, test } from "vitest"
import { type BuiltInReducer, type Json, reduce } from "../core/index.ts"
import { randomGraph } from "../core/random-graph.test-support.ts"
import { randomProgram } from "../testing/simulation/random-program.test-support.ts"
import { history } from "./index.ts"
import { anyDay, playDay } from "./random-day.test-support.ts"

test("applying the changes of any run in order gives its state at every checkpoint", async () => {
  await fc.assert(
    fc.asyncProperty(randomGraph, fc.nat(), anyDay, async (spec, salt, how) => {
      const { workflow } = randomProgram(spec, salt, true)
      const store = await playDay(workflow, 1, how)
      const { checkpoints, stateAt } = await history(store, "day")
      const state = new Map<string, Json>(
        Object.entries(structuredClone((await stateAt({ seq: 1 })).state) as { [key: string]: Json }),
      )
      for (const { seq, changes } of checkpoints) {
        for (const { key, reducer, value } of changes) {
          state.set(key, reduce(reducer as BuiltInReducer, state.get(key), structuredClone(value)))
        }
        expect(Object.fromEntries(state)).toEqual((await stateAt({ seq })).state)
      }
    }),
    { numRuns: 60 },
  )
})

test("every task of a run that completed is in one checkpoint, and only one", async () => {
  await fc.assert(
    fc.asyncProperty(randomGraph, fc.nat(), anyDay, async (spec, salt, how) => {
      const { workflow } = randomProgram(spec, salt, true)
      const store = await playDay(workflow, 1, {
        ...how,
        run: {},
        cancelAfter: undefined,
        recordAfter: undefined,
      })
      const { checkpoints, status } = await history(store, "day")
      fc.pre(status === "completed")
      const ended = (await store.read("day", 0)).flatMap(({ frame, entry }) =>
        frame === "" && entry.type === "task.finished" ? [entry.task] : [],
      )
      const listed = checkpoints.flatMap(({ finished }) => finished.map(({ task }) => task))
      expect(new Set(listed).size).toBe(listed.length)
      expect(listed).toEqual(expect.arrayContaining(ended))
    }),
    { numRuns: 60 },
  )
})
