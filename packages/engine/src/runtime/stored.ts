/** What a store has of a run beside its journal, and what is asked of it: rows, changes of rows, queries, figures. */
import type { Json, OpenRequest, RequestId, RunId, RunStatus } from "../core/index.ts"
import type { Labels } from "./labels.ts"

/** The right to write to a run. Every change of hands raises the token; who has an older one is refused. */
export interface Lease {
  readonly runId: RunId
  readonly holder: string
  readonly token: number
}

/** A process that holds runs. */
export interface Holder {
  readonly id: string
  /** Where its process id means something. */
  readonly machine: string
  readonly pid: number
  /** When the process started, as the machine counts it: tells it from a later one with the same id. May be empty. */
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
  /** It lives, and its event loop is stuck in this run. */
  | { readonly reason: "hung"; readonly runId: RunId | undefined }

/** A run that executes nothing: it waits for an answer, a timer, or both. */
export interface Idle {
  /** When it continues by itself: milliseconds since the epoch. */
  readonly wakeAt?: number | undefined
}

/** So many takeovers put a run under suspicion: one may be anybody's fault. */
export const SUSPECT = 2

/** Where a run stands in a store. A quarantined run is parked until it is released: it keeps killing its process. */
export type StoredStatus = RunStatus | "quarantined"

/** What a run is, said with its first records. */
export interface RunCreated {
  readonly workflow: string
  /** The hash of its graph, which `RunChange.graphs` or an earlier run brought. */
  readonly graph: string
  /** No two runs have the same one. */
  readonly key?: string | undefined
  /** At most one run in flight has the same one. */
  readonly thread?: string | undefined
  /** How many writes the thread had when it was read: another number now is THREAD_BUSY. */
  readonly threadVersion?: number | undefined
  /** Its journal begins with that run's records up to `seq`, by reference. */
  readonly forkOf?: { readonly runId: RunId; readonly seq: number } | undefined
  readonly labels?: Labels | undefined
}

export interface ClosedRequest {
  readonly id: RequestId
  readonly outcome: "answered" | "expired" | "withdrawn"
  readonly at: number
  readonly by?: string | undefined
}

/** What an append changes beside the journal. */
export interface RunChange {
  readonly created?: RunCreated | undefined
  readonly status?: RunStatus | undefined
  /** Hash of its graph, when that changed. */
  readonly graph?: string | undefined
  readonly graphs?: readonly { readonly hash: string; readonly graph: Json }[] | undefined
  readonly opened?: readonly OpenRequest[] | undefined
  readonly closed?: readonly ClosedRequest[] | undefined
  /** Executes nothing from now on; `false`: it executes again. Absent: as before. */
  readonly idle?: Idle | false | undefined
  /** The records only say what is about to be done: `takeovers`, `blamed` and `trials` stay as they are. */
  readonly intent?: true | undefined
  /** Mail that these records carry out: its outcome is settled with them. */
  readonly mail?: readonly string[] | undefined
  /** Added to the run's thread; `append` adds the items of a list to the list that is there. */
  readonly thread?: readonly ThreadWrite[] | undefined
}

export interface ThreadWrite {
  readonly key: string
  readonly kind: "set" | "append"
  readonly value: Json
}

export interface StoredRun extends Omit<RunCreated, "threadVersion"> {
  readonly runId: RunId
  readonly status: StoredStatus
  readonly createdAt: number
  readonly updatedAt: number
  /** The journal's end, and its size in bytes as far as the store knows it. */
  readonly seq: number
  readonly bytes: number
  readonly token: number
  readonly holder?: string | undefined
  /** A run that nobody holds goes on then. */
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
}

export interface StoredRequest extends OpenRequest {
  readonly runId: RunId
  readonly workflow: string
  readonly outcome: "open" | ClosedRequest["outcome"]
  readonly closedAt?: number | undefined
  readonly by?: string | undefined
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

/** A run that is free to be taken up. */
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
  readonly wish:
    | {
        readonly type: "answer"
        readonly request: RequestId
        readonly value: Json
        readonly by?: string | undefined
      }
    | { readonly type: "cancel"; readonly reason?: string | undefined }
}

export type MailOutcome =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: string; readonly message: string }

/** Which runs that are over may go: those past the newest `keep`, and those that ended before `endedBefore`. */
export interface PrunePolicy {
  readonly workflow?: string | undefined
  readonly keep?: number | undefined
  readonly endedBefore?: number | undefined
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
  /** Of the whole store on disk, and how much of it is free to be used again. */
  readonly disk?: { readonly bytes: number; readonly free: number } | undefined
}

export interface Amount {
  readonly count: number
  readonly bytes: number
}
