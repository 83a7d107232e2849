/**
 * Kills a workflow's process everywhere. First a day without faults; then, at every write of that day, a process that
 * dies before the write is durable, one that dies right after it, and one that dies when what follows has begun; then
 * days on which the seed chooses: several processes die, or are only slow, handlers end in any order, writes are late.
 * Every run is resumed until it ends, and must end as the first one did; no finished task and no recorded step may run
 * again, which the simulator sees to.
 */
import { isDeepStrictEqual } from "node:util"
import { SuperstepError } from "../core/index.ts"
import { usageWithout } from "../core/usage.ts"
import type { Callable } from "../runtime/index.ts"
import { replayLine } from "./replay-line.ts"
import { type CrashPoint, type Faults, type SimulateOptions, type Simulation, simulate } from "./simulate.ts"

export interface CrashTestOptions extends Pick<SimulateOptions, "answers" | "run" | "timers"> {
  /** How many days of the seed's choice follow. Default 200. */
  readonly seeds?: number | undefined
  /** The seed of the first day; the days of the seed's choice count on from it. Default 1. */
  readonly seed?: number | undefined
  /**
   * What must be the same, for workflows whose outcome depends on the order of things. By default the status, the
   * error's code, the outputs, the state and the usage, but for that of calls which a crash cut off; in flow mode, where
   * messages go on as they come, lists in any order.
   */
  readonly compare?: ((simulation: Simulation) => unknown) | undefined
  /** Told after every simulated run. */
  readonly onProgress?: ((progress: CrashProgress) => void) | undefined
}

export interface CrashProgress {
  /** Simulated runs so far, and in all. */
  readonly done: number
  readonly total: number
  readonly crashes: number
}

export interface CrashReport {
  /** How all of them ended: what `compare` gave. */
  readonly outcome: unknown
  /** Writes of the run without faults: a process died at each of them. */
  readonly writes: number
  /** Simulated runs. */
  readonly runs: number
  readonly crashes: number
}

const SEEDS = 200
const BAD_DAY: Faults = { crash: 3, takeOver: 0.2, duplicateTimers: 0.1 }

/** Rejects with CRASH_TEST_FAILED: the error names the seed, where the process died, and the line that repeats it. */
export async function crashTest<In, Out>(
  workflow: Callable<In, Out>,
  input: In,
  options: CrashTestOptions = {},
): Promise<CrashReport> {
  const { seeds = SEEDS, seed: first = 1, compare = outcomeOf(workflow), onProgress, ...rest } = options
  const day = async (one: SimulateOptions) => {
    try {
      return await simulate(workflow, input, one)
    } catch (error) {
      throw failed(input, one, error instanceof Error ? error.message : String(error), error)
    }
  }

  const calm = await day({ ...rest, seed: first })
  const outcome = plain(compare(calm))
  const days = [
    ...crashPoints(calm.writes).map((point) => ({ ...rest, faults: { crash: [point] }, seed: first })),
    ...Array.from({ length: seeds }, (_, i) => ({ ...rest, faults: BAD_DAY, seed: first + i })),
  ]
  const total = 1 + days.length
  let crashes = 0
  onProgress?.({ done: 1, total, crashes })
  for (const [i, one] of days.entries()) {
    const simulation = await day(one)
    const other = plain(compare(simulation))
    if (!isDeepStrictEqual(other, outcome)) throw failed(input, one, endsOtherwise(other, outcome))
    crashes += simulation.crashes
    onProgress?.({ done: i + 2, total, crashes })
  }
  return { outcome, writes: calm.writes.length, runs: total, crashes }
}

/** By the length of the journal after each write. */
function crashPoints(writes: readonly number[]): CrashPoint[] {
  return writes.flatMap((end): CrashPoint[] => [{ before: end }, { after: end }, end])
}

function outcomeOf({ program }: Callable<never, unknown>): (simulation: Simulation) => unknown {
  const inOrder = program.graph.schedule === "superstep"
  return ({ result: { status, error, outputs, state, usage }, lost }) => ({
    status,
    error: error?.code,
    outputs: inOrder ? outputs : sorted(outputs),
    state: inOrder
      ? state
      : Object.fromEntries(Object.entries(state).map(([key, value]) => [key, sorted(value)])),
    usage: usageWithout(usage, lost),
  })
}

/** A list in an order of its own; anything else as it is. */
function sorted(value: unknown): unknown {
  return Array.isArray(value) ? value.map((item) => JSON.stringify(item)).sort() : value
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function endsOtherwise(found: unknown, expected: unknown): string {
  return (
    `it ends with ${JSON.stringify(found)}; undisturbed, with ${JSON.stringify(expected)}. ` +
    "If that may depend on the order of things, say with `compare` what must be the same."
  )
}

function failed(input: unknown, options: SimulateOptions, what: string, cause?: unknown): SuperstepError {
  const text = `Seed ${options.seed}, ${told(options.faults)}: ${what}\nReplay it: ${replayLine(input, options)}`
  return new SuperstepError("CRASH_TEST_FAILED", text, { cause })
}

function told(faults: Faults | undefined): string {
  const crash = faults?.crash
  if (crash === undefined) return "without faults"
  if (typeof crash === "number") return "crashes where the seed chose"
  const [point] = crash as readonly [CrashPoint]
  if (typeof point === "number") return `crash when the journal had ${point} record${point === 1 ? "" : "s"}`
  return "before" in point
    ? `crash before record ${point.before} was durable`
    : `crash right after record ${point.after} was durable`
}
