/** Many simulated days of one workflow: they must all end alike. */
import { isDeepStrictEqual } from "node:util"
import { SuperstepError } from "../core/index.ts"
import type { Callable } from "../runtime/index.ts"
import { replayLine } from "./replay-line.ts"
import { type Faults, type SimulateOptions, type Simulation, simulate } from "./simulate.ts"

export interface ExploreOptions extends Omit<SimulateOptions, "seed"> {
  /** How many seeds are tried. Default 100. */
  readonly runs?: number | undefined
  /** The first seed; the others follow it. Default 1. */
  readonly seed?: number | undefined
  /**
   * What must be the same for every seed. By default the status, the error's code and the outputs; in flow mode,
   * where messages go on as they come, the outputs in any order.
   */
  readonly compare?: ((simulation: Simulation) => unknown) | undefined
}

export interface Exploration {
  readonly runs: number
  readonly crashes: number
  /** How all of them ended: what `compare` gave. */
  readonly outcome: unknown
}

const DEFAULT_FAULTS: Faults = { crash: 3, duplicateTimers: 0.1 }

/**
 * Runs the workflow once without faults and then under one seed after another, by default with crashes. Rejects
 * when a seed ends otherwise or breaks an invariant; the error names the seed and the line that repeats it.
 */
export async function explore<In, Out>(
  workflow: Callable<In, Out>,
  input: In,
  options: ExploreOptions = {},
): Promise<Exploration> {
  const {
    runs = 100,
    seed: first = 1,
    compare = outcomeOf(workflow),
    faults = DEFAULT_FAULTS,
    ...rest
  } = options
  const attempt = async (one: SimulateOptions) => {
    try {
      return await simulate(workflow, input, one)
    } catch (error) {
      throw found(input, one, error instanceof Error ? error.message : String(error), error)
    }
  }
  const calm = await attempt({ ...rest, seed: first })
  const outcome = plain(compare(calm))
  let crashes = 0
  for (let seed = first; seed < first + runs; seed++) {
    const one = { ...rest, faults, seed }
    const simulation = await attempt(one)
    crashes += simulation.crashes
    const other = plain(compare(simulation))
    if (!isDeepStrictEqual(other, outcome)) {
      throw found(
        input,
        one,
        `it ends with ${JSON.stringify(other)}; without faults, with ${JSON.stringify(outcome)}`,
      )
    }
  }
  return { runs, crashes, outcome }
}

function outcomeOf({ program }: Callable<never, unknown>): (simulation: Simulation) => unknown {
  const inOrder = program.graph.schedule === "superstep"
  return ({ result: { status, outputs, error } }) => ({
    status,
    error: error?.code,
    outputs: inOrder ? outputs : outputs.map((output) => JSON.stringify(output)).sort(),
  })
}

function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value))
}

function found(input: unknown, options: SimulateOptions, what: string, cause?: unknown): SuperstepError {
  const text = `Seed ${options.seed}: ${what}\nReproduce: ${replayLine(input, options)}`
  return new SuperstepError("EXPLORATION_FAILED", text, { cause })
}
