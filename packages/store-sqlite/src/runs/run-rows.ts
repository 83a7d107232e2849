/** The rows of runs, as a store's callers see them. */

import type { RunFailure, RunFlow, StoredRun, StoredStatus } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import { check, checksum, RUN_IS_SOUND } from "../file/checksum.ts"
import {
  decodeName,
  decodeText,
  decodeTextOrNull,
  type JsonBytes,
  parseJson,
  parseName,
  parseSealed,
  type Row,
  selected,
  shownName,
} from "../file/columns.ts"
import { corrupt, type Subject } from "../file/errors.ts"
import { BYTES, HEAD, isEndSound, UPDATED_AT } from "../journal/journal-end.ts"

export const ALL_STATUS: readonly StoredStatus[] = [
  "queued",
  "running",
  "waiting",
  "paused",
  "quarantined",
  "completed",
  "failed",
  "cancelled",
  "limit",
]
/** As the partial indexes have it, so that they are used. */
export const IN_FLIGHT = "status IN ('queued', 'running', 'waiting', 'paused', 'quarantined')"
export const IS_OVER =
  "status <> 'running' AND status <> 'queued' AND status <> 'waiting' AND status <> 'paused' AND status <> 'quarantined'"
/** Runs that a process may execute, or has executed. */
export const CLAIMABLE = "status IN ('running', 'waiting')"

/** The part of a run that never changes, as the file has it. */
export interface RunIdentity {
  readonly name: string
  readonly workflow: string
  readonly key: string | null
  readonly thread: string | null
  readonly labels: string | null
  readonly flow: string | null
  readonly forkOf: string | null
  readonly forkSeq: number
  readonly createdAt: number
}

export function runChecksum(run: RunIdentity): number {
  const { name, workflow, key, thread, labels, flow, forkOf, forkSeq, createdAt } = run
  const parts = [name, workflow, key, thread, labels, forkOf, forkSeq, createdAt]
  return checksum(flow === null ? parts : [...parts, flow])
}

const CHECKED = {
  run_id: "text",
  workflow: "text",
  key: "text?",
  thread: "text?",
  labels: "text?",
  flow: "text?",
  fork_seq: "integer",
  sum: "integer?",
  created_at: "time",
} as const

/** The columns of a SELECT from `runs` with WITH_END, for `checkRun`. */
export const RUN_CHECK_COLUMNS = `${selected("runs", CHECKED)},
  (SELECT CAST(past.run_id AS BLOB) FROM runs AS past WHERE past.id = runs.fork_run) AS fork_run_id,
  (${RUN_IS_SOUND} AND (last.seq IS NULL OR ${isEndSound("last")})) AS is_sound`

export interface RunCheckRow extends Row<typeof CHECKED> {
  readonly fork_run_id: JsonBytes | null
  readonly is_sound: number
}

/** Throws for a row that is not as it was written. */
export function checkRun(row: RunCheckRow): RunIdentity {
  const name = decodeText(row.run_id, () => "A run is damaged at its id")
  const subject = () => `Run "${shownName(name)}" is damaged`
  const run: RunIdentity = {
    name,
    workflow: decodeText(row.workflow, subject),
    key: decodeTextOrNull(row.key, subject),
    thread: decodeTextOrNull(row.thread, subject),
    labels: decodeTextOrNull(row.labels, subject),
    flow: decodeTextOrNull(row.flow, subject),
    forkOf: decodeTextOrNull(row.fork_run_id, subject),
    forkSeq: row.fork_seq,
    createdAt: row.created_at,
  }
  check(row.sum, () => runChecksum(run), subject)
  if (row.is_sound !== 1) throw corrupt(subject, "its state does not match the stored one")
  return run
}

const STATE = {
  graph: "text",
  status: "text",
  token: "integer",
  holder: "text?",
  executing: "integer",
  takeovers: "integer",
  blamed: "integer",
  trials: "integer",
  pinned: "integer",
  error: "text?",
  error_sum: "integer?",
  wake_at: "time?",
  flow_group: "text?",
} as const

/** Where the journal of a run ends. The columns of a SELECT from `runs` with WITH_END. */
export const END_COLUMNS = `CAST(${HEAD} AS INTEGER) AS head, CAST(${BYTES} AS INTEGER) AS bytes,
  CAST(${UPDATED_AT} AS NUMERIC) AS updated_at`

export interface EndRow {
  readonly head: number
  readonly bytes: number
  readonly updated_at: number
}

/** The columns of a SELECT from `runs` with WITH_END. */
export const RUN_COLUMNS = `${RUN_CHECK_COLUMNS}, ${END_COLUMNS}, ${selected("runs", STATE)}`

type RunRow = RunCheckRow & EndRow & Row<typeof STATE>

/** Of rows that have RUN_COLUMNS. */
export function toStoredRuns(rows: readonly unknown[], codec: ValueCodec): StoredRun[] {
  return (rows as readonly RunRow[]).map((row) => toStoredRun(row, codec))
}

function toStoredRun(row: RunRow, codec: ValueCodec): StoredRun {
  const { name, workflow, key, thread, forkOf, forkSeq, createdAt } = checkRun(row)
  const subject = () => `Run "${shownName(name)}" is damaged`
  const status = decodeText(row.status, subject) as StoredStatus
  if (!ALL_STATUS.includes(status)) throw corrupt(subject, "its status is unknown")
  return {
    runId: parseName(name, subject),
    workflow: parseName(workflow, subject),
    graph: decodeName(row.graph, subject),
    ...(key === null ? {} : { key: parseName(key, subject) }),
    ...(thread === null ? {} : { thread: parseName(thread, subject) }),
    ...(row.labels === null
      ? {}
      : { labels: parseJson(row.labels, subject) as NonNullable<StoredRun["labels"]> }),
    ...(row.flow === null ? {} : { flow: toFlow(row, subject) }),
    ...(forkOf === null ? {} : { forkOf: { runId: parseName(forkOf, subject), seq: forkSeq } }),
    status,
    createdAt,
    updatedAt: row.updated_at,
    seq: row.head,
    bytes: row.bytes,
    token: row.token,
    ...(row.holder === null ? {} : { holder: decodeName(row.holder, subject) }),
    ...(row.wake_at === null ? {} : { wakeAt: row.wake_at }),
    executing: row.executing === 1,
    takeovers: row.takeovers,
    blamed: row.blamed === 1,
    trials: row.trials,
    pinned: row.pinned === 1,
    ...(row.error === null && row.error_sum === null
      ? {}
      : { error: toRunFailure(row, name, subject, codec) }),
  }
}

function toFlow({ flow, flow_group: group }: RunRow, subject: Subject): RunFlow {
  const { group: _, ...kept } = parseJson(flow as JsonBytes, subject) as RunFlow
  return group === null ? kept : { ...kept, group: decodeName(group, subject) }
}

/** Written with its checksum, and cleared with it. */
function toRunFailure(
  { error, error_sum: sum }: RunRow,
  name: string,
  subject: Subject,
  codec: ValueCodec,
): RunFailure {
  if (error === null || sum === null) throw corrupt(subject, "its error is incomplete")
  const failure = parseSealed(codec, error, subject, "error", name) as RunFailure
  check(sum, () => checksum([name], error), subject)
  return failure
}
