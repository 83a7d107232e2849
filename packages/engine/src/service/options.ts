/** How many runs on one store are run. */
import { type ErrorData, type RunId, type RunStatus, SuperstepError, toErrorData } from "../core/index.ts"
import {
  adopt,
  type Callable,
  type Clock,
  type ContextOf,
  calledGraphs,
  DEFAULT_LEASE,
  type Dispatcher,
  differenceOf,
  type GraphChangePolicy,
  IN_FLIGHT,
  loadRun,
  type Program,
  type PrunePolicy,
  type Store,
  type StoredRun,
  type StoredStatus,
  type Telemetry,
} from "../runtime/index.ts"
import { type OptionNames, policyProblem, shown, unknownOption } from "../runtime/internal.ts"
import { isInternal } from "./internal-runs.ts"

export interface RuntimeOptions {
  readonly store: Store
  /** The workflows that this process can run. Runs of other workflows are left to other processes. */
  readonly workflows: readonly Callable[]
  readonly clock?: Clock | undefined
  readonly telemetry?: Telemetry | undefined
  /**
   * Creates the context of a run, which its tools read: called when a run starts or is loaded into this process. A runtime
   * creates contexts itself, because it continues runs that other processes started; use labels to tell runs apart.
   */
  readonly context?: ContextOf | undefined
  /**
   * What to do with runs of another version of their workflow. Default: `fail`; they wait for a process with their version.
   */
  readonly onGraphChange?: GraphChangePolicy | undefined
  /**
   * Milliseconds without a heartbeat after which processes on other machines take over this one's runs. Processes on the
   * same machine check whether it is alive instead. Default 10,000.
   */
  readonly lease?: number | undefined
  /** Milliseconds that the event loop may be blocked, or the process stopped, before its runs are taken over. Default 300,000. */
  readonly hungAfter?: number | undefined
  /** The scope of process ids: processes with the same name can see each other. Default: this machine. */
  readonly machine?: string | undefined
  /** Milliseconds that a waiting run stays in memory. Default 10,000. */
  readonly evictAfter?: number | undefined
  /** How many waiting runs stay in memory at most. Default 1,000. */
  readonly maxIdle?: number | undefined
  /**
   * How many runs execute in this process at the same time, including those started here. The others queue in order, as
   * `running`; a waiting run frees its place, and sub-workflows execute in the place of their run. Default: any number of
   * runs started here, and up to 1,000 recovered runs.
   */
  readonly concurrency?: number | undefined
  /** The queues whose runs this process claims. Default: all. */
  readonly queues?: readonly string[] | undefined
  /**
   * Whether this process stores the schedules that its workflows declare, and fires those of its workflows that are due.
   * Default: as `recover`.
   */
  readonly schedules?: boolean | undefined
  /**
   * `false`: the runtime executes only what is started, resumed or answered through it, and leaves the runs of dead
   * processes alone. Its own runs stay in memory while they wait. Default `true`.
   */
  readonly recover?: boolean | undefined
  /**
   * How many processes may die while they execute a run, with no progress in between, before it is quarantined.
   * Default 3.
   */
  readonly maxTakeovers?: number | undefined
  /** Deletes finished runs: all but the newest `keep` of each workflow, and those older than `maxAge` ms. */
  readonly retention?: Retention | undefined
  /**
   * Brings runs to processes: `start`, `enqueue`, answers and signals have it send for a process that calls
   * `worker.activate`, instead of
   * executing the run here. See docs/restate.md.
   */
  readonly dispatcher?: Dispatcher | undefined
  /** Called when a run begins to execute here, ends, or leaves this process. `onProblem` does not get failures of runs then. */
  readonly onRun?: ((run: RuntimeRun) => void) | undefined
  /** Receives background errors: a run that cannot continue here, a store that does not answer. */
  readonly onProblem?: ((problem: RuntimeProblem) => void) | undefined
}

