/**
 * Checksums, so that damage is found where it is read. A row that is written once has a CRC-32 of its own columns and of
 * its owner, which finds every change of up to four bytes in a row. A row that SQL updates in place (the status of a run,
 * the outcome of a request) is checked by SQL.
 *
 * Rows that are older than checksums have null, and are not checked.
 */
import { crc32 } from "node:zlib"
import type { JsonBytes } from "./columns.ts"
import { corrupt, type Subject } from "./errors.ts"

/** Stored names, JSON, numbers: none of them contains a line break. */
type Part = string | number | null

export function checksum(parts: readonly Part[], body: string | JsonBytes = ""): number {
  return signed(`${parts.join("\n")}\n`, body)
}

/** Of a record. Separate from `checksum` because it is on the hot path. */
export function recordChecksum(
  runId: string,
  seq: number,
  frame: string,
  events: number,
  places: string | null,
  body: string | JsonBytes,
): number {
  return signed(`${runId}\n${seq}\n${frame}\n${events}\n${places ?? ""}\n`, body)
}

/** As a signed 32-bit number: larger ones cost the drivers more. A joined string would be a copy of the body. */
function signed(head: string, body: string | JsonBytes): number {
  return crc32(body instanceof ArrayBuffer ? new Uint8Array(body) : body, crc32(head)) | 0
}

export function check(stored: number | null, found: () => number, subject: Subject): void {
  if (stored !== null && stored !== found())
    throw corrupt(subject, "its checksum does not match the stored one")
}

/**
 * For rows that SQL updates in place, a trigger keeps a sum of the numbers and a copy of the strings beside the columns.
 * Both follow from their values before the update, so that a later update never hides damage.
 *
 * The sum is linear, modulo a prime: any change of one byte of one number changes it, and a statement can update it without
 * the trigger.
 */
export const PRIME = 4_294_967_291

/** The numbers of a run's row that change, and their factors. */
const FACTORS: Readonly<Record<string, number>> = {
  head: 3,
  bytes: 5,
  blob_bytes: 7,
  token: 11,
  wake_at: 13,
  takeovers: 17,
  pinned: 19,
  updated_at: 23,
  rested_at: 29,
  executing: 31,
  blamed: 37,
  trials: 41,
}

/** `coalesce`: a run without a time to wake up. */
function sumOf(row: string): string {
  const terms = Object.entries(FACTORS).map(
    ([column, factor]) => `${factor} * (CAST(coalesce(${row}.${column}, -1) AS INTEGER) % ${PRIME})`,
  )
  return terms.join(" + ")
}

function stateOf(row: string): string {
  return `${row}.status || char(10) || ${row}.graph || char(10) || coalesce(${row}.holder, '')`
}

function outcomeOf(row: string): string {
  return `${row}.outcome || char(10) || coalesce(${row}.closed_at, '') || char(10) || coalesce(${row}.closed_by, '')`
}

/** To be selected: 1 for a row whose columns are as they were written. */
export const RUN_IS_SOUND = `(
  (runs.state IS NULL OR runs.state = ${stateOf("runs")})
  AND (runs.state_sum IS NULL OR (${sumOf("runs")} - runs.state_sum) % ${PRIME} = 0)
)`

export const REQUEST_IS_SOUND = `(requests.state IS NULL OR requests.state = ${outcomeOf("requests")})`

/** The sum of a run's row after an append: ?1 its head, ?2 the bytes of its journal, ?3 its time. */
const sumAfter = (more: string) => `(
  state_sum + 3 * (?1 - head) + 5 * (?2 - bytes) + 23 * (CAST(?3 AS INTEGER) - CAST(updated_at AS INTEGER))${more}
) % ${PRIME}`
const UNSUSPECTED = " - 17 * takeovers - 37 * blamed - 41 * trials"

/** Which clears the suspicion that the run is under. */
export const SUM_AFTER_APPEND = sumAfter(UNSUSPECTED)
/** Which does not. */
export const SUM_AFTER_INTENT = sumAfter("")
/** With which the run ends: ?8 whether it executes, or null. */
export const SUM_AFTER_END = sumAfter(`${UNSUSPECTED}
  + 13 * (-1 - CAST(coalesce(wake_at, -1) AS INTEGER) % ${PRIME})
  + 29 * (CAST(?3 AS INTEGER) - CAST(rested_at AS INTEGER)) + 31 * (coalesce(?8, executing) - executing)`)
/** The copy of its strings then: ?5 the status. */
export const STATE_AFTER_END = `CASE WHEN state = ${stateOf("runs")}
  THEN ?5 || char(10) || graph || char(10) ELSE state END`

/** Of a run that is claimed: ?1 the holder. Its token rises by one, it executes, and has no time to wake up. */
export const SUM_AFTER_CLAIM = `(state_sum + 11 + 31 * (1 - CAST(executing AS INTEGER))
  + 13 * (-1 - CAST(coalesce(wake_at, -1) AS INTEGER) % ${PRIME})) % ${PRIME}`
/** A queued run is running then. */
export const STATE_AFTER_CLAIM = `CASE WHEN state = ${stateOf("runs")}
  THEN CASE status WHEN 'queued' THEN 'running' ELSE status END || char(10) || graph || char(10) || ?1 ELSE state END`

/** What the triggers would write, of a row that is called NEW. */
export const MADE_SUM = `(${sumOf("NEW")}) % ${PRIME}`
export const MADE_STATE = stateOf("NEW")

export const ROW_CHECKS = `
  CREATE TRIGGER runs_made AFTER INSERT ON runs BEGIN
    UPDATE runs SET state_sum = (${sumOf("NEW")}) % ${PRIME}, state = ${stateOf("NEW")} WHERE id = NEW.id;
  END;
  CREATE TRIGGER runs_moved AFTER UPDATE OF ${Object.keys(FACTORS).join(", ")} ON runs
  WHEN NEW.state_sum IS OLD.state_sum AND OLD.state_sum IS NOT NULL BEGIN
    UPDATE runs SET state_sum = (OLD.state_sum + ${sumOf("NEW")} - (${sumOf("OLD")})) % ${PRIME} WHERE id = NEW.id;
  END;
  CREATE TRIGGER runs_changed AFTER UPDATE OF status, graph, holder ON runs
  WHEN OLD.state = ${stateOf("OLD")} BEGIN
    UPDATE runs SET state = ${stateOf("NEW")} WHERE id = NEW.id;
  END;
  CREATE TRIGGER requests_opened AFTER INSERT ON requests BEGIN
    UPDATE requests SET state = ${outcomeOf("NEW")} WHERE id = NEW.id;
  END;
  CREATE TRIGGER requests_closed AFTER UPDATE OF outcome, closed_at, closed_by ON requests
  WHEN OLD.state = ${outcomeOf("OLD")} BEGIN
    UPDATE requests SET state = ${outcomeOf("NEW")} WHERE id = NEW.id;
  END;
`

/** From version 6 on, statements may write the sums themselves. */
export const ROW_CHECKS_6 = `
  DROP TRIGGER runs_made;
  CREATE TRIGGER runs_made AFTER INSERT ON runs WHEN NEW.state IS NULL BEGIN
    UPDATE runs SET state_sum = ${MADE_SUM}, state = ${MADE_STATE} WHERE id = NEW.id;
  END;
  DROP TRIGGER runs_changed;
  CREATE TRIGGER runs_changed AFTER UPDATE OF status, graph, holder ON runs
  WHEN NEW.state IS OLD.state AND OLD.state = ${stateOf("OLD")} BEGIN
    UPDATE runs SET state = ${stateOf("NEW")} WHERE id = NEW.id;
  END;
`
