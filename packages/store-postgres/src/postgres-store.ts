/**
 * The store on its tables: which statement each call is. open-store.ts takes the options, migrations.ts keeps the schema up
 * to date, database.ts asks the server; each concept has a file of its own. The invariants P1 … P3 are in database.ts, S1 …
 * S5 in appends.ts and journals.ts.
 */
import type {
  KeepAlive,
  LiveChannel,
  LiveService,
  RecordStore,
  Registry,
  RunQueue,
  ScheduleStore,
  Store,
  Subscriptions,
} from "@superstep/engine"
import { type KeyRing, placesKind, plainCodec, ringOf, VALUE } from "@superstep/engine/stores"
import type { ConnectionConfig } from "./address.ts"
import { type AppendItem, toAppendItem } from "./append-item.ts"
import { Appends } from "./appends.ts"
import type { Database, Statement } from "./database.ts"
import { corrupt } from "./errors.ts"
import {
  findGraph,
  findSnapshot,
  listThreads,
  readJournal,
  removeThread,
  saveSnapshot,
  threadState,
} from "./journals.ts"
import * as leases from "./leases.ts"
import { keepAlive } from "./leases.ts"
import { serveLive, subscribeLive } from "./live.ts"
import { mailAmount, mailOutcome, mailTo, post, refuseMail } from "./mail.ts"
import { queueOn, Turns } from "./queue.ts"
import { recordsOn } from "./records.ts"
import { type Promised, registryOn } from "./registry.ts"
import { listRequests } from "./requests.ts"
import { prune, removeRun, report } from "./retention.ts"
import { findRun, listRuns, pinRun } from "./runs.ts"
import { schedulesOn } from "./schedules.ts"
import { hintsOn, messageAddress, type OnMessage, type Signals } from "./signals.ts"
import { type PostgresSlots, slotsOn } from "./slots.ts"
import { subscriptionsOn } from "./subscriptions.ts"

/** A store that always answers with a promise. */
export type PostgresStore = Promised<
  Omit<
    Store,
    "isEncrypted" | "keepAlive" | "live" | "queue" | "records" | "schedules" | "slots" | "subscriptions"
  >
> &
  Pick<Store, "isEncrypted" | "keepAlive"> & {
    readonly queue: Promised<RunQueue>
    readonly records: Promised<RecordStore>
    readonly schedules: Promised<ScheduleStore>
    readonly subscriptions: Promised<Subscriptions>
    readonly slots: PostgresSlots
    readonly registry: Promised<Registry>
    /** Writes values that were not written with the newest key again. Returns how many. */
    encryptAgain(onProgress?: (values: number) => void): Promise<number>
    readonly live: Required<LiveChannel>
  }

/** `config`: how a thread connects; undefined where it cannot. */
export function storeOn(
  database: Database,
  signals: Signals,
  config: ConnectionConfig | undefined,
): PostgresStore {
  const turns = new Turns()
  const appends = new Appends(database)
  const beating = new Set<KeepAlive>()
  const serving = new Set<LiveService>()
  const hints = hintsOn(signals)

  return {
    isEncrypted: database.codec !== plainCodec,

    append(lease, expectedSeq, records, change) {
      let item: AppendItem
      try {
        item = toAppendItem(lease, expectedSeq, records, change, database.codec)
      } catch (error) {
        return Promise.reject(error)
      }
      const written = turns.pass(lease.runId, () => appends.add(item))
      return change?.created?.queued ? written.then(() => hints.toAll()) : written
    },
    read: (runId, afterSeq, limit) => readJournal(database, runId, afterSeq, limit),
    saveSnapshot: (lease, snapshot) => saveSnapshot(database, lease, snapshot),
    snapshot: (runId) => findSnapshot(database, runId),
    graph: (hash) => findGraph(database, hash),

    run: (runId) => findRun(database, runId),
    runs: (query) => listRuns(database, query),
    requests: (query) => listRequests(database, query),

    beat: (holder) => leases.beat(database, holder),
    holders: () => leases.holders(database),
    held: (holder) => leases.held(database, holder),
    dismiss: (holder, why) => leases.dismiss(database, holder, why),
    free: (query) => leases.free(database, query),
    claim: (runId, token, holder, restsAt) =>
      turns.pass(runId, () => leases.claim(database, runId, token, holder, restsAt)),
    setIdle: (lease, idle, status) =>
      turns.pass(lease.runId, () => leases.setIdle(database, lease, idle, status)),
    async release(lease, wakeAt) {
      await turns.pass(lease.runId, () => leases.release(database, lease, wakeAt))
      if (wakeAt !== undefined && wakeAt <= Date.now()) hints.toAll()
    },
    absolve: (lease) => turns.pass(lease.runId, () => leases.absolve(database, lease)),
    quarantine: (lease, at) => turns.pass(lease.runId, () => leases.quarantine(database, lease, at)),
    async unquarantine(runId) {
      const isFree = await turns.pass(runId, () => leases.unquarantine(database, runId))
      if (isFree) hints.toAll()
      return isFree
    },

    queue: queueOn(database, turns, hints),
    records: recordsOn(database),
    schedules: schedulesOn(database, hints),
    subscriptions: subscriptionsOn(database),
    slots: slotsOn(database, signals),

    async post(mail) {
      const holder = await post(database, mail)
      if (holder === undefined) hints.toAll()
      else hints.to(holder)
    },
    mail: (holder) => mailTo(database, holder),
    mailAmount: (runId) => mailAmount(database, runId),
    refuseMail: (lease, id, error) => refuseMail(database, lease, id, error),
    mailOutcome: (id) => mailOutcome(database, id),

    thread: (id, version) => threadState(database, id, version),
    threads: (query) => listThreads(database, query),
    removeThread: (id) => removeThread(database, id),

    registry: registryOn(database),
    encryptAgain: (onProgress = () => undefined) => encryptAgain(database, onProgress),

    pin: (runId, pinned) => pinRun(database, runId, pinned),
    remove: (runId) => removeRun(database, runId),
    prune: (policy) => prune(database, policy),
    report: () => report(database),
    async close() {
      for (const thread of beating) thread.stop()
      for (const service of serving) service.close()
      await appends.drain()
      await signals.close()
      await database.close()
    },
    live: {
      serve(holder, watch) {
        const service = serveLive(signals, holder, watch)
        serving.add(service)
        return {
          close() {
            serving.delete(service)
            service.close()
          },
        }
      },
      subscribe: (holder, query, listener) => subscribeLive(signals, holder, query, listener),
      hints: hints.listen,
      listen: (address, onMessage) => ({
        close: signals.listen(messageAddress(address), onMessage as OnMessage),
      }),
      send: (address, message) => signals.send(messageAddress(address), message, true),
    },
    ...(config && {
      keepAlive(options) {
        const thread = keepAlive(config, database.target.schema, options)
        beating.add(thread)
        return {
          stop() {
            beating.delete(thread)
            thread.stop()
          },
        }
      },
    }),
  }
}

