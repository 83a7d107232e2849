/**
 * Workflows of every kind in the simulator: processes that die at every write and between, or are only slow, in
 * thousands of schedules. What was found comes with the line that repeats it; SEED=… repeats a run of this file.
 */
import { crashTest, explore, type Simulation } from "superstep/testing"
import { expect, inject, test } from "vitest"
import { outcomeOf, type Scenario, scenarios } from "./scenarios/index.ts"

const [CRASH_DAYS, WILD_DAYS] = inject("isProof") ? [150, 100] : [3, 2]
const base = inject("seed")

const makers: [string, (watch: () => void) => Scenario][] = Object.entries(scenarios)

test.each(makers)(`%s survives every crash, SEED=${base}`, { timeout: 300_000 }, async (_, make) => {
  const scenario = make(() => undefined)
  const { workflow, input, answers, run, status } = scenario
  const undisturbed = (simulation: Simulation) => outcomeOf(scenario, simulation.result)
  const report = await crashTest(workflow, input as never, {
    answers,
    run,
    status,
    seeds: CRASH_DAYS,
    seed: base,
    compare: undisturbed,
  })
  expect(report.crashes).toBeGreaterThan(CRASH_DAYS)

  // Attempts that the simulator fails use something, too.
  const withoutUsage = (simulation: Simulation) => ({ ...undisturbed(simulation), usage: {} })
  const wild = await explore(workflow, input as never, {
    answers,
    run,
    status,
    runs: WILD_DAYS,
    seed: base,
    faults: { crash: 4, takeOver: 0.2, fail: 0.1, duplicateTimers: 0.2, clockBack: 0.02 },
    compare: withoutUsage,
  })
  expect(wild.crashes).toBeGreaterThan(WILD_DAYS)
})
