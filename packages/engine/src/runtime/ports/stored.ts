/** What a store keeps of a run beside its journal: rows, changes of rows, queries, statistics. */
import type {
  Entry,
  ErrorData,
  Json,
  NodeId,
  OpenRequest,
  RequestId,
  RunId,
  RunStatus,
  SignalId,
} from "../../core/index.ts"
import { clipped } from "../../text/index.ts"
import type { RunFlow } from "./run-flow.ts"

export interface JournalRecord {
  /** 1, 2, 3, … within the run. */
  readonly seq: number
  /** The sub-workflow that the entry belongs to; empty for the run itself. */
  readonly frame: string
  readonly entry: Entry
  /** How many events the run has given up to here: a stream is joined again at an event's number. */
  readonly events: number
}

/** The right to write to a run. Every claim raises the token; writes with an older token are rejected. */
export interface Lease {
  readonly runId: RunId
  readonly holder: string
  readonly token: number
}

/** A process that holds runs. */
export interface Holder {
  readonly id: string
  /** The scope in which its process id is unique. */
  readonly machine: string
  readonly pid: number
  /** When the process started, as the machine counts it: distinguishes it from a later one with the same id. May be empty. */
  readonly born: string
}

/** A holder as the store knows it. */
export interface StoredHolder extends Holder {
  /** Rises with every heartbeat. */
  readonly beat: number
  /** The store's own clock says that the lease has lapsed. Only set by stores with a clock that all processes share. */
  readonly lapsed?: boolean | undefined
}

/** Why a holder no longer holds anything. */
export type Dismissal =
  /** It released its runs itself. */
  | { readonly reason: "closed" }
  /** Its process is dead: what it was executing is suspected of having killed it. */
  | { readonly reason: "died" }
  /** It is alive, and its event loop is stuck in this run. */
  | { readonly reason: "hung"; readonly runId: RunId | undefined }

/** A run that executes nothing: it waits for an answer, a timer, or both. */
export interface Idle {
  /** When it continues by itself: milliseconds since the epoch. */
  readonly wakeAt?: number | undefined
}

/** Characters of an error's message that the row of a run has. */
const MAX_MESSAGE = 2_000

/** This many takeovers make a run suspect: a single one proves nothing. */
export const SUSPECT = 2

/**
 * Where a run stands in a store. A queued run was not claimed yet. A paused run executes nothing new, and no process claims
 * it, until it is resumed. A quarantined run is parked until it is released: it
 * keeps killing its process.
 */
export type StoredStatus = RunStatus | "queued" | "quarantined"

/** The status of a run that is not over. */
export const IN_FLIGHT = [
  "queued",
  "running",
  "waiting",
  "paused",
  "quarantined",
] as const satisfies StoredStatus[]

/** Whether a claim has to be admitted. A queued run that is due and waits for nobody else's turn only changes hands. */
export function hasLimits({ status, flow, wakeAt }: StoredRun): boolean {
  if (flow?.lanes !== undefined) return true
  const isTimed = wakeAt !== undefined || flow?.expiresAt !== undefined
  return status === "queued" && (isTimed || flow?.tenant !== undefined)
}

/** Whether a run has ended. A quarantined run is parked, not ended. */
export function hasEnded({ status }: { readonly status: StoredStatus }): boolean {
  return !(IN_FLIGHT as readonly StoredStatus[]).includes(status)
}

/** The error of a run for its row: the message is truncated for lists. */
export function runFailure({ code, message, node }: ErrorData): RunFailure {
  const text = clipped(message, MAX_MESSAGE)
  return node === undefined ? { code, message: text } : { code, message: text, node }
}

/** Of runs that were executing when their process died: the only one that can be blamed for it, if there is one. */
export function onlySuspect<Run extends { readonly takeovers: number }>(
  runs: readonly Run[],
): Run | undefined {
  const suspects = runs.filter(({ takeovers }) => takeovers >= SUSPECT)
  const [only, ...others] = suspects.length > 0 ? suspects : runs
  return others.length === 0 ? only : undefined
}

