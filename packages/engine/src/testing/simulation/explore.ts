/** Simulates many days of one workflow: they must all end the same way. */

import type { OptionNames } from "../../runtime/internal.ts"
import {
  COMPARED,
  type ComparedOptions,
  compareDays,
  endOf,
  isOrdered,
  type Repetition,
} from "./compared-days.ts"
import { checkTestOptions, type Faults, type Simulation, type WorkflowSource } from "./simulate-options.ts"

export interface ExploreOptions extends ComparedOptions {
  readonly faults?: Faults | undefined
  /** The number of seeds. Default 100. */
  readonly runs?: number | undefined
  /** The first seed; the others follow it. Default 1. */
  readonly seed?: number | undefined
  /**
   * What must be the same for every seed. By default the status, the error's code and the outputs; in flow mode, where
   * messages are delivered at once, the outputs in any order.
   */
  readonly compare?: ((simulation: Simulation) => unknown) | undefined
}

export interface Exploration {
  readonly runs: number
  readonly crashes: number
  /** The common outcome: the result of `compare`. */
  readonly outcome: unknown
  /** Handlers that were begun more than once for one task, because their process died or their attempt failed. */
  readonly repeated: readonly Repetition[]
}

const DEFAULT_FAULTS: Faults = { crash: 3, duplicateTimers: 0.1 }

const EXPLORE: OptionNames<ExploreOptions> = {
  ...COMPARED,
  faults: true,
  runs: true,
  seed: true,
  compare: true,
}

/**
 * Runs the workflow once without faults and then under one seed after another, by default with crashes. Rejects if a seed
 * ends differently or breaks an invariant; the error names the seed and the code that repeats it.
 */
export async function explore<In, Out>(
  workflow: WorkflowSource<In, Out>,
  input: In,
  options: ExploreOptions = {},
): Promise<Exploration> {
  checkTestOptions("explore", options, EXPLORE)
  const {
    runs = 100,
    seed: first = 1,
    compare = endOf(isOrdered(workflow)),
    faults = DEFAULT_FAULTS,
    ...compared
  } = options
  const { status: _, before: __, effects: ___, ...rest } = compared
  const days = compareDays(
    workflow,
    input,
    { ...compared, compare },
    {
      code: "EXPLORATION_FAILED",
      text: ({ seed }, what, replay) => `Seed ${seed}: ${what}\nReproduce: ${replay}`,
    },
  )
  await days.first({ ...rest, seed: first })
  for (let seed = first; seed < first + runs; seed++) await days.next({ ...rest, faults, seed })
  return { runs, ...days.report() }
}
