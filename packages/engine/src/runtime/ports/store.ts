/**
 * Where runs are kept. Each run has one journal (of the run and all its sub-workflows, in order) and one row with its
 * status, so that runs, questions and timers are found without reading journals. A write changes both atomically.
 *
 * A store decides nothing: its callers say who is dead, what is due and what may be deleted. Every method may return a
 * value or a promise; `append` returns nothing if there is nothing to wait for.
 */
import { type Json, type RunId, type RunStatus, SuperstepError } from "../../core/index.ts"
import type { LiveChannel } from "./live-channel.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import type { RunQueue } from "./queue.ts"
import type { RecordQuery, RecordStore } from "./records.ts"
import type { ScheduleStore } from "./schedules.ts"
import type { Slots } from "./slots.ts"
import type {
  Amount,
  Dismissal,
  FreeQuery,
  Holder,
  Idle,
  JournalRecord,
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
import type { Subscriptions } from "./subscriptions.ts"

export interface Snapshot {
  readonly seq: number
  readonly data: Json
}

export interface Store {
  /** Whether it encrypts values: a dispatcher then carries none that it does not have to, and the store does. Default: false. */
  readonly isEncrypted?: boolean | undefined

  // Journals

  /**
   * Adds records after the one with `expectedSeq`, and makes the change, all or none. When it returns, or its promise
   * resolves, they are durable. `change.created` makes the run, held by the lease unless it is `queued`; a fork's first
   * records follow its `forkOf.seq`. Rejects with RUN_EXISTS (its run id is there), KEY_TAKEN, GROUP_TAKEN (a queued run
   * has its group), THREAD_BUSY, RUN_TAKEN (a newer token is there), or JOURNAL_CONFLICT (the journal has another end, or
   * there is no such run). Status that ends the run
   * closes its requests and frees its holder and thread. Every append but one of intents clears `takeovers`, `blamed` and
   * `trials`.
   */
  append(
    lease: Lease,
    expectedSeq: number,
    records: readonly JournalRecord[],
    change?: RunChange,
  ): Promise<void> | undefined
  /**
   * The records after `afterSeq`, in order, a fork's shared past included; empty for a run that is not known. With a
   * `limit`, the first of them, at most that many.
   */
  read(runId: RunId, afterSeq: number, limit?: number): MaybePromise<readonly JournalRecord[]>
  /** Replaces the run's snapshot by a later one; returns its size, and that of the journal. RUN_TAKEN as above. */
  saveSnapshot(
    lease: Lease,
    snapshot: Snapshot,
  ): MaybePromise<{ readonly bytes: number; readonly journal: number }>
  snapshot(runId: RunId): MaybePromise<Snapshot | undefined>
  graph(hash: string): MaybePromise<Json | undefined>

  // Runs and questions

  run(runId: RunId): MaybePromise<StoredRun | undefined>
  runs(query: RunQuery): MaybePromise<readonly StoredRun[]>
  requests(query: RequestQuery): MaybePromise<readonly StoredRequest[]>

  // Who runs what

  /**
   * Sends a heartbeat of the holder. True if runs may have been taken from it since its last heartbeat, which it must check
   * with `held`. The heartbeat of a holder that was dismissed as dead withdraws the suspicion that its death raised.
   */
  beat(holder: Holder): MaybePromise<boolean>
  holders(): MaybePromise<readonly StoredHolder[]>
  /** The leases that the holder holds now. */
  held(holder: string): MaybePromise<readonly Lease[]>
  /**
   * The holder holds nothing any more: its runs are free, and its leases no longer valid. Of a holder that died, every
   * run that was executing counts one takeover; of one that hung, the run that it was stuck in. Once: dismissing it
   * again changes nothing. `blamed` is set where exactly one of these runs was under suspicion already, or where there
   * is only one; else it is cleared.
   */
  dismiss(holder: string, why: Dismissal): MaybePromise<void>
  /**
   * Runs of these workflows that nobody holds, and that have something to do: due by `wakeAt`, `running` without a
   * `wakeAt`, or with mail. Those that were written to longest ago first. A holder that the store does not know holds
   * nothing. Queued and quarantined runs are not among them. For trials of suspects; others are claimed by `queue`.
   */
  free(query: FreeQuery): MaybePromise<readonly StoredRun[]>
  /**
   * Takes the run if its token is still `token`, whatever its lanes admit: raises the token, sets the holder, clears
   * `wakeAt`; it executes from now on, and is `running` if it was `queued`. Undefined when the token is another, or the run
   * is over or unknown. `restsAt`: also when it executes something, or its journal does not end there.
   */
  claim(
    runId: RunId,
    token: number,
    holder: string,
    restsAt?: number | undefined,
  ): MaybePromise<Lease | undefined>
  /**
   * Whether the run executes something, and its status if that has changed, where no record says so. Ignored when the lease
   * is no longer valid.
   */
  setIdle(lease: Lease, idle: Idle | false, status?: RunStatus | undefined): MaybePromise<void>
  /** Releases a run, until `wakeAt` or for good. Ignored when the lease is no longer valid. */
  release(lease: Lease, wakeAt: number | undefined): MaybePromise<void>
  /** The run survived its trial: it is no longer suspected. Ignored when the lease is no longer valid. */
  absolve(lease: Lease): MaybePromise<void>
  /** Parks and releases a run, until `unquarantine`; `at` is the time. Ignored when the lease is no longer valid. */
  quarantine(lease: Lease, at: number): MaybePromise<void>
  /** The run is free, and under no suspicion. False when it is not quarantined. */
  unquarantine(runId: RunId): MaybePromise<boolean>

  /** Claims runs in turn, within their limits. */
  readonly queue: RunQueue

  /** Small documents of programs around the runs, such as the server. */
  readonly records: RecordStore
  /** Events about runs for durable consumers. */
  readonly subscriptions: Subscriptions
  /** Limits parts of runs: tasks of nodes, requests to models. */
  readonly slots: Slots

  /** When workflows are run by themselves. */
  readonly schedules: ScheduleStore

  // Mail to the holder of a run

  /** Until an answer has an outcome, the open request that it is for is `delivering`. */
  post(mail: Mail): MaybePromise<void>
  /** Mail that has no outcome yet, to runs of this holder; in the order it was posted. */
  mail(holder: string): MaybePromise<readonly Mail[]>
  /** How much mail of the run has no outcome yet: how many, and about how many bytes. */
  mailAmount(runId: RunId): MaybePromise<Amount>
  /**
   * Refuses mail; a request that its answer was `delivering` to is open again. Ignored when the mail has an outcome, or
   * the lease is no longer valid.
   */
  refuseMail(
    lease: Lease,
    id: string,
    error: { readonly code: string; readonly message: string },
  ): MaybePromise<void>
  /** Returns the outcome once and deletes it. Undefined while there is none. */
  mailOutcome(id: string): MaybePromise<MailOutcome | undefined>

  // Threads: state that lasts from run to run

  /** Its state after the first `version` writes, or all: an empty state and version 0 for one that is not known. */
  thread(
    id: string,
    version?: number,
  ): MaybePromise<{ readonly version: number; readonly state: { readonly [key: string]: Json } }>
  /** The ids of threads that have state, or a run in flight; in the order of `records` (D2). */
  threads(query?: RecordQuery): MaybePromise<readonly string[]>
  removeThread(id: string): MaybePromise<void>

  // Retention

  pin(runId: RunId, pinned: boolean): MaybePromise<boolean>
  /** Removes a run that has ended, pinned or not. False when it is unknown, in flight, or another run's past. */
  remove(runId: RunId): MaybePromise<boolean>
  /** Deletes runs by the policy; never one that is in flight, pinned, or another run's past. */
  prune(policy: PrunePolicy): MaybePromise<Amount>
  report(): MaybePromise<StorageReport>

  /** Flushes pending writes and closes open resources. */
  close(): MaybePromise<void>

  /**
   * Beats for a holder from a thread of its own, which a blocked event loop cannot stop. Absent where the store has no
   * such thread: then the event loop beats.
   */
  keepAlive?(options: KeepAliveOptions): KeepAlive

  /**
   * Brings live events to watchers outside of the process that executes a run. Absent where the store has no such way:
   * then watchers elsewhere see journaled events only.
   */
  readonly live?: LiveChannel | undefined
}

export interface KeepAliveOptions {
  readonly holder: Holder
  /** Milliseconds between two heartbeats. */
  readonly every: number
  /** Milliseconds that the event loop may be blocked before its holder is dismissed as hung. */
  readonly hungAfter: number
  /** How often the event loop turned, and which task had control last: see `lease/loop-watch.ts`. */
  readonly loopState: SharedArrayBuffer
  /** The event loop turns again, after `milliseconds`; `text` is the loop state during the block. */
  onBlocked(milliseconds: number, text: string): void
}

export interface KeepAlive {
  stop(): void
}

function journalConflict(runId: RunId, expectedSeq: number, foundSeq: number): SuperstepError {
  const text = `The journal of run "${runId}" ends at ${foundSeq}, not at ${expectedSeq}: another process writes to it.`
  return new SuperstepError("JOURNAL_CONFLICT", text)
}
function runExists(runId: RunId): SuperstepError {
  return new SuperstepError("RUN_EXISTS", `Run "${runId}" already exists.`)
}
function keyTaken(key: string, runId: RunId): SuperstepError {
  return new SuperstepError("KEY_TAKEN", `Run "${runId}" already uses the idempotency key "${key}".`, {
    run: runId,
  })
}
function groupTaken(group: string, runId: RunId): SuperstepError {
  return new SuperstepError("GROUP_TAKEN", `The queued run "${runId}" has the group "${group}".`, {
    run: runId,
  })
}
function threadBusy(thread: string, runId: RunId): SuperstepError {
  const text = `Thread "${thread}" is in use by run "${runId}": wait for it, answer it, or cancel it.`
  return new SuperstepError("THREAD_BUSY", text, { run: runId })
}
function threadMoved(thread: string): SuperstepError {
  const text = `Another run wrote to thread "${thread}" just before this one began: start this one again.`
  return new SuperstepError("THREAD_BUSY", text)
}
export function runTaken(runId: RunId): SuperstepError {
  return new SuperstepError(
    "RUN_TAKEN",
    `Run "${runId}" was taken over by another process; it continues there.`,
  )
}

/** The errors that a store throws. The engine recognises them by their codes. */
export const storeErrors = {
  journalConflict,
  runExists,
  keyTaken,
  groupTaken,
  threadBusy,
  threadMoved,
  runTaken,
} as const

export function runOver({
  runId,
  status,
}: {
  readonly runId: RunId
  readonly status: string
}): SuperstepError {
  return new SuperstepError("RUN_OVER", `Run "${runId}" has ended: ${status}.`, { run: runId })
}

export function runPaused(runId: RunId): SuperstepError {
  const text = `Run "${runId}" is already paused. Resume it to continue it.`
  return new SuperstepError("RUN_PAUSED", text, { run: runId })
}

export function runNotPaused(runId: RunId, status: string): SuperstepError {
  return new SuperstepError(
    "RUN_NOT_PAUSED",
    `Run "${runId}" is ${status}, not paused. There is nothing to resume.`,
    {
      run: runId,
    },
  )
}
