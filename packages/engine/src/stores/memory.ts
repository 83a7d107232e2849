/** Journals in memory: for tests, and for runs that may be joined late. They last as long as the store does. */
import { SuperstepError } from "../core/index.ts"
import type { JournalRecord, Store } from "../runtime/index.ts"

export function memoryStore(): Store {
  const journals = new Map<string, JournalRecord[]>()
  return {
    append(runId, expectedSeq, records) {
      let journal = journals.get(runId)
      if (journal === undefined) {
        journal = []
        journals.set(runId, journal)
      }
      if (journal.length !== expectedSeq) throw conflict(runId, expectedSeq, journal.length)
      for (const record of records) journal.push(record)
      return undefined
    },
    read(runId, afterSeq) {
      return journals.get(runId)?.slice(afterSeq) ?? []
    },
  }
}

function conflict(runId: string, expected: number, found: number): SuperstepError {
  const hint =
    expected === 0
      ? "a run with this id exists; choose another id, or resume it"
      : "another process writes to it"
  return new SuperstepError(
    "JOURNAL_CONFLICT",
    `The journal of run "${runId}" ends at ${found}, not at ${expected}: ${hint}.`,
  )
}
