/** The options and the result of a run. */

import { V7Generator } from "uuidv7"
import type {
  Budget,
  Limits,
  NodeId,
  OpenRequest,
  RunId,
  RunStatus,
  SignalWaitSpec,
  SuperstepError,
  TaskId,
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

export interface CancelOptions {
  /** Milliseconds to wait for the process that executes the run. Default: MAIL_UNREAD is thrown after 30 seconds. */
  readonly timeout?: number | undefined
}

export type OnBusy = "reject" | "queue" | "interrupt"

export interface RunOptions {
  /** The run id; generated if absent. */
  readonly runId?: RunId | undefined
  /** An idempotency key: with a store, starting again with the same key joins the existing run. */
  readonly key?: string | undefined
  /** A thread of the store: persistent channels start with its values, and it stores their values at the end. */
  readonly thread?: string | undefined
  /**
   * What to do if the thread has another run in flight. `reject`, the default: fail with THREAD_BUSY. `queue`: start when
   * the other run has ended, after runs of this process that queued earlier. `interrupt`: cancel the other run first.
   */
  readonly onBusy?: OnBusy | undefined
  /** Key-value strings that the store keeps to find the run by: at most 32. */
  readonly labels?: Labels | undefined
  /**
   * Values that the run's tools and hooks need and that cannot be journaled: the user, a database handle. They read it as
   * `context`. It is never recorded, so pass it again when you resume the run.
   */
  readonly context?: unknown
  /** Aborting it cancels the run. */
  readonly signal?: AbortSignal | undefined
  readonly limits?: Limits | undefined
  /** Milliseconds the run may take; after that it ends with status `limit`. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
  /** W3C `traceparent` of the caller: the spans of the run belong to its trace, also after a restart. */
  readonly trace?: string | undefined
  /** Initial values of shared state, by channel key. */
  readonly state?: { readonly [key: string]: unknown } | undefined
  /** Keeps the journal; without a store the journal exists only in memory. */
  readonly store?: Store | undefined
  readonly clock?: Clock | undefined
  readonly telemetry?: Telemetry | undefined
}

export interface ResumeOptions extends Pick<RunOptions, "signal" | "clock" | "telemetry" | "context"> {
  readonly store: Store
  readonly onGraphChange?: GraphChangePolicy | undefined
  /** Takes the run from a process that still holds it; that process can no longer change the run. */
  readonly takeOver?: boolean | undefined
}

export interface PauseOptions {
  /** Why, for those who see the run. */
  readonly reason?: string | undefined
  /** Who pauses or resumes it. */
  readonly by?: string | undefined
}

export interface RunResult<Out = unknown, State = AnyState> {
  readonly runId: RunId
  /**
   * `waiting` when the run waits for a person or a signal: `run.respond` or `run.signal`, then await it again. `paused` when
   * somebody paused it: resume it, then await it again.
   */
  readonly status: Exclude<RunStatus, "running">
  readonly outputs: Out[]
  readonly state: State
  /** Set when the status is `failed`, `cancelled` or `limit`. */
  readonly error?: SuperstepError | undefined
  /** Open questions, those of sub-workflows included. */
  readonly requests: readonly OpenRequest[]
  /** What it waits for by `ctx.waitFor`, the oldest first, sub-workflows included. */
  readonly waits: readonly OpenWait[]
  /** Messages that reached no node, each with the reason; those of sub-workflows have a `path`. */
  readonly undelivered: readonly Undelivered[]
  readonly usage: Usage
  readonly supersteps: number
  /**
   * Agent reports, one for each task of an agent: the latest hundred, of this process only; absent if there are none. Not
   * enumerable: it is not printed with the result, and a copy does not have it.
   */
  readonly agents?: readonly AgentReport[] | undefined
}

/** A task waits for a signal with this name. */
export interface OpenWait extends Pick<SignalWaitSpec, "name" | "schema" | "deadline" | "default"> {
  readonly node: NodeId
  readonly task: TaskId
  /** The sub-workflow that waits; empty for the run itself. */
  readonly frame: string
}

/** The names of a set of options, which the compiler keeps complete: an unknown name is rejected, not ignored. */
export type OptionNames<Options> = { readonly [Name in keyof Required<Options>]: true }

/** The first unknown option, with the name that was probably meant; undefined if all are known. */
export function unknownOption<Options>(options: object, known: OptionNames<Options>): string | undefined {
  for (const name in options) {
    if (Object.hasOwn(known, name) || (options as Record<string, unknown>)[name] === undefined) continue
    const names = Object.keys(known)
    const meant = nearest(name, names) ?? startingLike(name, names)
    if (meant !== undefined) return `unknown option "${name}"; did you mean "${meant}"?`
    return `unknown option "${name}"; the options are ${names.join(", ")}`
  }
  return undefined
}

/** `retries` is too far from `retry` for a typo, but was probably meant. */
function startingLike(name: string, names: readonly string[]): string | undefined {
  return names.find((one) => one.slice(0, 4).toLowerCase() === name.slice(0, 4).toLowerCase())
}

/** Whether a value can be an options object: `retry: 3` cannot, and would be read as if it were absent. */
export function isOptions(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** A value as an error message shows it. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value)
  return typeof value === "object" && value !== null ? "an object" : String(value)
}

const generator = new V7Generator({ nextUint32: () => Math.floor(Math.random() * 0x1_0000_0000) })

/** A UUID that sorts by time. It is not a secret, so its random part need not come from the operating system. */
export function newRunId(): RunId {
  return uuidText(generator.generate().bytes)
}

const DIGITS = Buffer.from("0123456789abcdef")
const text = Buffer.alloc(36, "-")

/** The library's own text is a chain of 36 strings, of a kilobyte. */
function uuidText(bytes: Readonly<Uint8Array>): string {
  let at = 0
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) at++
    const byte = bytes[i] as number
    text[at++] = DIGITS[byte >>> 4] as number
    text[at++] = DIGITS[byte & 15] as number
  }
  return text.toString("latin1")
}
