/**
 * Simulates many days of one workflow, which must all end the same way: `explore` with faults that the seed chooses,
 * `crashTest` with a crash at every write.
 */

import { usageWithout } from "../../core/internal.ts"
import type { OptionNames } from "../../runtime/internal.ts"
import {
  COMPARED,
  type ComparedOptions,
  compareDays,
  endOf,
  isOrdered,
  type Repetition,
  sorted,
} from "./compared-days.ts"
import {
  type CrashPoint,
  checkTestOptions,
  type Faults,
  type Simulation,
  type WorkflowSource,
} from "./simulate-options.ts"

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

export interface CrashTestOptions extends ComparedOptions {
  /** The number of additional days with random faults. Default 200. */
  readonly seeds?: number | undefined
  /** The first seed; each random day uses the next one. Default 1. */
  readonly seed?: number | undefined
  /**
   * What must be the same, for workflows whose outcome depends on timing. By default the status, the error's code, the
   * outputs, the state and the usage, except that of calls that a crash interrupted; in flow mode, where messages are
   * delivered at once, lists in any order.
   */
  readonly compare?: ((simulation: Simulation) => unknown) | undefined
  /** Called after every simulated run. */
  readonly onProgress?: ((progress: CrashProgress) => void) | undefined
}

export interface CrashProgress {
  /** Simulated runs so far, and in total. */
  readonly done: number
  readonly total: number
  readonly crashes: number
}

export interface CrashReport {
  /** The common outcome: the result of `compare`. */
  readonly outcome: unknown
  /** Writes of the run without faults: a process died at each of them. */
  readonly writes: number
  /** Simulated runs. */
  readonly runs: number
  readonly crashes: number
  /** Handlers that were begun more than once for one task, because their process died. */
  readonly repeated: readonly Repetition[]
}

const SEEDS = 200
const BAD_DAY: Faults = { crash: 3, takeOver: 0.2, duplicateTimers: 0.1 }

const CRASH_TEST: OptionNames<CrashTestOptions> = {
  ...COMPARED,
  seeds: true,
  seed: true,
  compare: true,
  onProgress: true,
}

/**
 * Kills a workflow's process at every possible point. First a day without faults; then, for every write of that day, a
 * process that dies before the write is durable, one that dies right after it, and one that dies when its effects have
 * begun; then days on which the seed chooses: several processes die or are slow, handlers end in any order, writes are
 * late. Every run is resumed until it ends, and must end like the first one; the simulator checks that no finished task
 * and no recorded step runs again. Rejects with CRASH_TEST_FAILED: the error names the seed, where the process died, and
 * the code that repeats it.
 */
export async function crashTest<In, Out>(
  workflow: WorkflowSource<In, Out>,
  input: In,
  options: CrashTestOptions = {},
): Promise<CrashReport> {
  checkTestOptions("crashTest", options, CRASH_TEST)
  return testCrashes(workflow, input, options, crashPoints)
}

/** `crashTest` with a choice of points, by the length of the journal after each write. */
export async function testCrashes<In, Out>(
  workflow: WorkflowSource<In, Out>,
  input: In,
  options: CrashTestOptions,
  pointsOf: (writes: readonly number[]) => readonly CrashPoint[],
): Promise<CrashReport> {
  const {
    seeds = SEEDS,
    seed: first = 1,
    compare = outcomeOf(isOrdered(workflow)),
    onProgress,
    ...compared
  } = options
  const { status: _, before: __, effects: ___, ...rest } = compared
  const days = compareDays(
    workflow,
    input,
    { ...compared, compare },
    {
      code: "CRASH_TEST_FAILED",
      text: ({ seed, faults }, what, replay) =>
        `Seed ${seed}, ${crashOf(faults)}: ${what}\nReplay it: ${replay}`,
    },
  )
  const { writes } = await days.first({ ...rest, seed: first })
  const bad = [
    ...pointsOf(writes).map((point) => ({ ...rest, faults: { crash: [point] }, seed: first })),
    ...Array.from({ length: seeds }, (_, i) => ({ ...rest, faults: BAD_DAY, seed: first + i })),
  ]
  const total = 1 + bad.length
  onProgress?.({ done: 1, total, crashes: 0 })
  for (const [i, day] of bad.entries()) {
    await days.next(day)
    onProgress?.({ done: i + 2, total, crashes: days.report().crashes })
  }
  return { ...days.report(), writes: writes.length, runs: total }
}

/** Before a write is durable, right after it, and when its effects have begun. */
export function crashPoints(writes: readonly number[]): CrashPoint[] {
  return writes.flatMap((end): CrashPoint[] => [{ before: end }, { after: end }, end])
}

function outcomeOf(inOrder: boolean): (simulation: Simulation) => unknown {
  const end = endOf(inOrder)
  return (simulation) => {
    const { result, lost } = simulation
    const state = Object.entries(result.state).map(([key, value]) => [key, inOrder ? value : sorted(value)])
    return { ...end(simulation), state: Object.fromEntries(state), usage: usageWithout(result.usage, lost) }
  }
}

function crashOf(faults: Faults | undefined): string {
  const crash = faults?.crash
  if (crash === undefined) return "without faults"
  if (typeof crash === "number") return "crashes chosen by the seed"
  const [point] = crash as readonly [CrashPoint]
  if (typeof point === "number") return `crash when the journal had ${point} record${point === 1 ? "" : "s"}`
  return "before" in point
    ? `crash before record ${point.before} was durable`
    : `crash right after record ${point.after} was durable`
}
