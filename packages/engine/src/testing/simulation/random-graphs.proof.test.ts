/** Random graphs, each under many days with faults. A finding is reported with the seed that repeats it. */

import { isDeepStrictEqual } from "node:util"
import fc from "fast-check"
import { expect, inject, test } from "vitest"
import { randomGraph } from "../../core/random-graph.test-support.ts"
import type { Simulation } from "../index.ts"
import { randomProgram } from "./random-program.test-support.ts"
import { simulate } from "./simulation.ts"

const GRAPHS = inject("isProof") ? 300 : 12
const DAYS = 12
const base = inject("seed")
const faults = { crash: 3, takeOver: 0.2, duplicateTimers: 0.1, clockBack: 0.02, changeSent: true, pauses: 2 }

test(`${GRAPHS} graphs survive ${DAYS} days each, SEED=${base}`, { timeout: 300_000 }, async () => {
  let crashes = 0
  let compared = 0
  const specs = fc.sample(randomGraph, { seed: base, numRuns: GRAPHS })
  for (const [i, spec] of specs.entries()) {
    const { workflow, isAlwaysAlike } = randomProgram(spec, base + i, i % 2 === 1)
    const day = async (seed: number, disturbed: boolean): Promise<Simulation> => {
      try {
        return await simulate(workflow, 1, { seed, answers: () => 1, faults: disturbed ? faults : {} })
      } catch (error) {
        const text = `SEED=${base}, graph ${i}, day ${seed}: ${String(error)}\n${JSON.stringify(spec)}`
        throw new Error(text, { cause: error })
      }
    }
    const calm = outcomeOf(await day(base, false))
    for (let seed = base; seed < base + DAYS; seed++) {
      const bad = await day(seed, true)
      crashes += bad.crashes
      if (!isAlwaysAlike) continue
      compared++
      if (isDeepStrictEqual(outcomeOf(bad), calm)) continue
      expect(outcomeOf(bad), `SEED=${base}, graph ${i}, day ${seed}: ${JSON.stringify(spec)}`).toEqual(calm)
    }
  }
  expect(crashes).toBeGreaterThan(GRAPHS * DAYS)
  expect(compared).toBeGreaterThan(GRAPHS)
})

/** For a run that did not complete: the work in progress at its end depends on the order of events. */
function outcomeOf({ result: { status, outputs, state, usage } }: Simulation): unknown {
  return JSON.parse(JSON.stringify(status === "completed" ? { status, outputs, state, usage } : { status }))
}
