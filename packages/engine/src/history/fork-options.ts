/** The options of `fork` and `rerun`, checked and copied before anything is awaited: the caller may reuse them. */
import {
  type Json,
  type NodeId,
  printJsonProblem,
  type RequestId,
  type RunId,
  SuperstepError,
  type TaskId,
} from "../core/index.ts"
import type { Clock, Labels } from "../runtime/index.ts"
import { type OptionNames, ownGiven, type RunBounds, unknownOption } from "../runtime/internal.ts"

/**
 * `superstep`: after its last commit. `seq`: after that record of the journal. `task`: before it has done anything; with
 * `path`, one of a sub-workflow.
 */
export type Point =
  | { readonly superstep: number }
  | { readonly seq: number }
  | { readonly task: TaskId; readonly path?: readonly string[] | undefined }

/** Limits of the new run that differ from the old ones: past usage counts. */
export interface ForkBounds extends Pick<RunBounds, "limits" | "budget"> {
  /** Milliseconds from now. */
  readonly timeout?: number | undefined
}

export interface ForkOptions extends ForkBounds {
  /**
   * The point to fork from. Default: with answers, the last record at which those requests were open; for a run that ended
   * at a limit, right before the limit; else the last checkpoint before the run ended.
   */
  readonly at?: Point | undefined
  /** New values of shared state, by channel key. */
  readonly state?: { readonly [key: string]: unknown } | undefined
  /** Another input: starts the workflow anew, with the initial state, limits and budget of the run. */
  readonly input?: unknown
  /** Answers to requests that are open at that point, by request id. An invalid answer fails with REQUEST_INVALID. */
  readonly answers?: { readonly [request: RequestId]: unknown } | undefined
  /**
   * Other instructions, another model or other settings of agents, by their names. They hold from the fork on, also in its
   * sub-workflows; what is recorded before stays.
   */
  readonly agents?: { readonly [agent: string]: ForkedAgent } | undefined
  /** Who answers. */
  readonly by?: string | undefined
  /** The id of the new run; generated if absent. */
  readonly runId?: RunId | undefined
  /** An idempotency key: a second fork of the same run with the same key and changes returns the first one's run. */
  readonly key?: string | undefined
  /** Default: the labels of the original run. */
  readonly labels?: Labels | undefined
  readonly clock?: Pick<Clock, "now"> | undefined
}

/** What a fork changes of an agent. */
export interface ForkedAgent {
  readonly instructions?: string | undefined
  /** `provider/model`: the process that continues the fork must know it. */
  readonly model?: string | undefined
  /** They replace the agent's own, one by one. */
  readonly settings?: { readonly [setting: string]: unknown } | undefined
}

export interface RerunOptions extends ForkBounds, Pick<ForkOptions, "runId" | "key" | "labels" | "clock"> {
  /**
   * The part to run again: from a superstep on, from a task on, or from the last task of a node. Default: the part that
   * failed or reached a limit.
   */
  readonly from?:
    | { readonly superstep: number }
    | { readonly task: TaskId; readonly path?: readonly string[] | undefined }
    | { readonly node: NodeId }
    | undefined
}

const BOUNDS: OptionNames<ForkBounds> = { limits: true, budget: true, timeout: true }
const NEW_RUN = { runId: true, key: true, labels: true, clock: true } as const
const FORK: OptionNames<ForkOptions> = {
  ...BOUNDS,
  ...NEW_RUN,
  at: true,
  state: true,
  input: true,
  answers: true,
  agents: true,
  by: true,
}
const RERUN: OptionNames<RerunOptions> = { ...BOUNDS, ...NEW_RUN, from: true }

function checkNames<Options extends object>(options: Options, known: OptionNames<Options>): void {
  const unknown = unknownOption(options, known)
  if (unknown !== undefined) throw optionInvalid(unknown)
}

/** Throws OPTION_INVALID. The size limit of the values is known only with the run. */
export function ownForkOptions(options: ForkOptions): ForkOptions {
  checkNames(options, FORK)
  return ownValues(options)
}

/** Throws OPTION_INVALID. */
export function checkRerunOptions(options: RerunOptions): void {
  checkNames(options, RERUN)
}

function ownValues({ state, input, answers, agents, ...others }: ForkOptions): ForkOptions {
  const own = (value: unknown, what: string) => ownOption(value, what, Number.POSITIVE_INFINITY)
  const ownAll = (values: object, what: (key: string) => string) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, own(value, what(key))]))
  return {
    ...others,
    ...(state && { state: ownAll(state, (key) => `state.${key}`) }),
    ...(input === undefined ? {} : { input: own(input, "input") }),
    ...(answers && { answers: ownAll(answers, (id) => `answers["${id}"]`) }),
    ...(agents && {
      agents: ownAll(agents, (name) => `agents["${name}"]`) as NonNullable<ForkOptions["agents"]>,
    }),
  }
}

export function ownOption(value: unknown, what: string, valueBytes: number): Json {
  return ownGiven(
    value,
    valueBytes,
    () => `The fork option ${what}`,
    (problem) => optionInvalid(`${what} cannot be stored: ${printJsonProblem(problem)}`),
  )
}

export function optionInvalid(message: string): SuperstepError {
  return new SuperstepError(
    "OPTION_INVALID",
    `Bad fork option: ${message}${message.endsWith("?") ? "" : "."}`,
  )
}
