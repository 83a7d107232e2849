/** Journals in memory: for tests, and for runs that may be joined late. They last as long as the store does. */
import { type JournalRecord, journalConflict, type Store } from "../runtime/index.ts"

export function memoryStore(): Store {
  const journals = new Map<string, JournalRecord[]>()
  return {
    append(runId, expectedSeq, records) {
      let journal = journals.get(runId)
      if (journal === undefined) {
        journal = []
        journals.set(runId, journal)
      }
      if (journal.length !== expectedSeq) throw journalConflict(runId, expectedSeq, journal.length)
      for (const record of records) journal.push(record)
      return undefined
    },
    read(runId, afterSeq) {
      return journals.get(runId)?.slice(afterSeq) ?? []
    },
  }
}
