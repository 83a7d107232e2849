/** Events about runs, and their consumers. An event's row number is its position: one process writes at a time (E2). */
import type {
  ClaimedConsumer,
  ConsumerFailure,
  ConsumerLease,
  ConsumerProgress,
  NewEvent,
  StoredConsumer,
  StoredEvent,
} from "@superstep/engine"
import { fromEventText, type KeyRing, toEventText, type ValueCodec } from "@superstep/engine/stores"
import { check, checksum } from "../file/checksum.ts"
import {
  decodeText,
  decodeTextOrNull,
  parseJson,
  parseName,
  parseSealed,
  type Row,
  selected,
  shownName,
  toText,
} from "../file/columns.ts"
import type { Database, Statement } from "../file/driver.ts"
import { corrupt } from "../file/errors.ts"

/** How many events one transaction removes at most. */
const EVENTS_AT_ONCE = 1_000

export interface SubscriptionTable {
  /** A transaction begins: other processes may have written events. */
  begin(): void
  /** Events of a run; `runId` and `workflow` as the file has them. */
  addEvents(run: { readonly runId: string; readonly workflow: string }, events: readonly NewEvent[]): void
  events(after: number, limit: number): readonly StoredEvent[]
  add(consumer: string, from: "now" | "beginning"): void
  consumers(): readonly StoredConsumer[]
  remove(consumer: string): boolean
  /** Whether a claim may succeed: saves a process that waits for its turn a write. */
  mayClaim(consumer: string, holder: string): boolean
  claim(consumer: string, holder: string): ClaimedConsumer | undefined
  advance(lease: ConsumerLease, progress: ConsumerProgress, missed: number): boolean
  release(lease: ConsumerLease): void
  /** Whether there is anything to trim. */
  mayTrim(before: number): boolean
  /** Removes some events; false when there are no more. */
  trimSome(before: number): boolean
}

const EVENT = {
  id: "integer",
  type: "text",
  run_id: "text",
  workflow: "text",
  at: "time",
  body: "text",
  sum: "integer",
} as const

/** The columns of a SELECT from `events`. */
const EVENT_COLUMNS = selected("events", EVENT)
type EventRow = Row<typeof EVENT>

const CONSUMER = {
  consumer: "text",
  position: "integer",
  token: "integer",
  holder: "text?",
  missed: "integer",
  failure: "text?",
  sum: "integer",
} as const

/** The columns of a SELECT from `consumers`. */
export const CONSUMER_COLUMNS = selected("consumers", CONSUMER)
export type ConsumerRow = Row<typeof CONSUMER>

/** As the file has it. */
interface Consumer {
  readonly consumer: string
  readonly position: number
  readonly token: number
  readonly holder: string | null
  readonly missed: number
  readonly failure: string | null
}

/** Events that every consumer has handled, or that are older than ?1. */
const REMOVABLE = "id <= (SELECT min(position) FROM consumers) OR at < ?1"

/** The last position. None is given twice, or before that of a consumer, also if one of these is damaged. */
const LAST = `CAST(max(
  coalesce((SELECT max(last) FROM event_end), 0),
  coalesce((SELECT max(id) FROM events), 0),
  coalesce((SELECT max(position) FROM consumers), 0)
) AS INTEGER)`

