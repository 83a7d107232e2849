/**
 * Where a journal ends. Each record says how large the journal is with it and when it was written, because an append to a
 * run that is being executed writes its records only, and leaves the run's row alone.
 *
 * S6 The row of a run says where its journal ends, except while a process executes the run: then the last record says so,
 *    which is never before the end that the row has. Whatever ends that state writes the end into the row.
 *
 * Records of older versions have no end (null): the row of their run has it.
 */
import { PRIME } from "../file/checksum.ts"

/** A run that a process executes (S6). */
export const IS_OPEN = "runs.status = 'running' AND runs.executing = 1 AND runs.holder IS NOT NULL"

const LAST = "(SELECT max(seq) FROM journal WHERE run = runs.id)"

/** Follows `FROM … runs`: the record that says where the journal ends, or nulls where the row says so. */
export const WITH_END = `LEFT JOIN journal AS last
  ON last.run = runs.id AND last.seq = CASE WHEN ${IS_OPEN} THEN ${LAST} END
    AND last.end_sum IS NOT NULL AND last.seq >= runs.head`

/** Columns of a SELECT that has WITH_END. */
export const HEAD = "coalesce(last.seq, runs.head)"
export const BYTES = "coalesce(last.bytes, runs.bytes)"
export const UPDATED_AT = "coalesce(last.at, runs.updated_at)"

/** Linear, as the sum of a run's row is (checksum.ts). */
export function endSum(seq: string, bytes: string, at: string): string {
  return `(3 * ${seq} + 5 * ${bytes} + 23 * CAST(${at} AS INTEGER)) % ${PRIME}`
}

/** To be selected: 1 where the end that a record says is as it was written. */
export function isEndSound(record: string): string {
  const sum = endSum(`${record}.seq`, `${record}.bytes`, `${record}.at`)
  return `(${record}.end_sum IS NULL OR (${sum} - ${record}.end_sum) % ${PRIME} = 0)`
}

const SOUND_END = `FROM journal AS last
  WHERE last.run = runs.id AND last.seq = ${LAST} AND last.end_sum IS NOT NULL AND last.seq >= runs.head
    AND ${IS_OPEN} AND ${isEndSound("last")}`

/**
 * In an UPDATE of `runs` that are no longer executed: writes the journal's end into the row (S6). An end that is not sound
 * is left out, so that the records after the row's end show the damage.
 */
export const END_WRITTEN = `(head, bytes, updated_at) = (
  SELECT last.seq, last.bytes, last.at ${SOUND_END}
  UNION ALL SELECT runs.head, runs.bytes, runs.updated_at LIMIT 1
)`
/** The same for runs that nobody holds any more: they rest since their last record. */
export const END_WRITTEN_AND_RESTED = `(head, bytes, updated_at, rested_at) = (
  SELECT last.seq, last.bytes, last.at, last.at ${SOUND_END}
  UNION ALL SELECT runs.head, runs.bytes, runs.updated_at, runs.updated_at LIMIT 1
)`
