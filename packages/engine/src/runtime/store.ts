/** Where journals are kept. One journal holds a run with all its sub-workflows, in the order things happened. */
import { type Entry, type RunId, SuperstepError } from "../core/index.ts"

export interface JournalRecord {
  /** 1, 2, 3, … within the run. */
  readonly seq: number
  /** The sub-workflow that the entry belongs to; empty for the run itself. */
  readonly frame: string
  readonly entry: Entry
  /** How many events the run has given up to here: a stream is joined again at an event's number. */
  readonly events: number
}

export interface Store {
  /**
   * Adds records after the one with `expectedSeq`, all or none; rejects with JOURNAL_CONFLICT when the journal
   * has another end. When it returns, or its promise resolves, they are durable: a store that has nothing to
   * wait for returns nothing.
   */
  append(runId: RunId, expectedSeq: number, records: readonly JournalRecord[]): Promise<void> | undefined
  /** The records after `afterSeq`, in order; empty for a run that is not known. */
  read(runId: RunId, afterSeq: number): Promise<readonly JournalRecord[]> | readonly JournalRecord[]
}

/** What a store's `append` rejects with when the journal has another end than the expected one. */
export function journalConflict(runId: RunId, expectedSeq: number, foundSeq: number): SuperstepError {
  const hint =
    expectedSeq === 0
      ? "a run with this id exists; choose another id, or resume it"
      : "another process writes to it"
  const text = `The journal of run "${runId}" ends at ${foundSeq}, not at ${expectedSeq}: ${hint}.`
  return new SuperstepError("JOURNAL_CONFLICT", text)
}
