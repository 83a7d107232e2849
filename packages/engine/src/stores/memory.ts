/**
 * Runs in memory: for tests, and for runs that may be joined late. They last as long as the store does. Everything
 * happens at once, and values are kept as they are: whoever gives one does not change it any more.
 */
import type { RegistryStore, Store } from "../runtime/index.ts"
import { append } from "./memory-append.ts"
import { claim, dismiss, free, release } from "./memory-leases.ts"
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

    beat(holder) {
      tables.dismissed.delete(holder.id)
      tables.holders.set(holder.id, holder)
    },
    holders: () => [...tables.holders.values()],
    dismiss: (holder) => dismiss(tables, holder),
    free: (query) => free(tables, query),
    claim: (runId, token, holder) => claim(tables, runId, token, holder),
    release: (lease, wakeAt) => release(tables, lease, wakeAt),

    post(mail) {
      tables.mail.set(mail.id, mail)
    },
    mail: (holder) =>
      [...tables.mail.values()].filter(({ runId }) => tables.runs.get(runId)?.holder === holder),
    settleMail(id, outcome) {
      if (tables.mail.delete(id)) tables.outcomes.set(id, outcome)
    },
    mailOutcome(id) {
      const outcome = tables.outcomes.get(id)
      tables.outcomes.delete(id)
      return outcome
    },

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
