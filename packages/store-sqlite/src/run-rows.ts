/** The rows of runs, as a store's callers see them. */
import type { StoredRun, StoredStatus } from "@superstep/engine"
import { corrupt } from "./errors.ts"
import { decodeName, decodeText, type JsonBytes, parseJson, parseName, selected } from "./json-column.ts"
import { checkRun, RUN_CHECK_COLUMNS, type RunCheckRow } from "./run-check.ts"
import { shownName } from "./text.ts"

export const ALL_STATUS: readonly StoredStatus[] = [
  "running",
  "waiting",
  "quarantined",
  "completed",
  "failed",
  "cancelled",
  "limit",
]
/** As the partial indexes have it, so that they are used. */
export const IN_FLIGHT = "status IN ('running', 'waiting', 'quarantined')"
export const IS_OVER = "status NOT IN ('running', 'waiting', 'quarantined')"
/** Runs that a process may execute. */
export const CLAIMABLE = "status IN ('running', 'waiting')"

export function isOver(status: string): boolean {
  return status !== "running" && status !== "waiting" && status !== "quarantined"
}

/** To be selected from `runs`. */
export const RUN_COLUMNS = `${RUN_CHECK_COLUMNS}, ${selected("runs", {
  head: "integer",
  bytes: "integer",
  graph: "text",
  status: "text",
  token: "integer",
  holder: "text",
  executing: "integer",
  takeovers: "integer",
  blamed: "integer",
  trials: "integer",
  pinned: "integer",
})},
  CAST(runs.wake_at AS NUMERIC) AS wake_at, CAST(runs.updated_at AS NUMERIC) AS updated_at`

interface RunRow extends RunCheckRow {
  readonly head: number
  readonly bytes: number
  readonly graph: JsonBytes
  readonly status: JsonBytes
  readonly token: number
  readonly holder: JsonBytes | null
  readonly wake_at: number | null
  readonly executing: number
  readonly takeovers: number
  readonly blamed: number
  readonly trials: number
  readonly pinned: number
  readonly updated_at: number
}

/** Of rows that have RUN_COLUMNS. */
export function toStoredRuns(rows: readonly unknown[]): StoredRun[] {
  return (rows as readonly RunRow[]).map(toStoredRun)
}

function toStoredRun(row: RunRow): StoredRun {
  const { name, workflow, key, thread, forkOf, forkSeq, createdAt } = checkRun(row)
  const place = () => `Run "${shownName(name)}" is damaged`
  const status = decodeText(row.status, place)
  if (!isStatus(status)) throw corrupt(place, "its status is none that there is")
  return {
    runId: parseName(name, place),
    workflow: parseName(workflow, place),
    graph: decodeName(row.graph, place),
    ...(key === null ? {} : { key: parseName(key, place) }),
    ...(thread === null ? {} : { thread: parseName(thread, place) }),
    ...(row.labels === null
      ? {}
      : { labels: parseJson(row.labels, place) as NonNullable<StoredRun["labels"]> }),
    ...(forkOf === null ? {} : { forkOf: { runId: parseName(forkOf, place), seq: forkSeq } }),
    status,
    createdAt,
    updatedAt: row.updated_at,
    seq: row.head,
    bytes: row.bytes,
    token: row.token,
    ...(row.holder === null ? {} : { holder: decodeName(row.holder, place) }),
    ...(row.wake_at === null ? {} : { wakeAt: row.wake_at }),
    executing: row.executing === 1,
    takeovers: row.takeovers,
    blamed: row.blamed === 1,
    trials: row.trials,
    pinned: row.pinned === 1,
  }
}

function isStatus(text: string): text is StoredStatus {
  return (ALL_STATUS as readonly string[]).includes(text)
}
