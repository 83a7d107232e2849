/** How many runs on one store are run. */
import type { RunId } from "../core/index.ts"
import type { Callable, Clock, GraphChangePolicy, Store, Telemetry } from "../runtime/index.ts"

export interface RuntimeOptions {
  readonly store: Store
  /** What this process can run. Runs of other workflows are left to other processes. */
  readonly workflows: readonly Callable[]
  readonly clock?: Clock | undefined
  readonly telemetry?: Telemetry | undefined
  /** What becomes of runs of another version of their workflow. Default: `fail`, they wait for theirs. */
  readonly onGraphChange?: GraphChangePolicy | undefined
  /**
   * Milliseconds without a heartbeat after which processes on other machines take this one's runs over. Processes on
   * the same machine look whether it is alive instead. Default 10,000.
   */
  readonly lease?: number | undefined
  /** Milliseconds that the event loop may be blocked, or the process stopped, before its runs are taken over. Default 300,000. */
  readonly hungAfter?: number | undefined
  /** Where process ids mean something: processes that give the same name can see each other. Default: this machine. */
  readonly machine?: string | undefined
  /** Milliseconds that a run which only waits stays in memory. Default 10,000. */
  readonly evictAfter?: number | undefined
  /** How many runs that only wait stay in memory at the most. Default 1,000. */
  readonly maxIdle?: number | undefined
  /** How many runs are taken up from the store at the same time. Default 1,000. */
  readonly concurrency?: number | undefined
  /**
   * How many processes may die while they execute a run, with no progress in between, before it is quarantined.
   * Default 3.
   */
  readonly maxTakeovers?: number | undefined
  /** Runs that are over go by themselves: all but the newest `keep` of each workflow, and those older than `maxAge` ms. */
  readonly retention?: Retention | undefined
  /** Told of what went wrong in the background: a run that cannot go on here, a store that does not answer. */
  readonly onProblem?: ((problem: RuntimeProblem) => void) | undefined
}

export interface Retention {
  readonly keep?: number | undefined
  readonly maxAge?: number | undefined
}

export interface RuntimeProblem {
  readonly runId?: RunId | undefined
  readonly error: Error
}

/** What a recovery found. */
export interface Recovery {
  /** Runs that go on here. */
  readonly resumed: readonly RunId[]
  /** Runs that cannot, and why. */
  readonly problems: readonly RuntimeProblem[]
}
