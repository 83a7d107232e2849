/**
 * Runs a workflow the way a bad day would: writes that take their time, handlers that end in any order, answers
 * and timers in between, processes that die at any point. The same seed gives the same day, so what was found
 * once is found again.
 */
import type { OpenRequest, Usage } from "../core/index.ts"
import type { Callable, JournalRecord, RunOptions, RunResult } from "../runtime/index.ts"
import type { Execution } from "./driven-program.ts"
import { SimulatedRun } from "./simulation.ts"

/**
 * Where a process dies: when the journal has so many records, whatever it is at then. Or in the middle of the write
 * of that record: `before` it is durable, or `after`, when nothing has followed from it yet.
 */
export type CrashPoint = number | { readonly before: number } | { readonly after: number }

export interface Faults {
  /**
   * How often the process dies at the most, at moments that the seed chooses; or where the first process dies, the
   * second, and so on. The run is resumed each time.
   */
  readonly crash?: number | readonly CrashPoint[] | undefined
  /**
   * How likely, from 0 to 1, a process that the seed would have die is only slow: another one takes the run over, and
   * this one goes on too, until what it writes is refused.
   */
  readonly takeOver?: number | undefined
  /**
   * How likely, from 0 to 1, an attempt fails that the node's policy tries again. A node that needs all its
   * attempts for failures of its own fails for good then.
   */
  readonly fail?: number | undefined
  /** How likely, from 0 to 1, a timer fires a second time. */
  readonly duplicateTimers?: number | undefined
  /** How likely, from 0 to 1, the clock is set back, by up to an hour, before anything that happens. */
  readonly clockBack?: number | undefined
}

export interface SimulateOptions {
  readonly seed: number
  readonly faults?: Faults | undefined
  /** Answers questions, whenever the seed says; undefined leaves one open. It is asked again after a crash. */
  readonly answers?: ((request: OpenRequest) => unknown) | undefined
  /**
   * `idle`, the default: time goes on only when there is nothing else to do, as if handlers took none.
   * `anytime`: a timer may come before a handler that is at work ends, so node timeouts strike.
   */
  readonly timers?: "idle" | "anytime" | undefined
  readonly run?: Pick<RunOptions, "limits" | "timeout" | "budget" | "state" | "thread"> | undefined
}

export interface Simulation<Out = unknown> {
  readonly seed: number
  readonly result: RunResult<Out>
  readonly journal: readonly JournalRecord[]
  /** How long the journal was after each write. */
  readonly writes: readonly number[]
  /** Per task: how often its handler was called, ran to its end, and was called though its end was on record. */
  readonly executions: readonly Execution[]
  /** The part of `result.usage` of calls that a crash or a stop cut off: reserved, and never settled. */
  readonly lost: Usage
  /** Processes that died, or that lost the run to another one. */
  readonly crashes: number
}

/**
 * Rejects with INVARIANT_BROKEN when the engine, or a handler that changes what it sent, breaks what a journal
 * promises; with SIMULATION_STUCK when a handler waits for something that the simulator does not drive.
 */
export function simulate<In, Out>(
  workflow: Callable<In, Out>,
  input: In,
  options: SimulateOptions,
): Promise<Simulation<Out>> {
  return new SimulatedRun<Out>(workflow.program, input, options).result()
}
