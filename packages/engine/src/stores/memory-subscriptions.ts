/** Events about runs, and their consumers, in the memory store. */
import { freezeData } from "../core/internal.ts"
import type {
  ClaimedConsumer,
  ConsumerLease,
  NewEvent,
  StoredConsumer,
  StoredEvent,
  Subscriptions,
} from "../runtime/index.ts"
import type { ConsumerRow, EventLog, Row, Tables } from "./memory-rows.ts"

export function addEvents({ log }: Tables, { runId, created }: Row, events: readonly NewEvent[]): void {
  for (const event of events) {
    log.last++
    log.kept.push(Object.freeze({ ...event, position: log.last, runId, workflow: created.workflow }))
  }
}

export function memorySubscriptions(tables: Tables): Subscriptions {
  const { consumers } = tables.log
  return {
    add(consumer, from) {
      if (consumers.has(consumer)) return
      const position = from === "now" ? tables.log.last : 0
      consumers.set(consumer, { position, failure: undefined, missed: 0, holder: undefined, token: 0 })
    },
    consumers: () => [...consumers.keys()].sort().map((consumer) => storedConsumer(tables, consumer)),
    remove: (consumer) => consumers.delete(consumer),
    claim: (consumer, holder) => claim(tables, consumer, holder),
    events(after, limit) {
      const first = indexAfter(tables.log.kept, after)
      return tables.log.kept.slice(first, first + limit)
    },
    advance(lease, { position, failure }, missed = 0) {
      const row = heldRow(tables, lease)
      if (row === undefined) return false
      row.position = position
      row.failure = freezeData(failure)
      row.missed += missed
      return true
    },
    release(lease) {
      const row = heldRow(tables, lease)
      if (row !== undefined) row.holder = undefined
    },
    trim: (before) => trim(tables.log, before),
  }
}

function storedConsumer({ log, holders }: Tables, consumer: string): StoredConsumer {
  const { position, failure, missed, holder } = log.consumers.get(consumer) as ConsumerRow
  const lag = log.kept.length - indexAfter(log.kept, position)
  const isHeld = holder !== undefined && holders.has(holder)
  return { consumer, position, lag, missed, ...(failure && { failure }), ...(isHeld && { holder }) }
}

function claim(tables: Tables, consumer: string, holder: string): ClaimedConsumer | undefined {
  const row = tables.log.consumers.get(consumer)
  if (row === undefined) return undefined
  if (row.holder !== undefined && row.holder !== holder && tables.holders.has(row.holder)) return undefined
  row.holder = holder
  row.token++
  const { position, failure, token } = row
  return { lease: { consumer, holder, token }, position, ...(failure && { failure }) }
}

function heldRow({ log }: Tables, { consumer, token }: ConsumerLease): ConsumerRow | undefined {
  const row = log.consumers.get(consumer)
  return row?.token === token ? row : undefined
}

function trim(log: EventLog, before: number): void {
  const rows = [...log.consumers.values()]
  const handled = rows.length === 0 ? 0 : Math.min(...rows.map(({ position }) => position))
  const kept: StoredEvent[] = []
  for (const event of log.kept) {
    if (event.position > handled && event.at >= before) kept.push(event)
    else for (const row of rows) if (event.position > row.position) row.missed++
  }
  log.kept = kept
}

/** Where the events after a position begin. */
function indexAfter(events: readonly StoredEvent[], position: number): number {
  let [low, high] = [0, events.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((events[middle] as StoredEvent).position <= position) low = middle + 1
    else high = middle
  }
  return low
}