export interface Retention {
  readonly keep?: number | undefined
  readonly maxAge?: number | undefined
  /** Milliseconds that events are kept for subscriptions that have not handled them. Default: 30 days. */
  readonly eventMaxAge?: number | undefined
}

/** A run of this process. */
export interface RuntimeRun {
  /** `released`: it only waits, or continues elsewhere. */
  readonly type: "started" | "ended" | "released"
  readonly runId: RunId
  readonly workflow: string
  /** Of a run that ended. */
  readonly status?: RunStatus | undefined
  readonly error?: ErrorData | undefined
}

export interface RuntimeProblem {
  readonly runId?: RunId | undefined
  readonly error: Error
}

/** The result of a recovery. */
export interface Recovery {
  /** Runs that continue here. */
  readonly resumed: readonly RunId[]
  /** Runs that cannot, and why. */
  readonly problems: readonly RuntimeProblem[]
}

const RUNTIME: OptionNames<RuntimeOptions> = {
  store: true,
  workflows: true,
  clock: true,
  telemetry: true,
  context: true,
  onGraphChange: true,
  lease: true,
  hungAfter: true,
  machine: true,
  evictAfter: true,
  maxIdle: true,
  concurrency: true,
  queues: true,
  schedules: true,
  recover: true,
  maxTakeovers: true,
  retention: true,
  dispatcher: true,
  onRun: true,
  onProblem: true,
}
const RETENTION: OptionNames<Retention> = { keep: true, maxAge: true, eventMaxAge: true }

/** Callers may be untyped: options are checked before anything starts. */
/** What a sweeper needs of them, with their defaults. */
export function sweepOptions(options: RuntimeOptions) {
  const { recover = true, evictAfter = 10_000, maxIdle = 1_000, maxTakeovers = 3 } = options
  const { lease = DEFAULT_LEASE, retention, onProblem, onRun } = options
  return { recover, evictAfter, maxIdle, maxTakeovers, lease, retention, onProblem, onRun }
}

export function checkRuntimeOptions(options: RuntimeOptions): void {
  const problem =
    unknownOption(options, RUNTIME) ??
    unknownOption(options.retention ?? {}, RETENTION) ??
    policyProblem(options.onGraphChange)
  if (problem !== undefined) throw invalid(problem)
  if (typeof options.store?.append !== "function") throw invalid("store is required")
  const names = options.workflows.map(({ name }) => name)
  const twice = names.find((name, i) => names.indexOf(name) !== i)
  if (twice !== undefined) throw invalid(`two workflows are named "${twice}"`)
  const reserved = names.find(isInternal)
  if (reserved !== undefined) throw invalid(`"${reserved}" is a name of an internal workflow: choose another`)
  atLeast(options, "lease", 1_000)
  atLeast(options, "hungAfter", 1_000)
  atLeast(options, "evictAfter", 0)
  for (const name of ["maxIdle", "maxTakeovers"] as const) wholeAtLeast(options, name, 0)
  wholeAtLeast(options, "concurrency", 1)
  const { queues } = options
  if (
    queues !== undefined &&
    !(Array.isArray(queues) && queues.every((queue) => typeof queue === "string"))
  ) {
    throw invalid(`queues must be a list of names, not ${shown(queues)}`)
  }
  for (const name of ["recover", "schedules"] as const) {
    if (options[name] === undefined || typeof options[name] === "boolean") continue
    throw invalid(`${name} must be true or false, not ${options[name]}`)
  }
  const wrong = retentionProblem(options.retention ?? {})
  if (wrong !== undefined) throw invalid(wrong)
}

/** Why it is no policy. */
export function retentionProblem(retention: Retention): string | undefined {
  const { keep } = retention
  if (keep !== undefined && !(Number.isInteger(keep) && keep >= 0)) {
    return `retention.keep must be a whole number of at least 0, not ${keep}`
  }
  for (const name of ["maxAge", "eventMaxAge"] as const) {
    const value = retention[name]
    if (value !== undefined && !(value >= 0)) {
      return `retention.${name} must be milliseconds, at least 0, not ${value}`
    }
  }
  return undefined
}