/** The properties of a new run, written with its first records. */
export interface RunCreated {
  readonly workflow: string
  /** The hash of its graph, which is in `RunChange.graphs` or already stored. */
  readonly graph: string
  /** Unique among all runs. */
  readonly key?: string | undefined
  /** Unique among the runs in flight. */
  readonly thread?: string | undefined
  /** How many writes the thread had when it was read; if the number has changed, the append fails with THREAD_BUSY. */
  readonly threadVersion?: number | undefined
  /** Its journal begins with that run's records up to `seq`, by reference. */
  readonly forkOf?: { readonly runId: RunId; readonly seq: number } | undefined
  readonly labels?: Labels | undefined
  /** How it is queued, and what limits it. */
  readonly flow?: RunFlow | undefined
  /**
   * Nobody holds it: its status is `queued` until it is first claimed, and it executes nothing. The `wakeAt` of
   * `RunChange.idle` is when it may be claimed.
   */
  readonly queued?: true | undefined
}

export interface ClosedRequest {
  readonly id: RequestId
  readonly outcome: "answered" | "expired" | "withdrawn"
  readonly at: number
  readonly by?: string | undefined
}

/** Why a run ended that did not complete: enough for a list, without reading its journal. */
export interface RunFailure {
  readonly code: string
  readonly message: string
  /** Where it failed, if that was at a node. */
  readonly node?: NodeId | undefined
}

/** What an append changes besides the journal. */
export interface RunChange {
  readonly created?: RunCreated | undefined
  readonly status?: RunStatus | undefined
  /** With a status that ends the run; a status without one clears it. */
  readonly error?: RunFailure | undefined
  /** Hash of its graph, when that changed. */
  readonly graph?: string | undefined
  /** Graphs that its records name. The store keeps a graph as long as a run that stored or names it exists. */
  readonly graphs?: readonly { readonly hash: string; readonly graph: Json }[] | undefined
  readonly opened?: readonly OpenRequest[] | undefined
  readonly closed?: readonly ClosedRequest[] | undefined
  /** Executes nothing from now on; `false`: it executes again. Absent: as before. */
  readonly idle?: Idle | false | undefined
  /** The run leaves its queue with these records, and is not executed: it is paused. */
  readonly leavesQueue?: true | undefined
  /** The records only say what is about to be done: `takeovers`, `blamed` and `trials` stay as they are. */
  readonly intent?: true | undefined
  /** Mail that these records carry out: it gets its outcome with them. */
  readonly mail?: readonly string[] | undefined
  /** Added to the run's thread; `append` adds the items to the existing list. */
  readonly thread?: readonly ThreadWrite[] | undefined
}

export interface ThreadWrite {
  readonly key: string
  readonly kind: "set" | "append"
  readonly value: Json
}

export interface StoredRun extends Omit<RunCreated, "threadVersion" | "queued"> {
  readonly runId: RunId
  readonly status: StoredStatus
  readonly createdAt: number
  readonly updatedAt: number
  /** The journal's end, and its size in bytes as far as the store knows it. */
  readonly seq: number
  readonly bytes: number
  readonly token: number
  readonly holder?: string | undefined
  /** When a run that nobody holds continues. */
  readonly wakeAt?: number | undefined
  /** Whether it executes something: a crash of its holder is then counted in `takeovers`. */
  readonly executing: boolean
  /** Processes that died while they executed it, since it was last written to. */
  readonly takeovers: number
  /** At the last of these deaths no other run was under suspicion. */
  readonly blamed: boolean
  /** How often it was absolved since it was last written to. */
  readonly trials: number
  readonly pinned: boolean
  /** Of a run that failed, was cancelled or hit a limit. */
  readonly error?: RunFailure | undefined
}

export interface StoredRequest extends OpenRequest {
  readonly runId: RunId
  readonly workflow: string
  /** `delivering`: an answer to it is in the mail of its run; it is open again if the run refuses that answer. */
  readonly outcome: "open" | "delivering" | ClosedRequest["outcome"]
  readonly closedAt?: number | undefined
  readonly by?: string | undefined
}

/** Milliseconds since the epoch: at `from` or later, and before `until`. */
export interface TimeRange {
  readonly from?: number | undefined
  readonly until?: number | undefined
}

/** Newest first. `before` is the last run id of the page before. */
export interface RunQuery {
  readonly workflow?: string | undefined
  readonly status?: readonly StoredStatus[] | undefined
  readonly thread?: string | undefined
  readonly key?: string | undefined
  /** Runs that have all of these, and maybe more. */
  readonly labels?: Labels | undefined
  /** Part of the run's id, its workflow's name or its key. */
  readonly text?: string | undefined
  /** When it was created. */
  readonly created?: TimeRange | undefined
  /** When it was last written to. */
  readonly updated?: TimeRange | undefined
  readonly before?: RunId | undefined
  readonly limit?: number | undefined
}

