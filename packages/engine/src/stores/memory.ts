/**
 * Runs in memory: for tests, and for runs that may be joined late. They last as long as the store does. Everything
 * happens at once, and values are kept as they are: whoever gives one does not change it any more.
 */
import type { RegistryStore, Store } from "../runtime/index.ts"
import { append } from "./memory-append.ts"
import {
  absolve,
  beat,
  claim,
  dismiss,
  free,
  held,
  holders,
  quarantine,
  release,
  setIdle,
  unquarantine,
} from "./memory-leases.ts"
import { mailTo, refuseMail, takeOutcome } from "./memory-mail.ts"
import { requests, runs } from "./memory-queries.ts"
import { memoryRegistry } from "./memory-registry.ts"
import { pin, prune, remove, report } from "./memory-retention.ts"
import { emptyTables, recordsOf, storedRun } from "./memory-rows.ts"
import { saveSnapshot } from "./memory-snapshots.ts"
import { threadState } from "./memory-threads.ts"

export function memoryStore(): Store & RegistryStore {
  const tables = emptyTables()
  return {
    append: (lease, expectedSeq, records, change) => append(tables, lease, expectedSeq, records, change),
    read(runId, afterSeq) {
      const row = tables.runs.get(runId)
      return row === undefined ? [] : recordsOf(row, afterSeq)
    },
    saveSnapshot: (lease, snapshot) => saveSnapshot(tables, lease, snapshot),
    snapshot: (runId) => tables.runs.get(runId)?.snapshot,
    graph: (hash) => tables.graphs.get(hash),

    run(runId) {
      const row = tables.runs.get(runId)
      return row && storedRun(row)
    },
    runs: (query) => runs(tables, query),
    requests: (query) => requests(tables, query),

    beat: (holder) => beat(tables, holder),
    holders: () => holders(tables),
    held: (holder) => held(tables, holder),
    dismiss: (holder, why) => dismiss(tables, holder, why),
    free: (query) => free(tables, query),
    claim: (runId, token, holder) => claim(tables, runId, token, holder),
    setIdle: (lease, idle) => setIdle(tables, lease, idle),
    release: (lease, wakeAt) => release(tables, lease, wakeAt),
    absolve: (lease) => absolve(tables, lease),
    quarantine: (lease) => quarantine(tables, lease),
    unquarantine: (runId) => unquarantine(tables, runId),

    post(mail) {
      tables.mail.set(mail.id, mail)
    },
    mail: (holder) => mailTo(tables, holder),
    refuseMail: (lease, id, error) => refuseMail(tables, lease, id, error),
    mailOutcome: (id) => takeOutcome(tables, id),

    thread: (id, version) => threadState(tables.threads.get(id) ?? [], version),
    removeThread(id) {
      tables.threads.delete(id)
    },

    pin: (runId, pinned) => pin(tables, runId, pinned),
    remove: (runId) => remove(tables, runId),
    prune: (policy) => prune(tables, policy),
    report: () => report(tables),

    registry: memoryRegistry(),

    close() {},
  }
}
