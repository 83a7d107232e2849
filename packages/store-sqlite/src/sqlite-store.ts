/**
 * The store on its tables: decides which of them each call uses, and in what transaction. open-store.ts opens the file,
 * schema.ts defines its tables, transactions.ts schedules reads and writes; each table has a file of its own. The
 * invariants S1 … S3 are in transactions.ts, S4 is in journals.ts.
 */

import {
  checkRegistryChange,
  isSuperstepError,
  type LiveChannel,
  type LiveService,
  type RecordStore,
  type Registry,
  type RunQueue,
  registryConflict,
  type ScheduleStore,
  type Slots,
  type Store,
  type Subscriptions,
} from "@superstep/engine"
import { type HeartbeatThread, plainCodec, type ValueCodec } from "@superstep/engine/stores"
import { toText } from "./file/columns.ts"
import type { Database } from "./file/driver.ts"
import { tablesDamaged } from "./file/errors.ts"
import type { Transactions } from "./file/transactions.ts"
import { type Appender, appender, hasRecordsOnly, toChangeTexts } from "./journal/append.ts"
import { blobTable } from "./journal/blobs.ts"
import { graphTable } from "./journal/graphs.ts"
import { journalTable, snapshotTable, toBodies, toSnapshotBody } from "./journal/journals.ts"
import { journalReader } from "./journal/reads.ts"
import { threadTable } from "./journal/threads.ts"
import { keepAlive, leaseTable } from "./lease/leases.ts"
import { mailTable } from "./lease/mail.ts"
import { type QueueTable, queueTable } from "./lease/queue.ts"
import { type SlotTable, slotTable } from "./lease/slots.ts"
import { subscribeLive } from "./live/live-client.ts"
import { serveLive } from "./live/live-server.ts"
import { recordTable } from "./records.ts"
import { registryTables } from "./registry.ts"
import { encryptAgain } from "./repair/encrypt-again.ts"
import { requestTable } from "./runs/requests.ts"
import { reporter, retention } from "./runs/retention.ts"
import { labelTable } from "./runs/run-labels.ts"
import { nameIndex } from "./runs/run-names.ts"
import { runTable } from "./runs/runs.ts"
import { type SubscriptionTable, subscriptionTable } from "./runs/subscriptions.ts"
import { scheduleTable } from "./schedules.ts"

type Promised<Port extends { [Method in keyof Port]: (...args: never[]) => unknown }> = {
  [Method in keyof Port]: (...args: Parameters<Port[Method]>) => Promise<Awaited<ReturnType<Port[Method]>>>
}

/** A store that always answers with a promise. */
export type SqliteStore = Promised<
  Omit<
    Store,
    "isEncrypted" | "keepAlive" | "live" | "queue" | "records" | "schedules" | "slots" | "subscriptions"
  >
> &
  Required<Pick<Store, "isEncrypted" | "keepAlive">> & {
    readonly queue: Promised<RunQueue>
    readonly records: Promised<RecordStore>
    readonly schedules: Promised<ScheduleStore>
    readonly subscriptions: Promised<Subscriptions>
    readonly slots: Promised<Omit<Slots, "watch">>
    readonly registry: Promised<Registry>
    /** Writes values that were not written with the newest key again. Returns how many rows. */
    encryptAgain(onProgress?: (rows: number) => void): Promise<number>
    readonly live: LiveChannel
  }

/**
 * Closes the connection, and throws STORE_CORRUPT, where the file does not have the tables that it should: at once, or with
 * `withLateStatements`, when they are used.
 */
export function storeOn(
  path: string,
  database: Database,
  transactions: Transactions,
  codec: ValueCodec = plainCodec,
): SqliteStore {
  try {
    return preparedStore(path, database, transactions, codec)
  } catch (error) {
    database.close()
    throw isSuperstepError(error) ? error : tablesDamaged(error)
  }
}

