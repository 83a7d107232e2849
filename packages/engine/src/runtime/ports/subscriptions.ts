/**
 * Durable subscriptions: the store keeps events about runs, in one order for the whole store, and a position in it for each
 * consumer. `store.subscriptions` hands a consumer's events to one process at a time, from the last saved position on.
 *
 * Invariants, which every store keeps:
 * E1 An event is written in the same atomic write as the change that it reports.
 * E2 Positions rise, and none is given after a higher one was readable: who reads on from a position misses nothing,
 *    however many processes write at the same time. The events of one run are in the order of its changes.
 * E3 Only the lease with the newest token of a consumer moves its position. A holder that the store does not know holds
 *    nothing, so a killed process leaks no consumer.
 * E4 An event has no content of its run: only ids, names, the status, a code. Deleting a run leaves its events alone, so that
 *    retention takes none away from a consumer that is behind.
 */
import type { ErrorData, NodeId, RequestId, RunId, RunStatus } from "../../core/index.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import { type ClosedRequest, hasEnded, type JournalRecord, type RunChange } from "./stored.ts"

/** What an event reports. */
type Report =
  /** It waits in its queue. */
  | { readonly type: "run.queued" }
  /** It executes for the first time, or was paused before that. */
  | { readonly type: "run.started" }
  | { readonly type: "run.paused"; readonly by?: string | undefined }
  /** It was paused, and continues. */
  | { readonly type: "run.resumed"; readonly by?: string | undefined }
  /** A run that is resumed after a limit ends again. */
  | {
      readonly type: "run.ended"
      readonly status: RunStatus
      /** The code of its error, and where it failed; absent for a run that completed. */
      readonly code?: ErrorData["code"] | undefined
      readonly node?: NodeId | undefined
    }
  /** It keeps killing its process, and is parked until it is released. */
  | { readonly type: "run.quarantined" }
  | { readonly type: "request.opened"; readonly request: RequestId; readonly to?: string | undefined }
  /** Requests that are open when their run ends are closed with it, without an event of their own. */
  | {
      readonly type: "request.closed"
      readonly request: RequestId
      readonly outcome: ClosedRequest["outcome"]
      readonly by?: string | undefined
    }

/** An event before the store has put it in order. */
export type NewEvent = Report & {
  /** Milliseconds since the epoch. */
  readonly at: number
}

export type StoredEvent = NewEvent & {
  /** Its place in the order of the store: rises, with gaps. */
  readonly position: number
  readonly runId: RunId
  readonly workflow: string
}

export type EventType = StoredEvent["type"]

/** The right to serve a consumer. Every claim raises the token. */
export interface ConsumerLease {
  readonly consumer: string
  readonly holder: string
  readonly token: number
}

/** Why the event after a consumer's position was not handled. */
export interface ConsumerFailure {
  readonly message: string
  /** When it was last tried. */
  readonly at: number
  readonly attempts: number
}

export interface ConsumerProgress {
  /** Every event up to this position is handled. */
  readonly position: number
  /** Of the event after it. */
  readonly failure?: ConsumerFailure | undefined
}

export interface ClaimedConsumer extends ConsumerProgress {
  readonly lease: ConsumerLease
}

export interface StoredConsumer extends ConsumerProgress {
  readonly consumer: string
  /** How many events are after its position. */
  readonly lag: number
  /** How many it never handled: they were deleted before, or given up. */
  readonly missed: number
  /** Who serves it, unless that process is known to be dead. */
  readonly holder?: string | undefined
}

export interface Subscriptions {
  /** Creates a consumer, unless it exists. It gets the events that are committed after this call, or all that are kept. */
  add(consumer: string, from: "now" | "beginning"): MaybePromise<void>
  /** By name. */
  consumers(): MaybePromise<readonly StoredConsumer[]>
  /** False when there is no such consumer. */
  remove(consumer: string): MaybePromise<boolean>
  /** Undefined when another holder has it (E3), or there is no such consumer. */
  claim(consumer: string, holder: string): MaybePromise<ClaimedConsumer | undefined>
  /** In order, at most `limit`. */
  events(after: number, limit: number): MaybePromise<readonly StoredEvent[]>
  /** Saves the progress of a consumer, which gave up `missed` events on the way. False, and nothing is changed, by E3. */
  advance(lease: ConsumerLease, progress: ConsumerProgress, missed?: number): MaybePromise<boolean>
  /** Another process may serve the consumer. Ignored when the lease is no longer valid. */
  release(lease: ConsumerLease): MaybePromise<void>
  /** Deletes events that every consumer has handled, if there is one, and all from before that time. */
  trim(before: number): MaybePromise<void>
}

const NONE: readonly NewEvent[] = []

/** The events of an append, for stores: in the order in which they happened. */
export function eventsOf(
  change: RunChange | undefined,
  records: readonly JournalRecord[],
): readonly NewEvent[] {
  if (change === undefined) return NONE
  const { created, opened, closed, status, error, leavesQueue } = change
  const isOver = status !== undefined && hasEnded({ status })
  const pauses = status === undefined ? NONE : pausesIn(records)
  const isPlain = created === undefined && opened === undefined && closed === undefined
  if (isPlain && !isOver && pauses.length === 0) return NONE
  const at = records.at(-1)?.entry.at ?? 0
  const events: NewEvent[] = []
  if (created !== undefined) {
    events.push({ type: created.queued ? "run.queued" : "run.started", at: records[0]?.entry.at ?? 0 })
  }
  if (leavesQueue) events.push({ type: "run.started", at })
  events.push(...pauses)
  for (const { id: request, to } of opened ?? []) {
    events.push({ type: "request.opened", at, request, ...(to !== undefined && { to }) })
  }
  for (const { id: request, outcome, at: closedAt, by } of closed ?? []) {
    events.push({ type: "request.closed", at: closedAt, request, outcome, ...(by !== undefined && { by }) })
  }
  if (isOver) {
    const { code, node } = error ?? {}
    const why = { ...(code !== undefined && { code }), ...(node !== undefined && { node }) }
    events.push({ type: "run.ended", at, status, ...why })
  }
  return events
}

/** Pauses of the run itself; those of its sub-workflows are part of them. */
function pausesIn(records: readonly JournalRecord[]): readonly NewEvent[] {
  return records.flatMap(({ frame, entry }): NewEvent[] => {
    if (frame !== "" || (entry.type !== "run.paused" && entry.type !== "run.resumed")) return []
    const { type, at, by } = entry
    return [{ type, at, ...(by !== undefined && { by }) }]
  })
}