// Writes every value of a store that was not written with the newest key again, some at a time. What was done before it was
// interrupted stays done. Tables are read page by page, so that one pass reads each row once; a row that another process
// writes to meanwhile is left to the next pass.

/** Pages of a table that one statement reads. */
const PAGES_AT_ONCE = 8

interface SealedColumn {
  readonly table: string
  readonly column: string
  readonly kind: string
  /** Of the table, called `t`, or of the row of its run, called `r`. */
  readonly owner: string
  readonly part?: string | undefined
}

const COLUMNS: readonly SealedColumn[] = [
  { table: "journal", column: "body", kind: "record", owner: "r.run_id", part: "t.seq" },
  { table: "journal", column: "places", kind: placesKind("record"), owner: "r.run_id", part: "t.seq" },
  { table: "snapshots", column: "body", kind: "snapshot", owner: "r.run_id", part: "t.seq" },
  { table: "snapshots", column: "places", kind: placesKind("snapshot"), owner: "r.run_id", part: "t.seq" },
  { table: "blobs", column: "body", kind: VALUE, owner: "t.hash" },
  { table: "requests", column: "body", kind: "request", owner: "r.run_id", part: "t.request_id" },
  { table: "thread_writes", column: "value", kind: "thread", owner: "t.key" },
  { table: "mail", column: "command", kind: "mail", owner: "t.mail_id", part: "t.run_id" },
  { table: "mail", column: "outcome", kind: "outcome", owner: "t.mail_id" },
  { table: "records", column: "value", kind: "document", owner: "t.kind", part: "t.id" },
  { table: "live", column: "error", kind: "error", owner: "r.run_id" },
  { table: "ended", column: "error", kind: "error", owner: "r.run_id" },
  { table: "schedules", column: "body", kind: "schedule", owner: "t.id" },
  { table: "consumers", column: "failure", kind: "failure", owner: "t.consumer" },
]

interface Found {
  readonly place: string
  readonly value: string
  readonly owner: string
  readonly part: string
}

const FORGET: Statement = { text: "DELETE FROM $.keys WHERE id <> $1" }

/** How many values were written again. */
async function encryptAgain(database: Database, onProgress: (values: number) => void): Promise<number> {
  const ring = ringOf(database.codec)
  let values = 0
  // Until nothing is left: other processes may still write with an older key.
  for (let found = -1; found !== 0; values += found) {
    found = 0
    for (const column of COLUMNS) {
      for await (const batch of sealed(database, ring, column)) {
        found += batch
        onProgress(values + found)
      }
    }
  }
  await database.write("The list of keys", FORGET, [ring.writes])
  return values
}

/** Yields how many values of some pages were written again. */
async function* sealed(database: Database, ring: KeyRing, of: SealedColumn): AsyncGenerator<number> {
  const { table, column, kind, owner, part = "''" } = of
  const subject = `Table ${table}`
  const pages: Statement = {
    text: `SELECT pg_relation_size('$.${table}') / current_setting('block_size')::bigint AS pages`,
  }
  const find: Statement = {
    text: `SELECT t.ctid::text AS place, t.${column} AS value, ${owner} AS owner, (${part})::text AS part
      FROM $.${table} AS t ${owner.startsWith("r.") ? "JOIN $.runs AS r ON r.id = t.run" : ""}
      WHERE t.ctid >= $1::tid AND t.ctid < $2::tid AND left(t.${column}, $3) <> $4`,
  }
  const update: Statement = {
    text: `UPDATE $.${table} AS t SET ${column} = u.sealed
      FROM unnest($1::tid[], $2::text[], $3::text[]) AS u(place, value, sealed)
      WHERE t.ctid = u.place AND t.${column} = u.value RETURNING 1 AS one`,
  }
  const [size] = await database.read<{ pages: number }>(subject, pages)
  for (let page = 0; page < (size?.pages ?? 0); page += PAGES_AT_ONCE) {
    const range = [`(${page},0)`, `(${page + PAGES_AT_ONCE},0)`]
    const rows = await database.read<Found>(subject, find, [...range, ring.prefix.length, ring.prefix])
    if (rows.length === 0) continue
    const texts = rows.map((row) => {
      const damaged = (what: string, cause?: unknown) =>
        corrupt(() => `A value in table ${table} is damaged`, what, cause)
      return ring.sealAgain(row.value, damaged, kind, row.owner, row.part)
    })
    const values = [rows.map(({ place }) => place), rows.map(({ value }) => value), texts]
    yield (await database.write("The encryption of values", update, values)).length
  }
}