function preparedStore(
  path: string,
  database: Database,
  transactions: Transactions,
  codec: ValueCodec,
): SqliteStore {
  const blobs = blobTable(database, codec)
  const journals = journalTable(database, blobs)
  const snapshots = snapshotTable(database, blobs)
  const graphs = graphTable(database)
  const labels = labelTable(database)
  const names = nameIndex(database, transactions)
  const runs = runTable(database, names, codec)
  const requests = requestTable(database, codec)
  const leases = leaseTable(database, codec)
  const mail = mailTable(database, codec)
  const threads = threadTable(database, codec)
  const subscriptions = subscriptionTable(database, codec)
  const queue = queueTable(database, { journals, blobs, subscriptions }, codec)
  const tables = {
    journals,
    blobs,
    graphs,
    requests,
    snapshots,
    threads,
    mail,
    labels,
    names,
    queue,
    subscriptions,
  }
  const append = appender(database, tables, () => transactions.mayChange())
  transactions.onBegin = () => {
    graphs.begin()
    subscriptions.begin()
  }
  transactions.makeTogether = append.follow
  transactions.onRollBack = append.forget
  const { remove, prune } = retention(database, transactions, tables)
  const report = reporter(database)
  const beating = new Set<HeartbeatThread>()
  const serving = new Set<LiveService>()

  return {
    isEncrypted: codec !== plainCodec,

    // Not `async`: of the promise of every record there would be a second one.
    append(lease, expectedSeq, records, change) {
      try {
        const bodies = toBodies(lease.runId, expectedSeq, records, codec)
        const texts = toChangeTexts(lease.runId, change, codec)
        const isSimple = hasRecordsOnly(records, bodies, change)
        const write = { lease, expectedSeq, records, bodies, change, texts, isSimple }
        return transactions.write(
          `The journal of run "${lease.runId}"`,
          () => append.make(write),
          bodies.reduce((sum, { bytes }) => sum + bytes, texts.bytes),
          write,
        )
      } catch (error) {
        return Promise.reject(error)
      }
    },
    read: journalReader(transactions, journals),
    async saveSnapshot(lease, snapshot) {
      const body = toSnapshotBody(lease.runId, snapshot, codec)
      return transactions.write(
        `The snapshot of run "${lease.runId}"`,
        () => snapshots.save(lease, snapshot.seq, body),
        body.bytes,
      )
    },
    snapshot: (runId) =>
      transactions.readTogether(`The snapshot of run "${runId}"`, () => snapshots.find(runId)),
    graph: (hash) => transactions.read(`Graph "${hash}"`, () => graphs.find(hash)),

    run: (runId) => transactions.read(`Run "${runId}"`, () => runs.find(runId)),
    async runs(query) {
      const found = await transactions.readTogether("The list of runs", () => runs.list(query))
      if (query.text !== undefined) await names.catchUp()
      return found
    },
    requests: (query) => transactions.read("The list of requests", () => requests.list(query)),

    beat: (holder) => transactions.write(`The heartbeat of "${holder.id}"`, () => leases.beat(holder)),
    holders: () => transactions.read("The list of holders", leases.holders),
    held: (holder) => transactions.read(`What "${holder}" holds`, () => leases.held(holder)),
    dismiss: (holder, why) =>
      transactions.write(`The dismissal of "${holder}"`, () => leases.dismiss(holder, why)),
    free: (query) => transactions.read("The list of runs", () => leases.free(query)),
    claim: (runId, token, holder, restsAt) =>
      transactions.write(`The claim to run "${runId}"`, () => leases.claim(runId, token, holder, restsAt)),
    setIdle: (lease, idle, status) =>
      transactions.write(`The row of run "${lease.runId}"`, () => {
        append.setOpen(lease.runId, idle === false)
        leases.setIdle(lease, idle, status)
      }),
    release: (lease, wakeAt) =>
      transactions.write(`The release of run "${lease.runId}"`, () => {
        append.setReleased(lease.runId)
        leases.release(lease, wakeAt)
      }),
    absolve: (lease) => transactions.write(`The row of run "${lease.runId}"`, () => leases.absolve(lease)),
    quarantine: (lease, at) =>
      transactions.write(`The quarantine of run "${lease.runId}"`, () => {
        append.setReleased(lease.runId)
        const run = leases.quarantine(lease)
        if (run !== undefined) subscriptions.addEvents(run, [{ type: "run.quarantined", at }])
      }),
    unquarantine: (runId) =>
      transactions.write(`The release of run "${runId}"`, () => leases.unquarantine(runId)),

    queue: queueOn(queue, transactions, append, codec),
    records: recordsOn(database, transactions, codec),
    schedules: schedulesOn(database, transactions, append, codec),
    subscriptions: subscriptionsOn(subscriptions, transactions),
    slots: slotsOn(slotTable(database), transactions),

    post: (letter) =>
      transactions.write(`The mail to run "${letter.runId}"`, () => {
        const { runId, command } = letter
        mail.post(letter)
        if (command.type === "answer") requests.hold(toText(runId), command.request)
      }),
    mail: (holder) => transactions.read(`The mail of "${holder}"`, () => mail.to(holder)),
    mailAmount: (runId) => transactions.read(`The mail of run "${runId}"`, () => mail.amount(runId)),
    refuseMail: (lease, id, error) =>
      transactions.write(`The outcome of mail "${id}"`, () => {
        const refused = mail.refuse(lease, id, error)
        if (refused?.command.type === "answer")
          requests.reopen(toText(refused.runId), refused.command.request)
      }),
    async mailOutcome(id) {
      const subject = `The outcome of mail "${id}"`
      // Asked for again and again: only the last time is it a write.
      if (!(await transactions.read(subject, () => mail.hasOutcome(id)))) return undefined
      return transactions.write(subject, () => mail.takeOutcome(id))
    },

    thread: (id, version) => transactions.read(`Thread "${id}"`, () => threads.state(id, version)),
    threads: (query) => transactions.read("The list of threads", () => threads.list(query)),
    removeThread: (id) => transactions.write(`The removal of thread "${id}"`, () => threads.remove(id)),

    registry: registryOn(database, transactions),
    encryptAgain: (onProgress = () => undefined) => encryptAgain(database, transactions, codec, onProgress),

    pin: (runId, pinned) => transactions.write(`The pin of run "${runId}"`, () => runs.pin(runId, pinned)),
    remove,
    prune,
    report: () => transactions.readTogether("The size of the store", report),
    async close() {
      for (const thread of beating) thread.stop()
      for (const service of serving) service.close()
      await transactions.close()
    },
    live: {
      serve(holder, watch) {
        const service = serveLive(path, holder, watch)
        serving.add(service)
        return {
          close() {
            serving.delete(service)
            service.close()
          },
        }
      },
      subscribe: (holder, query, listener) => subscribeLive(path, holder, query, listener),
    },
    keepAlive(options) {
      const thread = keepAlive(path, options)
      beating.add(thread)
      // Otherwise the event loop waits for the disk, when the log is full.
      transactions.onLogGrown = () => [...beating].at(-1)?.work()
      return {
        stop() {
          beating.delete(thread)
          thread.stop()
        },
      }
    },
  }
}

