/**
 * Queued runs: a run that nobody has claimed yet is an ordinary run whose stored status is `queued`. `store.queue` claims
 * what may execute next, in one atomic step, for any number of processes.
 *
 * Invariants, which every store keeps:
 * Q1 A run counts in its lanes exactly while a holder that the store knows holds it. Nothing else is counted, so a killed
 *    process leaks no place.
 * Q2 `claimNext` never brings the number of held runs of a lane above its `max`, nor starts more runs of it than its `rate`
 *    admits, however many processes claim at the same time: in no window of time `w` do more than `burst + w / every` start. A
 *    run starts once, at the moment of its first claim, by one clock for all processes: a server's, or that of the host.
 * Q3 Tenants take turns: the one that was served longest ago is next. Within a tenant, runs that have begun come first, then those
 *    with the lowest score.
 * Q4 A run that its lanes do not admit holds up only runs with the same lanes.
 * Q5 Records of a run are replaced only while it is `queued`: nobody has executed any of them.
 */
import type { RunId } from "../../core/index.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import { type Lane, type LaneLimit, type LaneRate, laneId, paidAt, rateAdmitsAt } from "./run-flow.ts"
import type { JournalRecord, StoredRun } from "./stored.ts"

export interface ClaimQuery {
  readonly holder: string
  readonly workflows: readonly string[]
  /** Absent: all. */
  readonly queues?: readonly string[] | undefined
  /** Graphs whose runs are not claimed: other processes execute them. */
  readonly without?: readonly string[] | undefined
  /** This one only, whatever its graph. It need not be due, unless it is `queued`. */
  readonly runId?: RunId | undefined
  /**
   * The clock of the process. It is read in the moment of the claim: what was read before a wait for a lock would count
   * starts as earlier than they are. A store that has a clock of its own counts rates by that.
   */
  readonly now: () => number
  readonly limit: number
}

export interface Claimed {
  /** As they are after the claim, in the order in which they were claimed. */
  readonly runs: readonly StoredRun[]
  /** When a rate limit admits the next run that it held back, by the clock of the process. Absent: it held back none. */
  readonly nextAt?: number | undefined
}

export interface Amendment {
  readonly runId: RunId
  /** The run's token when it was read. */
  readonly token: number
  /** Replace all its records. */
  readonly records: readonly JournalRecord[]
  readonly wakeAt: number | undefined
  /** The run takes no further input: its group is free for another. */
  readonly closed: boolean
}

export interface RunQueue {
  /** Replaces the limits of a workflow: those of its newest version count, also for runs that were created before. */
  setLimits(workflow: string, limits: readonly LaneLimit[]): MaybePromise<void>
  /**
   * Claims up to `limit` runs that nobody holds (a holder that the store does not know holds nothing) and that have something
   * to do: `queued` or `running` without a `wakeAt`, due by `wakeAt`, or with mail. Not among them: runs that are
   * quarantined, under suspicion (`takeovers` of SUSPECT or more, unless named by `runId`), expired, or not admitted by
   * their lanes (Q2). Each gets a higher token, the holder and no `wakeAt`; a `queued` one is `running` from then on, and
   * only its first claim counts against rates.
   */
  claimNext(query: ClaimQuery): MaybePromise<Claimed>
  /** Replaces the input of a `queued` run, and raises its token. False, and nothing is changed, if it is not queued, or its token is another. */
  amend(amendment: Amendment): MaybePromise<boolean>
  /** `queued` runs of any workflow that have expired: the caller ends them. */
  expired(now: number, limit: number): MaybePromise<readonly StoredRun[]>
}

/** What the lanes of a store admit at one moment, for the length of one `claimNext`. */
export class LaneStates {
  readonly #limits: (name: string) => LaneLimit | undefined
  readonly #now: number
  readonly #held = new Map<string, number>()
  readonly #paidUntil: (lane: string) => number | undefined
  /** Until when the starts of a lane are paid for, where this changed: to be stored with the claims. */
  readonly paid = new Map<string, number>()
  /** When a rate limit admits the next run that it held back. */
  nextAt: number | undefined

  constructor(
    now: number,
    limits: (name: string) => LaneLimit | undefined,
    paidUntil: (lane: string) => number | undefined,
  ) {
    this.#now = now
    this.#limits = limits
    this.#paidUntil = paidUntil
  }

  /** This many runs with these lanes are held (Q1). */
  hold(lanes: readonly Lane[] = [], count = 1): void {
    for (const lane of lanes) {
      const id = laneId(lane)
      this.#held.set(id, (this.#held.get(id) ?? 0) + count)
    }
  }

