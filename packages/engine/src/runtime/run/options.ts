/** How a run is to be run, and what comes of it. */

import { V7Generator } from "uuidv7"
import type {
  Budget,
  Limits,
  OpenRequest,
  RunId,
  RunStatus,
  SuperstepError,
  Undelivered,
  Usage,
} from "../../core/index.ts"
import { nearest } from "../../text/index.ts"
import type { AgentReport } from "../ports/agent-report.ts"
import type { Clock } from "../ports/clock.ts"
import type { AnyState } from "../ports/program.ts"
import type { Store } from "../ports/store.ts"
import type { Labels } from "../ports/stored.ts"
import type { Telemetry } from "../ports/telemetry.ts"
import type { GraphChangePolicy } from "./graph-change.ts"

export type OnBusy = "reject" | "queue" | "interrupt"

export interface RunOptions {
  /** A name for the run; made up when absent. */
  readonly runId?: RunId | undefined
  /** An idempotency key: with a store, starting again with the same one joins the run that was started first. */
  readonly key?: string | undefined
  /** A thread of the store: persistent channels start with what it has, and it gets what they have at the end. */
  readonly thread?: string | undefined
  /**
   * What becomes of a run whose thread has another run in flight. `reject`, the default: it is refused with THREAD_BUSY.
   * `queue`: it starts when the other one is over, after those that queued before it in this process. `interrupt`: the
   * other one is cancelled first.
   */
  readonly onBusy?: OnBusy | undefined
  /** What the store is to keep of the run for those who look for it: at most 32 texts by name. */
  readonly labels?: Labels | undefined
  /**
   * What the run's tools and hooks need and no journal can keep: the user, a database handle. They read it as `context`. It
   * is never recorded, so it is passed again when the run is resumed.
   */
  readonly context?: unknown
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

export interface ResumeOptions extends Pick<RunOptions, "signal" | "clock" | "telemetry" | "context"> {
  readonly store: Store
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** Takes the run from a process that still holds it, which can do nothing to it from then on. */
  readonly takeOver?: boolean | undefined
}

export interface RunResult<Out = unknown, State = AnyState> {
  readonly runId: RunId
  /** `waiting` when the run waits for a person: answer with `run.respond`, then await it again. */
  readonly status: Exclude<RunStatus, "running">
  readonly outputs: Out[]
  readonly state: State
  /** Set when the status is `failed`, `cancelled` or `limit`. */
  readonly error?: SuperstepError | undefined
  /** Open questions, those of sub-workflows included. */
  readonly requests: readonly OpenRequest[]
  /** Messages that reached nobody, each with the reason; those of sub-workflows have a `path`. */
  readonly undelivered: readonly Undelivered[]
  readonly usage: Usage
  readonly supersteps: number
  /**
   * What agents did, one report for each task of an agent: the latest hundred. Only of the process that executed them; absent
   * where there were none. It is not enumerable: it is not printed with the result, and a copy does not have it.
   */
  readonly agents?: readonly AgentReport[] | undefined
}

/** The names of a set of options, which the compiler keeps complete: an unknown name is refused, not ignored. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true }

/** The first option that there is none of, with the name that was probably meant; undefined when all are known. */
export function unknownOption<Options>(options: object, known: OptionNames<Options>): string | undefined {
  for (const name in options) {
    if (Object.hasOwn(known, name) || (options as Record<string, unknown>)[name] === undefined) continue
    const names = Object.keys(known)
    const meant = nearest(name, names) ?? startingLike(name, names)
    if (meant !== undefined) return `there is no option "${name}"; did you mean "${meant}"?`
    return `there is no option "${name}"; the options are ${names.join(", ")}`
  }
  return undefined
}

/** `retries` is further from `retry` than a slip of the pen, and yet what was meant. */
function startingLike(name: string, names: readonly string[]): string | undefined {
  return names.find((one) => one.slice(0, 4).toLowerCase() === name.slice(0, 4).toLowerCase())
}

/** Whether a value can have options of its own: `retry: 3` has none, and would be read as if it were absent. */
export function isOptions(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** A value as an error message shows it. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value)
  return typeof value === "object" && value !== null ? "an object" : String(value)
}

const generator = new V7Generator({ nextUint32: () => Math.floor(Math.random() * 0x1_0000_0000) })

/** A UUID that sorts by time. It is no secret, so its random part need not come from the operating system. */
export function newRunId(): RunId {
  const id = generator.generate().toString()
  // The library adds it up digit by digit, and every run would keep 25 strings: reading a character makes it one.
  id.charCodeAt(0)
  return id
}