/** Oldest first. `after` is the last request of the page before. */
export interface RequestQuery {
  readonly runId?: RunId | undefined
  readonly workflow?: string | undefined
  /** Whom it is for. */
  readonly to?: string | undefined
  /** Default: `["open"]`. */
  readonly outcome?: readonly StoredRequest["outcome"][] | undefined
  readonly after?: { readonly runId: RunId; readonly id: RequestId } | undefined
  readonly limit?: number | undefined
}

/** A run that can be claimed. */
export interface FreeQuery {
  readonly workflows: readonly string[]
  readonly now: number
  readonly limit: number
  /** Those under suspicion, with two takeovers or more, or those that are not. */
  readonly suspects: boolean
}

/** Something that the holder of a run is asked to do, from any process. */
export interface Mail {
  readonly id: string
  readonly runId: RunId
  readonly at: number
  readonly command:
    | {
        readonly type: "answer"
        readonly request: RequestId
        readonly value: Json
        readonly by?: string | undefined
      }
    | EscalateCommand
    | { readonly type: "cancel"; readonly reason?: string | undefined }
    | { readonly type: "pause"; readonly reason?: string | undefined; readonly by?: string | undefined }
    | { readonly type: "resume"; readonly by?: string | undefined }
    | {
        readonly type: "signal"
        readonly id: SignalId
        readonly name: string
        readonly value: Json
        /** It was reported to its sender as accepted: only a run that has ended refuses it. */
        readonly isAccepted?: true | undefined
      }
}

export interface EscalateCommand extends EscalateOptions {
  readonly type: "escalate"
  readonly request: RequestId
}

export interface EscalateOptions {
  /** Whom the question is for from now on. */
  readonly to: string
  /** For that person. */
  readonly note?: string | undefined
  /** Who passes it on. */
  readonly by?: string | undefined
}

export type MailOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string }

/**
 * Which finished runs are deleted: those past the newest `keep`, and those that ended before `endedBefore`. Graphs that no
 * run uses are deleted too.
 */
export interface PrunePolicy {
  readonly workflow?: string | undefined
  readonly keep?: number | undefined
  readonly endedBefore?: number | undefined
  /** Mail posted before this time, and its outcome, is deleted if its run no longer exists. Absent: `endedBefore`. */
  readonly mailBefore?: number | undefined
}

export interface StorageReport {
  readonly runs: { readonly [status in StoredStatus]?: number }
  readonly journal: Amount
  readonly snapshots: Amount
  /** Values above 64 KB, each kept once. */
  readonly blobs: Amount
  readonly threads: Amount
  /** The largest workflows first. */
  readonly workflows: readonly { readonly workflow: string; readonly runs: number; readonly bytes: number }[]
  /** The size of the whole store on disk, and how much of it is reusable. */
  readonly disk?: { readonly bytes: number; readonly free: number } | undefined
}

export interface Amount {
  readonly count: number
  readonly bytes: number
}

/** Key-value strings in the row of a run: find runs by them, and read them in handlers as `ctx.labels`. */
export interface Labels {
  readonly [name: string]: string
}

/** The label that names the version of the workflow that a run was started with. */
export const VERSION_LABEL = "superstep.version"

const MAX = 32
const MAX_LENGTH = 1_000

/** Why these labels are invalid, as the end of a sentence. */
export function labelsProblem(labels: unknown): string | undefined {
  if (typeof labels !== "object" || labels === null || Array.isArray(labels)) {
    return `labels must be an object with string values, not ${JSON.stringify(labels)}`
  }
  const entries = Object.entries(labels)
  if (entries.length > MAX) return `labels has ${entries.length} entries; at most ${MAX} are allowed`
  for (const [name, value] of entries) {
    if (typeof value !== "string") return `labels.${clipped(name, 100)} must be a string, not ${typeof value}`
    if (name === "") return "labels has an empty key"
    if (name.length <= MAX_LENGTH && value.length <= MAX_LENGTH) continue
    return `labels.${clipped(name, 100)} is longer than ${MAX_LENGTH} characters`
  }
  return undefined
}
