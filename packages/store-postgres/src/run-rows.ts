/** The rows of runs, as a store's callers see them. */
import { createHash } from "node:crypto"
import type { RunFailure, RunFlow, StoredRun, StoredStatus } from "@superstep/engine"
import type { ValueCodec } from "@superstep/engine/stores"
import type { Subject } from "./errors.ts"
import { parseJson, parseName, parseSealed } from "./names.ts"
import { STATE_COLUMNS } from "./tables.ts"

/** The columns of a SELECT from RUN_TABLES. */
export const RUN_COLUMNS = `r.id, r.run_id, r.workflow, r.graph, r.key, r.thread, r.labels, r.flow, past.run_id AS fork_of, r.fork_seq,
  r.pinned, r.created_at, live.holder, live.wake_at, live.flow_group, ended.error, coalesce(live.status, ended.status) AS status,
  ${STATE_COLUMNS.replace(/\w+/g, "coalesce(live.$&, ended.$&) AS $&")}`

/** Where each run stands: in one of two tables. */
export const STATE_TABLES = "LEFT JOIN $.live ON live.run = r.id LEFT JOIN $.ended ON ended.run = r.id"

/** `r` is the run, `past` the one that it is a fork of. */
export const RUN_TABLES = `$.runs AS r ${STATE_TABLES} LEFT JOIN $.runs AS past ON past.id = r.fork_run`

export interface RunRow {
  readonly id: number
  readonly run_id: string
  readonly workflow: string
  readonly graph: string
  readonly status: StoredStatus
  readonly key: string | null
  readonly thread: string | null
  readonly labels: string | null
  readonly flow: string | null
  readonly flow_group: string | null
  readonly fork_of: string | null
  readonly fork_seq: number
  readonly pinned: boolean
  readonly created_at: number
  readonly error: string | null
  readonly holder: string | null
  readonly wake_at: number | null
  readonly head: number
  readonly bytes: number
  readonly token: number
  readonly executing: boolean
  readonly takeovers: number
  readonly blamed: boolean
  readonly trials: number
  readonly updated_at: number
}

export function toStoredRun(row: RunRow, codec: ValueCodec): StoredRun {
  const subject = () => `Run "${row.run_id}" is damaged`
  const name = (text: string) => parseName(text, subject)
  return {
    runId: name(row.run_id),
    workflow: name(row.workflow),
    graph: name(row.graph),
    ...(row.key === null ? {} : { key: name(row.key) }),
    ...(row.thread === null ? {} : { thread: name(row.thread) }),
    ...(row.labels === null
      ? {}
      : { labels: parseJson(row.labels, subject) as NonNullable<StoredRun["labels"]> }),
    ...(row.flow === null ? {} : { flow: toFlow(row.flow, row.flow_group !== null, subject) }),
    ...(row.fork_of === null ? {} : { forkOf: { runId: name(row.fork_of), seq: row.fork_seq } }),
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    seq: row.head,
    bytes: row.bytes,
    token: row.token,
    ...(row.holder === null ? {} : { holder: name(row.holder) }),
    ...(row.wake_at === null ? {} : { wakeAt: row.wake_at }),
    executing: row.executing,
    takeovers: row.takeovers,
    blamed: row.blamed,
    trials: row.trials,
    pinned: row.pinned,
    ...(row.error === null
      ? {}
      : { error: parseSealed(codec, row.error, subject, "error", row.run_id) as RunFailure }),
  }
}

/** A run that is no longer queued, or takes no further input, has no group. */
function toFlow(text: string, hasGroup: boolean, subject: Subject): RunFlow {
  const { group, ...flow } = parseJson(text, subject) as RunFlow
  return hasGroup ? { ...flow, group } : flow
}

/** What tables have instead of names that may be longer than an index takes, in the form of a UUID. */
export function hashOf(...parts: readonly unknown[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 32)
}
