/** How a run is to be run, and what comes of it. */
import type {
  Budget,
  Json,
  Limits,
  OpenRequest,
  RunId,
  RunStatus,
  SuperstepError,
  Undelivered,
  Usage,
} from "../core/index.ts"
import type { Clock } from "./clock.ts"
import type { GraphChangePolicy } from "./graph-change.ts"
import type { Labels } from "./labels.ts"
import type { Store } from "./store.ts"
import type { Telemetry } from "./telemetry-port.ts"

export interface RunOptions {
  /** A name for the run; made up when absent. */
  readonly runId?: RunId | undefined
  /** An idempotency key: with a store, starting again with the same one joins the run that was started first. */
  readonly key?: string | undefined
  /** A thread of the store: lasting channels start with what it has, and it gets what they have at the end. */
  readonly thread?: string | undefined
  /** What the store is to keep of the run for those who look for it: at most 32 texts by name. */
  readonly labels?: Labels | undefined
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal | undefined
  readonly limits?: Limits | undefined
  /** Milliseconds the run may take; past it the run ends with status `limit`. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
  /** First values of shared state, by channel key. */
  readonly state?: { readonly [key: string]: unknown } | undefined
  /** Keeps the journal; without one it lives and dies with the run. */
  readonly store?: Store | undefined
  readonly clock?: Clock | undefined
  readonly telemetry?: Telemetry | undefined
}

export interface ResumeOptions extends Pick<RunOptions, "signal" | "clock" | "telemetry"> {
  readonly store: Store
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** Takes the run from a process that still holds it, which can do nothing to it from then on. */
  readonly takeOver?: boolean | undefined
}

export interface RunResult<Out = unknown> {
  readonly runId: RunId
  /** `waiting` when the run waits for a person: answer with `run.respond`, then await it again. */
  readonly status: Exclude<RunStatus, "running">
  readonly outputs: Out[]
  readonly state: { readonly [key: string]: Json }
  /** Set when the status is `failed`, `cancelled` or `limit`. */
  readonly error?: SuperstepError | undefined
  /** Open questions, those of sub-workflows included. */
  readonly requests: readonly OpenRequest[]
  /** Messages that reached nobody, each with the reason. */
  readonly undelivered: readonly Undelivered[]
  readonly usage: Usage
  readonly supersteps: number
}