  /** Whether a run with these lanes may be claimed. `isFirst`: it starts, which counts against rates. */
  admits(lanes: readonly Lane[] = [], isFirst: boolean): boolean {
    const limited = lanes.map((lane) => ({ id: laneId(lane), limit: this.#limits(lane.limit) }))
    for (const { id, limit } of limited) {
      if (limit?.max !== undefined && (this.#held.get(id) ?? 0) >= limit.max) return false
    }
    let admittedAt = this.#now
    for (const { id, limit } of limited) {
      if (!isFirst || limit?.rate === undefined) continue
      admittedAt = Math.max(admittedAt, rateAdmitsAt(limit.rate, this.#paid(id, limit.rate)))
    }
    if (admittedAt <= this.#now) return true
    this.nextAt = Math.min(this.nextAt ?? Number.POSITIVE_INFINITY, admittedAt)
    return false
  }

  #paid(lane: string, rate: LaneRate): number {
    return paidAt(rate, this.paid.get(lane) ?? this.#paidUntil(lane) ?? 0, this.#now)
  }

  claim(lanes: readonly Lane[] = [], isFirst: boolean): void {
    this.hold(lanes)
    if (!isFirst) return
    for (const lane of lanes) {
      const rate = this.#limits(lane.limit)?.rate
      const id = laneId(lane)
      if (rate !== undefined) this.paid.set(id, Math.max(this.#paid(id, rate), this.#now) + rate.every)
    }
  }
}

/** Free runs that are due and have the same tenant and lanes: they are claimed in order (Q4). */
export interface QueueLine {
  readonly tenant: string
  readonly lanes: readonly Lane[] | undefined
  /** The run that is next in it. */
  head: QueueHead | undefined
}

export interface QueueHead {
  readonly score: number
  /** Nobody has claimed it before. */
  readonly isFirst: boolean
}

export interface Turns {
  /** When the tenant was served last, by a number that rises with every claim; undefined: never. */
  servedAt(tenant: string): number | undefined
  /** The line's head is claimed: puts the next one in its place. */
  claim(line: QueueLine): void
  readonly limit: number
}

/** Claims run after run: of the tenant that was served longest ago, the first that its lanes admit (Q3). */
export function claimInTurn(lines: Iterable<QueueLine>, lanes: LaneStates, turns: Turns): void {
  const tenants = new Map<string, QueueLine[]>()
  for (const line of lines) {
    const own = tenants.get(line.tenant)
    if (own === undefined) tenants.set(line.tenant, [line])
    else own.push(line)
  }
  const served = (tenant: string) => turns.servedAt(tenant) ?? Number.NEGATIVE_INFINITY
  const first = (own: readonly QueueLine[]) => own[0]?.head?.score ?? 0
  for (const own of tenants.values()) own.sort(byHead)
  let waiting = [...tenants].sort(
    ([a, own], [b, others]) => compare(served(a), served(b)) || first(own) - first(others),
  )
  for (let left = turns.limit; left > 0 && waiting.length > 0; ) {
    const next: typeof waiting = []
    for (const [tenant, own] of waiting) {
      if (left > 0 && claimFirst(own, lanes, turns)) left--
      if (own.length > 0) next.push([tenant, own])
    }
    waiting = next
  }
}

/** Lines that are not admitted, or empty, are dropped: lanes only fill up while claims are made. */
function claimFirst(lines: QueueLine[], lanes: LaneStates, turns: Turns): boolean {
  for (let line = lines.shift(); line !== undefined; line = lines.shift()) {
    const { head } = line
    if (head === undefined || !lanes.admits(line.lanes, head.isFirst)) continue
    lanes.claim(line.lanes, head.isFirst)
    turns.claim(line)
    if (line.head !== undefined) insert(lines, line)
    return true
  }
  return false
}

function insert(lines: QueueLine[], line: QueueLine): void {
  const place = lines.findIndex((other) => byHead(line, other) < 0)
  if (place < 0) lines.push(line)
  else lines.splice(place, 0, line)
}

function byHead({ head: a }: QueueLine, { head: b }: QueueLine): number {
  return Number(a?.isFirst ?? true) - Number(b?.isFirst ?? true) || compare(a?.score ?? 0, b?.score ?? 0)
}

function compare(a: number, b: number): number {
  return a < b ? -1 : a > b ? 1 : 0
}
