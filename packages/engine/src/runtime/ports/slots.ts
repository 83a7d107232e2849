/**
 * Slots: how many tasks of a node, or requests to a model provider, are in progress at the same time and begin in a time, for
 * all processes of a store. A slot is asked for before the task or the request, and left after it. Slots of one pool are
 * under the same limits; each has one or more lanes of its pool.
 *
 * Invariants, which every store keeps:
 * T1 A slot that is taken counts in all its lanes until it is left, or until the store no longer knows its holder. Nothing
 *    else is counted, so a killed process leaks no slot.
 * T2 A slot is never taken where that would bring a lane above its `max` or its `rate`, or while its pool is closed, however
 *    many processes ask at the same time: in no window of time `w` does a lane give more than `burst + w / every` slots
 *    that cost one each, by one clock for all processes.
 * T3 In a lane, slots are taken in the order of their scores, then in that in which they were asked for. A slot that waits
 *    for one of its lanes keeps its turn in those before it, and holds up nobody in those after it.
 */
import type { NodeId, RunId } from "../../core/index.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import { type LaneRate, MAX_BURSTS, paidAt, rateAdmitsAt } from "./run-flow.ts"

export interface SlotLane {
  /** Unique within the pool. */
  readonly name: string
  /** How many slots of the lane are taken at the same time. */
  readonly max?: number | undefined
  /** How often slots of the lane are taken. */
  readonly rate?: LaneRate | undefined
  /** How many starts of the rate the slot counts for. Default 1. */
  readonly cost?: number | undefined
}

export interface SlotRequest {
  /** Unique in the store. Asking again with the same one changes nothing. */
  readonly id: string
  readonly holder: string
  readonly pool: string
  /** Narrow ones first: T3. */
  readonly lanes: readonly SlotLane[]
  /** Lower is earlier: since when it waits, moved by its priority. */
  readonly score: number
  /** The clock of the process, as in `ClaimQuery`: read in the moment of the decision. */
  readonly now: () => number
  /** Who needs it, for those who look at the run. */
  readonly by?: { readonly runId: RunId; readonly node: NodeId } | undefined
}

export interface SlotEnd {
  readonly id: string
  readonly pool: string
  readonly now: () => number
  /** What it cost in the end, by lane, in place of its `cost`. */
  readonly costs?: readonly (number | undefined)[] | undefined
  /** No slot of the pool is taken for so many milliseconds. */
  readonly closeFor?: number | undefined
}

export interface PoolSlots {
  /** Which of the holder's slots are taken. Those that are not among them wait. */
  readonly taken: ReadonlySet<string>
  readonly waiting: ReadonlySet<string>
  /** Milliseconds until a rate, or a closed pool, admits the next. Absent: another slot has to be left first. */
  readonly retryIn?: number | undefined
}

/** A slot as somebody sees it who looks at a run. */
export interface StoredSlot {
  readonly node: NodeId
  readonly pool: string
  /** The names of its lanes. */
  readonly lanes: readonly string[]
  readonly taken: boolean
  /** How many slots of the pool wait before it; 0 when it is taken. */
  readonly ahead: number
}

export interface Slots {
  /** Asks for a slot, which is taken now or waits in line. The state of the holder's slots in the pool. */
  take(request: SlotRequest): MaybePromise<PoolSlots>
  /** The same without asking for another: time may have admitted some that wait. */
  check(query: {
    readonly holder: string
    readonly pool: string
    readonly now: () => number
  }): MaybePromise<PoolSlots>
  /** The slot is left, or its place in line. Ignored when it is not known. */
  leave(end: SlotEnd): MaybePromise<void>
  /** The slots of a run that nodes take. */
  ofRun(runId: RunId): MaybePromise<readonly StoredSlot[]>
  /**
   * Calls back when a slot of the holder may have been taken by what others did. A hint, which may be lost: listeners also
   * poll. Absent: they poll more often.
   */
  watch?(holder: string, onTaken: () => void): { close(): void }
}

/** What a pool remembers besides its slots. */
export interface PoolState {
  /** By lane: until when its starts are paid for. */
  readonly paid: ReadonlyMap<string, number>
  readonly closed?: { readonly from: number; readonly until: number } | undefined
}

/** Decides which slots of a pool are taken (T2, T3), at one moment. */
export class SlotAdmission {
  readonly #now: number
  readonly #held = new Map<string, number>()
  /** Lanes in which somebody waits: those that come later wait too. */
  readonly #busy = new Set<string>()
  readonly #paid: Map<string, number>
  #closed: PoolState["closed"]
  #retryAt = Number.POSITIVE_INFINITY

