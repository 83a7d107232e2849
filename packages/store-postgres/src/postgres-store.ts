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
import type { ConnectionConfig } from "./address.ts"
import { toAppendItem } from "./append-item.ts"
import { Appends } from "./appends.ts"
import type { Database } from "./database.ts"
import { encryptAgain } from "./encrypt-again.ts"
import { hintsOn } from "./hints.ts"
import { findGraph, findSnapshot, readJournal, removeThread, saveSnapshot, threadState } from "./journals.ts"
import * as leases from "./leases.ts"
import { keepAlive } from "./leases.ts"
import { subscribeLive } from "./live-client.ts"
import { serveLive } from "./live-server.ts"
import { mailAmount, mailOutcome, mailTo, post, refuseMail } from "./mail.ts"
import { queueOn } from "./queue.ts"
import { recordsOn } from "./records.ts"
import { type Promised, registryOn } from "./registry.ts"
import { listRequests } from "./requests.ts"
import { prune, removeRun, report } from "./retention.ts"
import { findRun, listRuns, pinRun } from "./runs.ts"
import { schedulesOn } from "./schedules.ts"
import type { Signals } from "./signals.ts"
import { type PostgresSlots, slotsOn } from "./slots.ts"
import { subscriptionsOn } from "./subscriptions.ts"
import { Turns } from "./turns.ts"

/** A store that always answers with a promise. */
export type PostgresStore = Promised<
  Omit<Store, "keepAlive" | "live" | "queue" | "records" | "schedules" | "slots" | "subscriptions">
> &
  Pick<Store, "keepAlive"> & {
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
    async append(lease, expectedSeq, records, change) {
      const item = toAppendItem(lease, expectedSeq, records, change, database.codec)
      await turns.pass(lease.runId, () => appends.add(item))
      if (change?.created?.queued) hints.toAll()
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
    claim: (runId, token, holder) => turns.pass(runId, () => leases.claim(database, runId, token, holder)),
    setIdle: (lease, idle) => turns.pass(lease.runId, () => leases.setIdle(database, lease, idle)),
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
    },
    ...(config && {
      keepAlive(options) {
        const thread = keepAlive(config, database.place.schema, options)
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