function atLeast(options: RuntimeOptions, name: "lease" | "hungAfter" | "evictAfter", least: number): void {
  const value = options[name]
  if (value === undefined || (Number.isFinite(value) && value >= least)) return
  throw invalid(`${name} must be milliseconds, at least ${least}, not ${value}`)
}

function wholeAtLeast(
  options: RuntimeOptions,
  name: "maxIdle" | "maxTakeovers" | "concurrency",
  least: number,
): void {
  const value = options[name]
  if (value === undefined || (Number.isInteger(value) && value >= least)) return
  throw invalid(`${name} must be a whole number of at least ${least}, not ${value}`)
}

function invalid(message: string): SuperstepError {
  return new SuperstepError(
    "OPTION_INVALID",
    `Bad runtime option: ${message}${message.endsWith("?") ? "" : "."}`,
  )
}

/** Milliseconds that mail to a removed run is kept: its sender asks for the outcome within a minute or not at all. */
const MAIL_KEPT = 3_600_000

export function prunePolicy({ keep, maxAge }: Retention, now: number): PrunePolicy {
  return { keep, endedBefore: maxAge === undefined ? undefined : now - maxAge, mailBefore: now - MAIL_KEPT }
}

const EVENTS_KEPT = 30 * 86_400_000

/** Events from before this time are deleted. */
export function eventsKeptFrom({ eventMaxAge = EVENTS_KEPT }: Retention, now: number): number {
  return now - eventMaxAge
}

// Finds the runs in flight that a new version of their workflow would break. Call it before you deploy.

export interface GraphConflict {
  readonly runId: RunId
  readonly status: StoredStatus
  /** Lines with `-` for removed, `~` for changed and `+` for added parts of the workflow. */
  readonly difference: readonly string[]
  /** Why it cannot continue even with `onGraphChange: "continue"`, or could not be compared; absent if it can. */
  readonly problem?: string | undefined
}

const PAGE = 100

/** Empty if every run in flight can continue with this version. */
export async function graphConflicts(
  store: Store,
  workflow: Callable<never, unknown>,
): Promise<GraphConflict[]> {
  const { program } = workflow
  const conflicts: GraphConflict[] = []
  let before: RunId | undefined
  for (;;) {
    const runs = await store.runs({
      workflow: program.graph.name,
      status: IN_FLIGHT,
      before,
      limit: PAGE,
    })
    for (const row of runs) {
      const { runId, status } = row
      const found = await conflictOf(store, row, program)
      if (found !== undefined) conflicts.push({ runId, status, ...found })
    }
    before = runs.at(-1)?.runId
    if (runs.length < PAGE) return conflicts
  }
}

/**
 * Compares the run's own graph first; if the run could continue with it, the graphs of the workflows that its handlers call.
 */
async function conflictOf(
  store: Store,
  { runId, labels }: Pick<StoredRun, "runId" | "labels">,
  program: Program,
): Promise<Pick<GraphConflict, "difference" | "problem"> | undefined> {
  const run = await loadRun(store, runId, program.graph)
  const machine = run?.frames.get("")?.machine
  if (run === undefined || machine === undefined) return undefined
  const { lines } = differenceOf(machine, program.graph)
  try {
    adopt(machine, program.graph, "continue")
  } catch (error) {
    return { difference: lines, problem: toErrorData(error).message }
  }
  if (run.frames.size === 1) return lines.length === 0 ? undefined : { difference: lines }
  const called = await calledGraphs(run, program, labels)
  const difference = [...lines, ...called.lines]
  if (difference.length === 0 && called.problem === undefined) return undefined
  const { lines: _, ...rest } = called
  return { ...rest, difference }
}
