/** Whether a run's row is as it was written. */
import { check, checksum } from "./checksum.ts"
import { corrupt } from "./errors.ts"
import { decodeText, decodeTextOrNull, type JsonBytes, selected } from "./json-column.ts"
import { RUN_IS_SOUND } from "./row-checks.ts"
import { shownName } from "./text.ts"

/** What of a run is never changed, as the file has it. */
export interface RunIdentity {
  readonly name: string
  readonly workflow: string
  readonly key: string | null
  readonly thread: string | null
  readonly labels: string | null
  readonly forkOf: string | null
  readonly forkSeq: number
  readonly createdAt: number
}

export function runChecksum(run: RunIdentity): number {
  const { name, workflow, key, thread, labels, forkOf, forkSeq, createdAt } = run
  return checksum([name, workflow, key, thread, labels, forkOf, forkSeq, createdAt])
}

/** To be selected from `runs`, for `checkRun`. */
export const RUN_CHECK_COLUMNS = `${selected("runs", {
  run_id: "text",
  workflow: "text",
  key: "text",
  thread: "text",
  labels: "text",
  fork_seq: "integer",
  sum: "integer",
})},
  (SELECT CAST(past.run_id AS BLOB) FROM runs AS past WHERE past.id = runs.fork_run) AS fork_run_id,
  CAST(runs.created_at AS NUMERIC) AS created_at, ${RUN_IS_SOUND} AS is_sound`

export interface RunCheckRow {
  readonly run_id: JsonBytes
  readonly workflow: JsonBytes
  readonly key: JsonBytes | null
  readonly thread: JsonBytes | null
  readonly labels: JsonBytes | null
  readonly fork_run_id: JsonBytes | null
  readonly fork_seq: number
  readonly created_at: number
  readonly sum: number | null
  readonly is_sound: number
}

/** Throws for one that is not. */
export function checkRun(row: RunCheckRow): RunIdentity {
  const name = decodeText(row.run_id, () => "A run is damaged at its id")
  const place = () => `Run "${shownName(name)}" is damaged`
  const run: RunIdentity = {
    name,
    workflow: decodeText(row.workflow, place),
    key: decodeTextOrNull(row.key, place),
    thread: decodeTextOrNull(row.thread, place),
    labels: decodeTextOrNull(row.labels, place),
    forkOf: decodeTextOrNull(row.fork_run_id, place),
    forkSeq: row.fork_seq,
    createdAt: row.created_at,
  }
  check(row.sum, () => runChecksum(run), place)
  if (row.is_sound !== 1) throw corrupt(place, "its state is another than the stored one")
  return run
}
