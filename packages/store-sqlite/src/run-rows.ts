/** The rows of runs, as a store's callers see them. */
import type { StoredRun, StoredStatus } from "@superstep/engine"
import { fromText } from "./text.ts"

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
export const RUN_COLUMNS = `
  runs.run_id, runs.head, runs.bytes, runs.workflow, runs.graph, runs.status, runs.key, runs.thread, runs.labels,
  runs.fork_seq, (SELECT past.run_id FROM runs AS past WHERE past.id = runs.fork_run) AS fork_run_id, runs.token, runs.holder,
  runs.wake_at, runs.executing, runs.takeovers, runs.blamed, runs.trials, runs.pinned, runs.created_at, runs.updated_at`

interface RunRow {
  readonly run_id: string
  readonly head: number
  readonly bytes: number
  readonly workflow: string
  readonly graph: string
  readonly status: StoredStatus
  readonly key: string | null
  readonly thread: string | null
  /** JSON. */
  readonly labels: string | null
  readonly fork_run_id: string | null
  readonly fork_seq: number
  readonly token: number
  readonly holder: string | null
  readonly wake_at: number | null
  readonly executing: number
  readonly takeovers: number
  readonly blamed: number
  readonly trials: number
  readonly pinned: number
  readonly created_at: number
  readonly updated_at: number
}

/** Of rows that have RUN_COLUMNS. */
export function toStoredRuns(rows: readonly unknown[]): StoredRun[] {
  return (rows as readonly RunRow[]).map(toStoredRun)
}

function toStoredRun(row: RunRow): StoredRun {
  return {
    runId: fromText(row.run_id),
    workflow: fromText(row.workflow),
    graph: fromText(row.graph),
    ...(row.key === null ? {} : { key: fromText(row.key) }),
    ...(row.thread === null ? {} : { thread: fromText(row.thread) }),
    ...(row.labels === null ? {} : { labels: JSON.parse(row.labels) }),
    ...(row.fork_run_id === null ? {} : { forkOf: { runId: fromText(row.fork_run_id), seq: row.fork_seq } }),
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    seq: row.head,
    bytes: row.bytes,
    token: row.token,
    ...(row.holder === null ? {} : { holder: fromText(row.holder) }),
    ...(row.wake_at === null ? {} : { wakeAt: row.wake_at }),
    executing: row.executing === 1,
    takeovers: row.takeovers,
    blamed: row.blamed === 1,
    trials: row.trials,
    pinned: row.pinned === 1,
  }
}
