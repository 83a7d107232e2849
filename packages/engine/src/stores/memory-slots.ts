/** Slots in memory: of the memory store, and of limits within one process. */
import { freezeData } from "../core/internal.ts"
import {
  type PoolSlots,
  type PoolState,
  SlotAdmission,
  type SlotEnd,
  type SlotLine,
  type SlotRequest,
  type Slots,
  type StoredSlot,
  slotLine,
  takeInOrder,
} from "../runtime/index.ts"

interface Slot extends SlotRequest {
  readonly seq: number
  readonly line: string
  taken: boolean
}

interface Pool {
  state: PoolState
  /** In the order in which they were asked for. */
  readonly slots: Map<string, Slot>
}

interface Line extends SlotLine {
  readonly slots: Slot[]
}

const NEW: PoolState = { paid: new Map() }

/** `isKnown`: whether the store knows the holder (T1). */
export function memorySlots(isKnown: (holder: string) => boolean): Required<Slots> {
  const pools = new Map<string, Pool>()
  const listeners = new Map<string, Set<() => void>>()
  let asked = 0

  function admit(
    pool: Pool,
    asker: string | undefined,
    now: number,
    left?: { readonly slot: Slot | undefined; readonly end: SlotEnd },
  ): number | undefined {
    for (const { id, holder } of pool.slots.values()) if (!isKnown(holder)) pool.slots.delete(id)
    const admission = new SlotAdmission(now, pool.state)
    if (left !== undefined) admission.leave(left.slot?.taken ? left.slot.lanes : [], left.end)
    for (const { taken, lanes } of pool.slots.values()) if (taken) admission.hold(lanes)
    const notified = new Set<string>()
    takeInOrder(linesOf(pool), admission, (line, { id, holder }) => {
      ;(pool.slots.get(id) as Slot).taken = true
      if (holder !== asker) notified.add(holder)
      line.slots.shift()
      line.head = line.slots[0]
    })
    pool.state = admission.state
    for (const holder of notified) for (const listener of [...(listeners.get(holder) ?? [])]) listener()
    return admission.retryIn
  }

  function poolOf(name: string): Pool {
    let pool = pools.get(name)
    if (pool === undefined) {
      pool = { state: NEW, slots: new Map() }
      pools.set(name, pool)
    }
    return pool
  }

  function check(name: string, holder: string, now: number): PoolSlots {
    const pool = poolOf(name)
    const retryIn = admit(pool, holder, now)
    const own = [...pool.slots.values()].filter((slot) => slot.holder === holder)
    const ids = (isTaken: boolean) =>
      new Set(own.filter(({ taken }) => taken === isTaken).map(({ id }) => id))
    return { taken: ids(true), waiting: ids(false), ...(retryIn === undefined ? {} : { retryIn }) }
  }

  return {
    take(request) {
      const { slots } = poolOf(request.pool)
      if (!slots.has(request.id)) {
        const { lanes, ...rest } = request
        const line = slotLine(lanes)
        slots.set(request.id, { ...rest, lanes: freezeData(lanes), line, seq: ++asked, taken: false })
      }
      return check(request.pool, request.holder, request.now())
    },
    check: ({ pool, holder, now }) => check(pool, holder, now()),
    leave(end) {
      const pool = poolOf(end.pool)
      const slot = pool.slots.get(end.id)
      pool.slots.delete(end.id)
      admit(pool, slot?.holder, end.now(), { slot, end })
      if (pool.slots.size === 0 && pool.state.paid.size === 0 && pool.state.closed === undefined)
        pools.delete(end.pool)
    },
    ofRun(runId) {
      const found: StoredSlot[] = []
      for (const pool of pools.values()) {
        for (const slot of pool.slots.values())
          if (slot.by?.runId === runId) found.push(storedSlot(pool, slot))
      }
      return found
    },
    watch(holder, onTaken) {
      const own = listeners.get(holder) ?? new Set()
      listeners.set(holder, own)
      own.add(onTaken)
      return {
        close() {
          own.delete(onTaken)
          if (own.size === 0) listeners.delete(holder)
        },
      }
    },
  }
}

function linesOf(pool: Pool): Iterable<Line> {
  const lines = new Map<string, Line>()
  for (const slot of pool.slots.values()) {
    if (slot.taken) continue
    const line = lines.get(slot.line)
    if (line === undefined) lines.set(slot.line, { slots: [slot], head: undefined })
    else line.slots.push(slot)
  }
  for (const line of lines.values()) {
    line.slots.sort((a, b) => a.score - b.score || a.seq - b.seq)
    line.head = line.slots[0]
  }
  return lines.values()
}

function storedSlot(pool: Pool, { by, pool: name, lanes, taken, score, seq }: Slot): StoredSlot {
  const waiting = [...pool.slots.values()].filter((slot) => !slot.taken)
  const before = waiting.filter((slot) => slot.score < score || (slot.score === score && slot.seq < seq))
  return {
    node: by?.node ?? "",
    pool: name,
    lanes: lanes.map((lane) => lane.name),
    taken,
    ahead: taken ? 0 : before.length,
  }
}
