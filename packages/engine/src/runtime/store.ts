/**
 * Where runs are kept. Of each run: one journal (the truth, of the run and all its sub-workflows, in the order things
 * happened), and a row that says where it stands, so that runs, questions and sleepers are found without reading
 * journals. What follows from a record is written with it, atomically; so the two never disagree.
 *
 * A store decides nothing: who is dead, what is due and what may go is said by its callers. Every method may answer
 * at once or with a promise; `append` returns nothing where there is nothing to wait for.
 */
import type { Entry, Json, RunId } from "../core/index.ts"
import type {
  Amount,
  Dismissal,
  FreeQuery,
  Holder,
  Idle,
  Lease,
  Mail,
  MailOutcome,
  PrunePolicy,
  RequestQuery,
  RunChange,
  RunQuery,
  StorageReport,
  StoredHolder,
  StoredRequest,
  StoredRun,
} from "./stored.ts"

export interface JournalRecord {
  /** 1, 2, 3, … within the run. */
  readonly seq: number
  /** The sub-workflow that the entry belongs to; empty for the run itself. */
  readonly frame: string
  readonly entry: Entry
  /** How many events the run has given up to here: a stream is joined again at an event's number. */
  readonly events: number
}

export interface Snapshot {
  readonly seq: number
  readonly data: Json
}

export interface Store {
  // Journals

  /**
   * Adds records after the one with `expectedSeq`, and makes the change, all or none. When it returns, or its promise
   * resolves, they are durable. `change.created` makes the run, held by the lease; a fork's first records follow its
   * `forkOf.seq`. Rejects with RUN_EXISTS (its run id is there), KEY_TAKEN, THREAD_BUSY, RUN_TAKEN (a newer token is
   * there), or JOURNAL_CONFLICT (the journal has another end, or there is no such run). Status that ends the run
   * closes its requests and frees its holder and thread. Every append but one of intents clears `takeovers`, `blamed` and
   * `trials`.
   */
  append(
    lease: Lease,
    expectedSeq: number,
    records: readonly JournalRecord[],
    change?: RunChange,
  ): Promise<void> | undefined
  /** The records after `afterSeq`, in order, a fork's shared past included; empty for a run that is not known. */
  read(runId: RunId, afterSeq: number): Later<readonly JournalRecord[]>
  /** Replaces the run's snapshot by a later one; tells the size of it, and of the journal. RUN_TAKEN as above. */
  saveSnapshot(lease: Lease, snapshot: Snapshot): Later<{ readonly bytes: number; readonly journal: number }>
  snapshot(runId: RunId): Later<Snapshot | undefined>
  graph(hash: string): Later<Json | undefined>

  // Runs and questions

  run(runId: RunId): Later<StoredRun | undefined>
  runs(query: RunQuery): Later<readonly StoredRun[]>
  requests(query: RequestQuery): Later<readonly StoredRequest[]>

  // Who runs what

  /**
   * Says that the holder lives. True when runs may have been taken from it since its last heartbeat, which it must
   * find out with `held`. A holder that was dismissed as dead and lives withdraws the suspicion that its death raised.
   */
  beat(holder: Holder): Later<boolean>
  holders(): Later<readonly StoredHolder[]>
  /** The leases that are the holder's by now. */
  held(holder: string): Later<readonly Lease[]>
  /**
   * The holder holds nothing any more: its runs are free, and its leases no longer good. Of a holder that died, every
   * run that was executing counts one takeover; of one that hung, the run that it was stuck in. Once: dismissing it
   * again changes nothing. `blamed` is set where exactly one of these runs was under suspicion already, or where there
   * is only one; else it is cleared.
   */
  dismiss(holder: string, why: Dismissal): Later<void>
  /**
   * Runs of these workflows that nobody holds, and that have something to do: due by `wakeAt`, `running` without a
   * `wakeAt`, or with mail. Those that were written to longest ago first. A holder that the store does not know holds
   * nothing. Quarantined runs are not among them.
   */
  free(query: FreeQuery): Later<readonly StoredRun[]>
  /**
   * Takes the run if its token is still `token`: raises the token, sets the holder, clears `wakeAt`; it executes from
   * now on. Undefined when the token is another, or the run is over or unknown.
   */
  claim(runId: RunId, token: number, holder: string): Later<Lease | undefined>
  /** Whether the run executes something, where no record says so. Nothing happens when the lease is no longer good. */
  setIdle(lease: Lease, idle: Idle | false): Later<void>
  /** Lets go of a run, until `wakeAt` or for good; nothing happens when the lease is no longer good. */
  release(lease: Lease, wakeAt: number | undefined): Later<void>
  /** The run was tried, and has survived: it is under no suspicion. Nothing happens when the lease is no longer good. */
  absolve(lease: Lease): Later<void>
  /** Parks a run and lets go of it, until `unquarantine`. Nothing happens when the lease is no longer good. */
  quarantine(lease: Lease): Later<void>
  /** The run is free, and under no suspicion. False when it is not quarantined. */
  unquarantine(runId: RunId): Later<boolean>

  // Mail to whoever holds a run

  post(mail: Mail): Later<void>
  /** Mail that has no outcome yet, to runs of this holder; in the order it was posted. */
  mail(holder: string): Later<readonly Mail[]>
  /** Settles mail that its run refuses. Nothing happens when it is settled, or the lease is no longer good. */
  refuseMail(
    lease: Lease,
    id: string,
    error: { readonly code: string; readonly message: string },
  ): Later<void>
  /** The outcome, once: it is forgotten with that. Undefined as long as there is none. */
  mailOutcome(id: string): Later<MailOutcome | undefined>

  // Threads: state that lasts from run to run

  /** Its state after the first `version` writes, or all: an empty state and version 0 for one that is not known. */
  thread(
    id: string,
    version?: number,
  ): Later<{ readonly version: number; readonly state: { readonly [key: string]: Json } }>
  removeThread(id: string): Later<void>

  // What may go

  pin(runId: RunId, pinned: boolean): Later<boolean>
  /** Removes a run that is over, pinned or not. False when it is unknown, in flight, or another run's past. */
  remove(runId: RunId): Later<boolean>
  /** Removes what the policy lets go; never what is in flight, pinned, or another run's past. */
  prune(policy: PrunePolicy): Later<Amount>
  report(): Later<StorageReport>

  /** Writes what still waits to be written, and lets go of what it holds open. */
  close(): Later<void>

  /**
   * Beats for a holder from a thread of its own, which a blocked event loop cannot stop. Absent where the store has no
   * such thread: then the event loop beats.
   */
  keepAlive?(options: KeepAliveOptions): KeepAlive
}

export interface KeepAliveOptions {
  readonly holder: Holder
  /** Milliseconds between two heartbeats. */
  readonly every: number
  /** Milliseconds that the event loop may be blocked before its holder is dismissed as hung. */
  readonly hungAfter: number
  /** What the event loop shows of itself: `LoopSigns`. */
  readonly signs: SharedArrayBuffer
  /** The event loop turns again, after so many milliseconds; the text is what the signs said meanwhile. */
  onBlocked(milliseconds: number, text: string): void
}

export interface KeepAlive {
  stop(): void
}

type Later<T> = T | Promise<T>
