/** The last snapshot of each run in the memory store. */
import { type Lease, runTaken, type Snapshot } from "../runtime/index.ts"
import { journalBytes, type Tables } from "./memory-rows.ts"

export function saveSnapshot(
  tables: Tables,
  lease: Lease,
  snapshot: Snapshot,
): { readonly bytes: number; readonly journal: number } {
  const row = tables.runs.get(lease.runId)
  if (row === undefined || row.token !== lease.token) throw runTaken(lease.runId)
  if (row.snapshot === undefined || row.snapshot.seq < snapshot.seq) {
    row.snapshot = snapshot
    row.snapshotBytes = JSON.stringify(snapshot.data).length
  }
  return { bytes: row.snapshotBytes, journal: journalBytes(row) }
}
