/**
 * Checks of rows that SQL changes in place. A trigger keeps, beside the columns, a sum of the numbers and a copy of the
 * texts; both follow from their values before the change, so that damage is never made good by a later change.
 *
 * The sum is linear, modulo a prime: any change of one byte of one number changes it, and an append can bring it up to
 * date without reading the rest of the row.
 */
const PRIME = 4_294_967_291

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

/** The sum of a run's row after an append: ?1 its head, ?2 the bytes that it adds, ?3 its time or null. */
const sumAfter = (cleared: string) => `(
  state_sum + 3 * (?1 - head) + 5 * ?2${cleared}
  + 23 * (CAST(coalesce(?3, updated_at) AS INTEGER) - CAST(updated_at AS INTEGER))
) % ${PRIME}`

/** Which clears the suspicion that the run is under. */
export const SUM_AFTER_APPEND = sumAfter(" - 17 * takeovers - 37 * blamed - 41 * trials")
/** Which does not. */
export const SUM_AFTER_INTENT = sumAfter("")

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
