/**
 * The store on its tables: says which of them is asked, and in what transaction. Opening the file is
 * open-database.ts's, what it holds is schema.ts's, when it is written is transactions.ts's; each table has a file of
 * its own. The invariants S1 … S3 are in transactions.ts, S4 is in journals.ts.
 */
import {
  checkRegistryChange,
  isSuperstepError,
  type KeepAlive,
  type Registry,
  type Store,
} from "@superstep/engine"
import { appender } from "./append.ts"
import { blobTable } from "./blobs.ts"
import { toChangeTexts } from "./change-texts.ts"
import type { Database } from "./driver.ts"
import { tablesDamaged } from "./errors.ts"
import { graphTable } from "./graphs.ts"
import { toBodies } from "./journal-rows.ts"
import { journalTable } from "./journals.ts"
import { keepAlive } from "./keep-alive.ts"
import { leaseTable } from "./leases.ts"
import { mailTable } from "./mail.ts"
import { registryTables } from "./registry.ts"
import { reporter } from "./report.ts"
import { requestTable } from "./requests.ts"
import { retention } from "./retention.ts"
import { runTable } from "./runs.ts"
import { snapshotTable, toSnapshotBody } from "./snapshots.ts"
import { threadTable } from "./threads.ts"
import type { Transactions } from "./transactions.ts"

type Promised<Port extends { [Method in keyof Port]: (...given: never[]) => unknown }> = {
  [Method in keyof Port]: (...given: Parameters<Port[Method]>) => Promise<Awaited<ReturnType<Port[Method]>>>
}

/** A store that always answers with a promise. */
export type SqliteStore = Promised<Omit<Store, "keepAlive">> &
  Required<Pick<Store, "keepAlive">> & { readonly registry: Promised<Registry> }

/** Closes the connection, and throws STORE_CORRUPT, where the file does not have the tables that it should. */
export function storeOn(path: string, database: Database, transactions: Transactions): SqliteStore {
  try {
    return preparedStore(path, database, transactions)
  } catch (error) {
    database.close()
    throw isSuperstepError(error) ? error : tablesDamaged(error)
  }
}

function preparedStore(path: string, database: Database, transactions: Transactions): SqliteStore {
  const blobs = blobTable(database)
  const journals = journalTable(database, blobs)
  const snapshots = snapshotTable(database, blobs)
  const graphs = graphTable(database)
  const runs = runTable(database)
  const requests = requestTable(database)
  const leases = leaseTable(database)
  const mail = mailTable(database)
  const threads = threadTable(database)
  const append = appender(database, { journals, blobs, graphs, requests, threads, mail })
  const { remove, prune } = retention(database, transactions, { journals, blobs, requests, snapshots, mail })
  const report = reporter(database)
  const beating = new Set<KeepAlive>()

  return {
    async append(lease, expectedSeq, records, change) {
      const bodies = toBodies(lease.runId, expectedSeq, records)
      const texts = toChangeTexts(lease.runId, change)
      return transactions.write(
        `The journal of run "${lease.runId}"`,
        () => append({ lease, expectedSeq, records, bodies, change, texts }),
        bodies.reduce((sum, { bytes }) => sum + bytes, texts.bytes),
      )
    },
    async read(runId, afterSeq) {
      return transactions.readTogether(`The journal of run "${runId}"`, () => journals.read(runId, afterSeq))
    },
    async saveSnapshot(lease, { seq, data }) {
      const body = toSnapshotBody(lease.runId, data)
      return transactions.write(
        `The snapshot of run "${lease.runId}"`,
        () => snapshots.save(lease, seq, body),
        body.bytes,
      )
    },
    async snapshot(runId) {
      return transactions.readTogether(`The snapshot of run "${runId}"`, () => snapshots.find(runId))
    },
    async graph(hash) {
      return transactions.read(`Graph "${hash}"`, () => graphs.find(hash))
    },

    async run(runId) {
      return transactions.read(`Run "${runId}"`, () => runs.find(runId))
    },
    async runs(query) {
      return transactions.read("The list of runs", () => runs.list(query))
    },
    async requests(query) {
      return transactions.read("The list of requests", () => requests.list(query))
    },

    beat: (holder) => transactions.write(`The heartbeat of "${holder.id}"`, () => leases.beat(holder)),
    async holders() {
      return transactions.read("The list of holders", leases.holders)
    },
    async held(holder) {
      return transactions.read(`What "${holder}" holds`, () => leases.held(holder))
    },
    dismiss: (holder, why) =>
      transactions.write(`The dismissal of "${holder}"`, () => leases.dismiss(holder, why)),
    async free(query) {
      return transactions.read("The list of runs", () => leases.free(query))
    },
    claim: (runId, token, holder) =>
      transactions.write(`The claim to run "${runId}"`, () => leases.claim(runId, token, holder)),
    setIdle: (lease, idle) =>
      transactions.write(`The row of run "${lease.runId}"`, () => leases.setIdle(lease, idle)),
    release: (lease, wakeAt) =>
      transactions.write(`The release of run "${lease.runId}"`, () => leases.release(lease, wakeAt)),
    absolve: (lease) => transactions.write(`The row of run "${lease.runId}"`, () => leases.absolve(lease)),
    quarantine: (lease) =>
      transactions.write(`The quarantine of run "${lease.runId}"`, () => leases.quarantine(lease)),
    unquarantine: (runId) =>
      transactions.write(`The release of run "${runId}"`, () => leases.unquarantine(runId)),

    post: (letter) => transactions.write(`The mail to run "${letter.runId}"`, () => mail.post(letter)),
    async mail(holder) {
      return transactions.read(`The mail of "${holder}"`, () => mail.to(holder))
    },
    refuseMail: (lease, id, error) =>
      transactions.write(`The outcome of mail "${id}"`, () => mail.refuse(lease, id, error)),
    async mailOutcome(id) {
      const subject = `The outcome of mail "${id}"`
      // Asked for again and again: only the last time is it a write.
      if (!(await transactions.read(subject, () => mail.hasOutcome(id)))) return undefined
      return transactions.write(subject, () => mail.takeOutcome(id))
    },

    async thread(id, version) {
      return transactions.read(`Thread "${id}"`, () => threads.state(id, version))
    },
    removeThread: (id) => transactions.write(`The removal of thread "${id}"`, () => threads.remove(id)),

    registry: registryOn(database, transactions),

    pin: (runId, pinned) => transactions.write(`The pin of run "${runId}"`, () => runs.pin(runId, pinned)),
    remove,
    prune,
    async report() {
      return transactions.readTogether("The size of the store", report)
    },
    async close() {
      for (const thread of beating) thread.stop()
      await transactions.close()
    },
    keepAlive(options) {
      const thread = keepAlive(path, options)
      beating.add(thread)
      return {
        stop() {
          beating.delete(thread)
          thread.stop()
        },
      }
    },
  }
}

function registryOn(database: Database, transactions: Transactions): SqliteStore["registry"] {
  const tables = registryTables(database)
  return {
    async agents(ids) {
      return transactions.read("The list of agents", () => tables.agents(ids))
    },
    async definitions() {
      return transactions.read("The list of definitions", tables.definitions)
    },
    async definition(id) {
      return transactions.readTogether(`Definition "${id}"`, () => tables.definition(id))
    },
    async write(change) {
      checkRegistryChange(change)
      return transactions.write("The change of definitions", () => tables.write(change))
    },
  }
}
