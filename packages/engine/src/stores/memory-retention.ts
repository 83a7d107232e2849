/** Retention and statistics of the memory store. */
import { type Amount, hasEnded, type PrunePolicy, type StorageReport } from "../runtime/index.ts"
import { dropMail } from "./memory-mail.ts"
import { journalBytes, type Row, releaseGraphs, type Tables } from "./memory-rows.ts"

export function pin(tables: Tables, runId: string, pinned: boolean): boolean {
  const row = tables.runs.get(runId)
  if (row !== undefined) row.pinned = pinned
  return row !== undefined
}

export function remove(tables: Tables, runId: string): boolean {
  const row = tables.runs.get(runId)
  if (row === undefined || !hasEnded(row) || row.forks > 0) return false
  tables.runs.delete(runId)
  releaseGraphs(tables, row)
  if (row.created.key !== undefined) tables.keys.delete(row.created.key)
  if (row.parent !== undefined) row.parent.forks--
  for (const request of row.requests.values()) tables.requests.delete(request)
  for (const mail of tables.mail.values()) if (mail.runId === runId) tables.mail.delete(mail.id)
  return true
}

export function prune(
  tables: Tables,
  { workflow, keep, endedBefore, mailBefore = endedBefore }: PrunePolicy,
): Amount {
  const seen = new Map<string, number>()
  let count = 0
  let bytes = 0
  // Newest first: a fork is deleted before its past.
  for (const row of [...tables.runs.values()].reverse()) {
    const name = row.created.workflow
    if (!hasEnded(row) || row.pinned || (workflow !== undefined && workflow !== name)) continue
    const newer = seen.get(name) ?? 0
    seen.set(name, newer + 1)
    const goes =
      (keep !== undefined && newer >= keep) || (endedBefore !== undefined && row.updatedAt < endedBefore)
    if (!goes || !remove(tables, row.runId)) continue
    count++
    bytes += bytesOf(row)
  }
  if (mailBefore !== undefined) dropMail(tables, mailBefore)
  return { count, bytes }
}

export function report(tables: Tables): StorageReport {
  const runs: { [status in Row["status"]]?: number } = {}
  const workflows = new Map<string, { workflow: string; runs: number; bytes: number }>()
  const journal = { count: 0, bytes: 0 }
  const snapshots = { count: 0, bytes: 0 }
  for (const row of tables.runs.values()) {
    runs[row.status] = (runs[row.status] ?? 0) + 1
    journal.count += row.journal.length
    journal.bytes += journalBytes(row)
    if (row.snapshot !== undefined) snapshots.count++
    snapshots.bytes += row.snapshotBytes
    const { workflow } = row.created
    const sum = workflows.get(workflow) ?? { workflow, runs: 0, bytes: 0 }
    workflows.set(workflow, sum)
    sum.runs++
    sum.bytes += bytesOf(row)
  }
  let threadBytes = 0
  for (const writes of tables.threads.values()) threadBytes += JSON.stringify(writes).length
  return {
    runs,
    journal,
    snapshots,
    blobs: { count: 0, bytes: 0 },
    threads: { count: tables.threads.size, bytes: threadBytes },
    workflows: [...workflows.values()].sort((a, b) => b.bytes - a.bytes),
  }
}

function bytesOf(row: Row): number {
  return journalBytes(row) + row.snapshotBytes
}