function queueOn(
  queue: QueueTable,
  transactions: Transactions,
  append: Appender,
  codec: ValueCodec,
): SqliteStore["queue"] {
  return {
    async setLimits(workflow, limits) {
      const subject = `The limits of workflow "${workflow}"`
      if (!(await transactions.readTogether(subject, () => queue.hasOtherLimits(workflow, limits)))) return
      return transactions.write(subject, () => queue.setLimits(workflow, limits))
    },
    async claimNext(query) {
      const subject = "The claim to queued runs"
      // Asked for again and again: only what finds something is a write.
      if (!(await transactions.readTogether(subject, () => queue.mayClaim(query)))) return { runs: [] }
      return transactions.write(subject, () => queue.claimNext(query, append.setClaimed))
    },
    async amend(amendment) {
      const { runId, records } = amendment
      const bodies = toBodies(runId, 0, records, codec)
      const bytes = bodies.reduce((sum, body) => sum + body.bytes, 0)
      return transactions.write(`The input of run "${runId}"`, () => queue.amend(amendment, bodies), bytes)
    },
    expired: (now, limit) => transactions.read("The list of expired runs", () => queue.expired(now, limit)),
  }
}

function subscriptionsOn(table: SubscriptionTable, transactions: Transactions): SqliteStore["subscriptions"] {
  const subject = (consumer: string) => `Consumer "${consumer}"`
  return {
    add: (consumer, from) => transactions.write(subject(consumer), () => table.add(consumer, from)),
    consumers: () => transactions.readTogether("The list of consumers", table.consumers),
    remove: (consumer) =>
      transactions.write(`The removal of consumer "${consumer}"`, () => table.remove(consumer)),
    async claim(consumer, holder) {
      // Asked for again and again by those that wait for their turn.
      const mayClaim = () => table.mayClaim(consumer, holder)
      if (!(await transactions.readTogether(subject(consumer), mayClaim))) return undefined
      return transactions.write(subject(consumer), () => table.claim(consumer, holder))
    },
    events: (after, limit) => transactions.read("The list of events", () => table.events(after, limit)),
    advance: (lease, progress, missed = 0) =>
      transactions.write(subject(lease.consumer), () => table.advance(lease, progress, missed)),
    release: (lease) => transactions.write(subject(lease.consumer), () => table.release(lease)),
    async trim(before) {
      const what = "The removal of events"
      if (!(await transactions.readTogether(what, () => table.mayTrim(before)))) return
      while (await transactions.write(what, () => table.trimSome(before)));
    },
  }
}

