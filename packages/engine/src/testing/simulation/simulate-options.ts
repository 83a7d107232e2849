/** The options of a simulation, its faults, and its result. */
import { type NodeId, type OpenRequest, SuperstepError, type TaskId, type Usage } from "../../core/index.ts"
import type { Callable, JournalRecord, RunOptions, RunResult } from "../../runtime/index.ts"
import { isOptions, type OptionNames, shown, unknownOption } from "../../runtime/internal.ts"

/**
 * Where a process dies: when the journal has this many records. Or during the write of that record: `before` it is durable,
 * or `after`, before its effects.
 */
export type CrashPoint = number | { readonly before: number } | { readonly after: number }

export interface Faults {
  /**
   * How many times the process dies at most, at moments that the seed chooses; or the crash points of the first process, the
   * second, and so on. The run is resumed each time.
   */
  readonly crash?: number | readonly CrashPoint[] | undefined
  /**
   * Probability from 0 to 1 that a process that would die is only slow: another one takes over the run, and this one
   * continues until its writes are rejected.
   */
  readonly takeOver?: number | undefined
  /**
   * Probability from 0 to 1 that an attempt fails if the node's policy retries it. A node that needs all its attempts for
   * its own failures then finally fails.
   */
  readonly fail?: number | undefined
  /** Probability from 0 to 1 that a timer fires a second time. */
  readonly duplicateTimers?: number | undefined
  /**
   * Handlers change the values that they returned, sent and wrote, after the engine has copied them. For workflows whose
   * handlers create new values each time: a handler that returns a constant would find it changed.
   */
  readonly changeSent?: boolean | undefined
  /** How many times the run is paused at most, and resumed later, at moments that the seed chooses. */
  readonly pauses?: number | undefined
  /** Probability from 0 to 1 that the clock is set back, by up to an hour, before each event. */
  readonly clockBack?: number | undefined
}

/**
 * A workflow, or a function that builds it. The function is called for every simulated process, as a new process would
 * build its workflow again: use it if the workflow holds state, such as a `scriptedModel`.
 */
export type WorkflowSource<In, Out> = Callable<In, Out> | (() => Callable<In, Out>)

export interface SimulateOptions {
  readonly seed: number
  readonly faults?: Faults | undefined
  /** Answers questions at times chosen by the seed; undefined leaves one open. Called again after a crash. */
  readonly answers?: ((request: OpenRequest) => unknown) | undefined
  /** Signals, sent in this order, at times chosen by the seed; again after a crash, and some of them twice. */
  readonly signals?: readonly SimulatedSignal[] | undefined
  /**
   * `idle`, the default: time passes only when there is nothing else to do, as if handlers took none. `anytime`: a
   * timer may fire while a handler executes, so node timeouts apply.
   */
  readonly timers?: "idle" | "anytime" | undefined
  readonly run?: Pick<RunOptions, "limits" | "timeout" | "budget" | "state" | "thread"> | undefined
}

export interface SimulatedSignal {
  readonly name: string
  readonly value?: unknown
  /** Default: one that no other signal has. */
  readonly id?: string | undefined
}

export interface Simulation<Out = unknown> {
  readonly seed: number
  readonly result: RunResult<Out>
  readonly journal: readonly JournalRecord[]
  /** The length of the journal after each write. */
  readonly writes: readonly number[]
  /** Per task: how often its handler was called, ran to its end, and was called after its end was recorded. */
  readonly executions: readonly Execution[]
  /** The part of `result.usage` of calls that a crash or a stop interrupted: reserved and never settled. */
  readonly lost: Usage
  /** How often a step's function ran again, because its process died before the result was durable. */
  readonly repeatedSteps: number
  /** Processes that died, or that lost the run to another one. */
  readonly crashes: number
}

/** Builds the workflow of one process. */
export function built<In, Out>(source: WorkflowSource<In, Out>): Callable<In, Out> {
  return typeof source === "function" ? source() : source
}

/** What a task's handler did over the whole simulation, in all processes. */
export interface Execution {
  readonly node: NodeId
  readonly task: TaskId
  /** The sub-workflow it belongs to; empty for the run itself. */
  readonly frame: string
  /** How often the handler was called. */
  readonly calls: number
  /** How often it ran to its end, successfully or not. */
  readonly completions: number
  /** How often it was called after the task's end was recorded: never, by M1. */
  readonly repetitions: number
}

const FAULTS: OptionNames<Faults> = {
  crash: true,
  takeOver: true,
  fail: true,
  duplicateTimers: true,
  changeSent: true,
  pauses: true,
  clockBack: true,
}
export const SIMULATE: OptionNames<SimulateOptions> = {
  seed: true,
  faults: true,
  answers: true,
  signals: true,
  timers: true,
  run: true,
}
/** A misspelled fault would test less than it seems to: names are checked before anything runs. */
export function checkTestOptions<Options extends object>(
  call: string,
  options: Options,
  known: OptionNames<Options>,
): void {
  const { faults } = options as { readonly faults?: unknown }
  if (faults !== undefined && !isOptions(faults)) {
    throw invalid(call, `faults must be an object such as { crash: 3 }, not ${shown(faults)}`)
  }
  const unknown = unknownOption(options, known) ?? unknownOption(faults ?? {}, FAULTS)
  if (unknown !== undefined) throw invalid(call, unknown)
}

function invalid(call: string, reason: string): SuperstepError {
  const text = `${call}: ${reason}${reason.endsWith("?") ? "" : "."}`
  return new SuperstepError("OPTION_INVALID", text)
}

/** Random numbers that depend on the seed alone (mulberry32): the same seed, the same numbers, on every machine. */
export interface Random {
  /** A whole number from 0 up to, but not including, `n`. */
  below(n: number): number
  /** True with this probability. */
  chance(probability: number): boolean
}

export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 0x1_0000_0000
  }
  return {
    below: (n) => Math.floor(next() * n),
    chance: (probability) => next() < probability,
  }
}