export function subscriptionTable(database: Database, codec: ValueCodec): SubscriptionTable {
  const findLast = database.prepare(`SELECT ${LAST} AS last`)
  const insert = "INSERT INTO events (id, type, run_id, workflow, at, body, sum)"
  const addEvent = database.prepare(`${insert} VALUES (?, ?, ?, ?, ?, ?, ?)`)
  const addNext = database.prepare(`${insert} SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE ${LAST} = ?1 - 1`)
  const findEvents = database.prepare(`SELECT ${EVENT_COLUMNS} FROM events WHERE id > ? ORDER BY id LIMIT ?`)
  const countEvents = database.prepare("SELECT count(*) AS count FROM events WHERE id > ?")
  const addConsumer = database.prepare(
    `INSERT INTO consumers (consumer, position, token, holder, missed, failure, sum) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  )
  const findOne = database.prepare(`SELECT ${CONSUMER_COLUMNS} FROM consumers WHERE consumer = ?`)
  const findAll = database.prepare(`SELECT ${CONSUMER_COLUMNS} FROM consumers ORDER BY consumer`)
  const update = database.prepare(
    "UPDATE consumers SET position = ?, token = ?, holder = ?, missed = ?, failure = ?, sum = ? WHERE consumer = ?",
  )
  const removeOne = database.prepare("DELETE FROM consumers WHERE consumer = ?")
  const isKnown = database.prepare("SELECT 1 FROM holders WHERE id = ?")
  const findRemovable = database.prepare(
    `SELECT count(*) AS count, max(id) AS last FROM (SELECT id, at FROM events ORDER BY id LIMIT ?2) WHERE ${REMOVABLE}`,
  )
  const countMissed = database.prepare(
    "SELECT count(*) AS count FROM events WHERE id > ?2 AND id <= ?3 AND at < ?1",
  )
  const keepEnd = database.prepare("UPDATE event_end SET last = ?")
  const removeSome = database.prepare(`DELETE FROM events WHERE id <= ?2 AND (${REMOVABLE})`)

  /** The last position that this process gave. */
  let end = 0
  /** Whether it is the last one of the file: no other process writes during a transaction. */
  let isLast = false

  function last(): number {
    return (findLast.all() as [{ last: number }])[0].last
  }

  function find(consumer: string): Consumer | undefined {
    const [row] = findOne.all(toText(consumer)) as ConsumerRow[]
    return row && toConsumer(row)
  }

  function save(row: Consumer): void {
    update.run(row.position, row.token, row.holder, row.missed, row.failure, consumerSum(row), row.consumer)
  }

  function isHeld(holder: string | null): holder is string {
    return holder !== null && isKnown.all(holder).length > 0
  }

  function free(consumer: string, holder: string): Consumer | undefined {
    const row = find(consumer)
    return row === undefined || (row.holder !== toText(holder) && isHeld(row.holder)) ? undefined : row
  }

  function held({ consumer, token }: ConsumerLease): Consumer | undefined {
    const row = find(consumer)
    return row?.token === token ? row : undefined
  }

  function removable(before: number): { readonly count: number; readonly last: number } {
    return (findRemovable.all(before, EVENTS_AT_ONCE) as [{ count: number; last: number }])[0]
  }

  return {
    begin() {
      isLast = false
    },
    addEvents({ runId, workflow }, events) {
      for (const event of events) {
        const { type, at, body } = toEventText(event)
        const add = (statement: Statement) => {
          const sum = eventSum(end + 1, type, runId, workflow, at, body)
          return statement.run(end + 1, type, runId, workflow, at, body, sum).changes !== 0
        }
        // Most often no other process has written in between: one statement does what two would.
        if (isLast || !add(addNext)) {
          if (!isLast) end = last()
          add(addEvent)
        }
        isLast = true
        end += 1
      }
    },
    events: (after, limit) => (findEvents.all(after, limit) as EventRow[]).map(toEvent),
    add(consumer, from) {
      const row = { consumer: toText(consumer), position: from === "now" ? last() : 0, ...NEW }
      addConsumer.run(row.consumer, row.position, 0, null, 0, null, consumerSum(row))
    },
    consumers: () =>
      (findAll.all() as ConsumerRow[]).map((row) => {
        const found = toConsumer(row)
        const [{ count }] = countEvents.all(found.position) as [{ count: number }]
        return {
          consumer: parseName(found.consumer, subjectOf(found.consumer)),
          ...toProgress(found, codec),
          lag: count,
          missed: found.missed,
          ...(isHeld(found.holder) && { holder: parseName(found.holder, subjectOf(found.consumer)) }),
        }
      }),
    remove: (consumer) => removeOne.run(toText(consumer)).changes !== 0,
    mayClaim: (consumer, holder) => free(consumer, holder) !== undefined,
    claim(consumer, holder) {
      const row = free(consumer, holder)
      if (row === undefined) return undefined
      const token = row.token + 1
      save({ ...row, token, holder: toText(holder) })
      return { lease: { consumer, holder, token }, ...toProgress(row, codec) }
    },
    advance(lease, { position, failure }, missed) {
      const row = held(lease)
      if (row === undefined) return false
      const text = failure === undefined ? null : codec.seal(JSON.stringify(failure), "failure", row.consumer)
      save({ ...row, position, failure: text, missed: row.missed + missed })
      return true
    },
    release(lease) {
      const row = held(lease)
      if (row !== undefined) save({ ...row, holder: null })
    },
    mayTrim: (before) => removable(before).count > 0,
    trimSome(before) {
      const { count, last: upTo } = removable(before)
      if (count === 0) return false
      for (const one of findAll.all() as ConsumerRow[]) {
        const row = toConsumer(one)
        const [missed] = countMissed.all(before, row.position, upTo) as [{ count: number }]
        if (missed.count > 0) save({ ...row, missed: row.missed + missed.count })
      }
      keepEnd.run(last())
      removeSome.run(before, upTo)
      return count === EVENTS_AT_ONCE
    },
  }
}

const NEW = { token: 0, holder: null, missed: 0, failure: null }

function eventSum(
  id: number,
  type: string,
  runId: string,
  workflow: string,
  at: number,
  body: string,
): number {
  return checksum([id, type, runId, workflow, at], body)
}

function consumerSum({ consumer, position, token, holder, missed, failure }: Consumer): number {
  return checksum([consumer, position, token, holder, missed], failure ?? "")
}

/** Seals the failures of consumers that were not sealed with the newest key again; how many. */
export function sealFailuresAgain(database: Database, ring: KeyRing): number {
  const find = database.prepare(`SELECT ${CONSUMER_COLUMNS} FROM consumers WHERE failure IS NOT NULL`)
  const update = database.prepare("UPDATE consumers SET failure = ?, sum = ? WHERE consumer = ?")
  let count = 0
  for (const row of find.all() as ConsumerRow[]) {
    const found = toConsumer(row)
    if (found.failure === null || found.failure.startsWith(ring.prefix)) continue
    const damaged = (what: string, cause?: unknown) => corrupt(subjectOf(found.consumer), what, cause)
    const failure = ring.sealAgain(found.failure, damaged, "failure", found.consumer)
    update.run(failure, consumerSum({ ...found, failure }), found.consumer)
    count += 1
  }
  return count
}

/** The rows of all events of a file that may be damaged. */
export function* eventRows(database: Database): Generator<EventRow> {
  const find = database.prepare(
    `SELECT ${EVENT_COLUMNS} FROM events NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?`,
  )
  for (let last: number | undefined = 0; last !== undefined; ) {
    const rows = find.all(last, EVENTS_AT_ONCE) as EventRow[]
    yield* rows
    last = rows.length < EVENTS_AT_ONCE ? undefined : rows.at(-1)?.id
  }
}

/** Throws for a row that is not as it was written. */
export function toEvent(row: EventRow): StoredEvent {
  const { id, at } = row
  const subject = () => `Event ${id} is damaged`
  const [type, runId, workflow, body] = [row.type, row.run_id, row.workflow, row.body].map((bytes) =>
    decodeText(bytes, subject),
  ) as [string, string, string, string]
  check(row.sum, () => eventSum(id, type, runId, workflow, at, body), subject)
  return {
    ...fromEventText(type, at, parseJson(row.body, subject)),
    position: id,
    runId: parseName(runId, subject),
    workflow: parseName(workflow, subject),
  }
}

/** Throws for a row that is not as it was written. */
export function toConsumer(row: ConsumerRow): Consumer {
  const consumer = decodeText(row.consumer, () => "A consumer is damaged at its name")
  const subject = subjectOf(consumer)
  const { position, token, missed } = row
  const [holder, failure] = [row.holder, row.failure].map((bytes) => decodeTextOrNull(bytes, subject)) as [
    string | null,
    string | null,
  ]
  const found = { consumer, position, token, holder, missed, failure }
  check(row.sum, () => consumerSum(found), subject)
  return found
}

function subjectOf(consumer: string): () => string {
  return () => `Consumer "${shownName(consumer)}" is damaged`
}

function toProgress({ consumer, position, failure }: Consumer, codec: ValueCodec): ConsumerProgress {
  if (failure === null) return { position }
  const text = Buffer.from(failure)
  const found = parseSealed(codec, text, subjectOf(consumer), "failure", consumer)
  return { position, failure: found as ConsumerFailure }
}