  constructor(now: number, { paid, closed }: PoolState) {
    this.#now = now
    this.#paid = new Map(paid)
    // A clock that was set back keeps nobody out.
    this.#closed = closed !== undefined && now >= closed.from && now < closed.until ? closed : undefined
  }

  /** A slot was left: puts its cost right, and closes the pool for so many milliseconds. */
  leave(lanes: readonly SlotLane[], { costs = [], closeFor = 0 }: Pick<SlotEnd, "costs" | "closeFor">): void {
    for (const [i, lane] of lanes.entries()) {
      const { name, rate, cost = 1 } = lane
      const used = costs[i]
      if (rate === undefined || used === undefined) continue
      const paid = this.#paidUntil(lane, rate)
      const from = used > cost ? Math.max(paid, this.#now) : paid
      this.#paid.set(name, Math.min(from + (used - cost) * rate.every, this.#most(rate, MAX_BURSTS)))
    }
    const until = this.#now + closeFor
    if (closeFor > 0 && until > (this.#closed?.until ?? 0)) this.#closed = { from: this.#now, until }
  }

  /** So many slots with these lanes are taken. */
  hold(lanes: readonly SlotLane[], count = 1): void {
    for (const { name } of lanes) this.#held.set(name, (this.#held.get(name) ?? 0) + count)
  }

  /** Whether a slot with these lanes is taken. Those that are asked about after it come after it. */
  admit(lanes: readonly SlotLane[]): boolean {
    if (this.#closed !== undefined) return this.#refuse(lanes, this.#closed.until)
    for (const [i, lane] of lanes.entries()) {
      const { name, max = Number.POSITIVE_INFINITY, rate, cost } = lane
      const upToHere = lanes.slice(0, i + 1)
      if (this.#busy.has(name) || (this.#held.get(name) ?? 0) >= max) return this.#refuse(upToHere)
      const admittedAt = rate && rateAdmitsAt(rate, this.#paidUntil(lane, rate), cost)
      if (admittedAt !== undefined && admittedAt > this.#now) return this.#refuse(upToHere, admittedAt)
    }
    this.hold(lanes)
    for (const lane of lanes) {
      const { name, rate, cost = 1 } = lane
      if (rate === undefined) continue
      const paid = Math.max(this.#paidUntil(lane, rate), this.#now) + cost * rate.every
      this.#paid.set(name, Math.min(paid, this.#most(rate, 1)))
    }
    return true
  }

  #refuse(lanes: readonly SlotLane[], until = Number.POSITIVE_INFINITY): false {
    for (const { name } of lanes) this.#busy.add(name)
    this.#retryAt = Math.min(this.#retryAt, until)
    return false
  }

  #paidUntil({ name, cost }: SlotLane, rate: LaneRate): number {
    return paidAt(rate, this.#paid.get(name) ?? 0, this.#now, cost)
  }

  #most({ every, burst }: LaneRate, bursts: number): number {
    return this.#now + bursts * burst * every
  }

  /** Milliseconds until time alone admits one that was refused. */
  get retryIn(): number | undefined {
    return this.#retryAt === Number.POSITIVE_INFINITY ? undefined : this.#retryAt - this.#now
  }

  /** What the pool remembers from now on. */
  get state(): PoolState {
    const paid = new Map([...this.#paid].filter(([, until]) => until > this.#now))
    return this.#closed === undefined ? { paid } : { paid, closed: this.#closed }
  }
}

/** A slot that waits. */
export interface WaitingSlot {
  readonly id: string
  readonly holder: string
  readonly lanes: readonly SlotLane[]
  readonly score: number
  /** The order in which slots were asked for. */
  readonly seq: number
}

/** Slots of a pool that wait for the same lanes, in order. */
export interface SlotLine {
  head: WaitingSlot | undefined
}

/** Takes one slot after another (T3). `take` puts the next one of the line in the place of its head. */
export function takeInOrder<Line extends SlotLine>(
  lines: Iterable<Line>,
  admission: SlotAdmission,
  take: (line: Line, slot: WaitingSlot) => void,
): void {
  const waiting = new Set(lines)
  for (;;) {
    let first: Line | undefined
    for (const line of waiting) if (isBefore(line.head, first?.head)) first = line
    if (first?.head === undefined) return
    // Those behind it in its line wait for the same lanes.
    if (admission.admit(first.head.lanes)) take(first, first.head)
    else waiting.delete(first)
  }
}

function isBefore(a: WaitingSlot | undefined, b: WaitingSlot | undefined): boolean {
  if (a === undefined || b === undefined) return a !== undefined
  return a.score < b.score || (a.score === b.score && a.seq < b.seq)
}

/** What slots with these lanes wait for together. */
export function slotLine(lanes: readonly SlotLane[]): string {
  return JSON.stringify(lanes.map(({ name, max, rate }) => [name, max, rate]))
}