function slotsOn(slots: SlotTable, transactions: Transactions): SqliteStore["slots"] {
  const subject = (pool: string) => `A slot of "${pool}"`
  return {
    take: (request) => transactions.write(subject(request.pool), () => slots.take(request)),
    async check(query) {
      const what = subject(query.pool)
      // Asked for again and again: only what finds something is a write.
      const found = await transactions.readTogether(what, () => slots.look(query))
      return found ?? (await transactions.write(what, () => slots.check(query)))
    },
    leave: (end) => transactions.write(subject(end.pool), () => slots.leave(end)),
    ofRun: (runId) => transactions.read(`The slots of run "${runId}"`, () => slots.ofRun(runId)),
  }
}

function schedulesOn(
  database: Database,
  transactions: Transactions,
  append: Appender,
  codec: ValueCodec,
): SqliteStore["schedules"] {
  const table = scheduleTable(database, codec)
  return {
    get: (id) => transactions.read(`Schedule "${id}"`, () => table.get(id)),
    list: (query) => transactions.read("The list of schedules", () => table.list(query)),
    due: (query) => transactions.readTogether("The list of schedules", () => table.due(query)),
    async write(schedule, before, run) {
      const bodies = run === undefined ? [] : toBodies(run.lease.runId, 0, run.records, codec)
      const texts = run && toChangeTexts(run.lease.runId, run.change, codec)
      const bytes = bodies.reduce((sum, body) => sum + body.bytes, texts?.bytes ?? 0)
      const change = () => {
        if (!table.has(schedule.id, before)) return false
        const refusal = run && texts && append.make({ ...run, expectedSeq: 0, bodies, texts })
        if (refusal !== undefined) return refusal
        table.put(schedule)
        return true
      }
      return transactions.write(`Schedule "${schedule.id}"`, change, bytes)
    },
    remove: (id) => transactions.write(`The removal of schedule "${id}"`, () => table.remove(id)),
  }
}

function recordsOn(
  database: Database,
  transactions: Transactions,
  codec: ValueCodec,
): SqliteStore["records"] {
  const table = recordTable(database, codec)
  return {
    get: (kind, id) => transactions.read(`Record "${id}"`, () => table.get(kind, id)),
    list: (kind, query) => transactions.read("The list of records", () => table.list(kind, query)),
    async put(kind, id, value, expected) {
      const text = JSON.stringify(value)
      return transactions.write(`Record "${id}"`, () => table.put(kind, id, text, expected), text.length)
    },
    remove: (kind, id, expected) =>
      transactions.write(`The removal of record "${id}"`, () => table.remove(kind, id, expected)),
  }
}

function registryOn(database: Database, transactions: Transactions): SqliteStore["registry"] {
  const tables = registryTables(database)
  return {
    agents: (ids) => transactions.read("The list of agents", () => tables.agents(ids)),
    definitions: () => transactions.read("The list of definitions", tables.definitions),
    definition: (id) => transactions.readTogether(`Definition "${id}"`, () => tables.definition(id)),
    async write(change, expected) {
      checkRegistryChange(change)
      return transactions.write("The change of definitions", () => {
        const conflict = registryConflict(tables, expected)
        if (conflict === undefined) tables.write(change)
        return conflict
      })
    },
  }
}
