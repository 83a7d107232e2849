/** Who runs what in the memory store, and who could. */
import type { FreeQuery, Lease, StoredRun } from "../runtime/index.ts"
import { isOver, type Row, storedRun, type Tables } from "./memory-rows.ts"

export function dismiss(tables: Tables, holder: string): void {
  tables.holders.delete(holder)
  tables.dismissed.add(holder)
}

export function free(tables: Tables, { workflows, dead, now, limit }: FreeQuery): readonly StoredRun[] {
  const known = new Set(workflows)
  const gone = new Set(dead)
  const addressed = new Set<string>()
  for (const { runId } of tables.mail.values()) addressed.add(runId)
  const isDue = ({ wakeAt, status }: Row) => (wakeAt === undefined ? status === "running" : wakeAt <= now)

  const found: Row[] = []
  for (const row of tables.inFlight) {
    if (!known.has(row.created.workflow)) continue
    const { holder } = row
    const isGone = holder !== undefined && (gone.has(holder) || tables.dismissed.has(holder))
    if (isGone || (holder === undefined && (isDue(row) || addressed.has(row.runId)))) found.push(row)
  }
  found.sort((a, b) => a.updatedAt - b.updatedAt)
  return found.slice(0, limit).map(storedRun)
}

export function claim(tables: Tables, runId: string, token: number, holder: string): Lease | undefined {
  const row = tables.runs.get(runId)
  if (row === undefined || row.token !== token || isOver(row.status)) return undefined
  row.token++
  if (row.holder !== undefined) row.takeovers++
  row.holder = holder
  row.wakeAt = undefined
  return { runId, holder, token: row.token }
}

export function release(tables: Tables, lease: Lease, wakeAt: number | undefined): void {
  const row = tables.runs.get(lease.runId)
  if (row === undefined || row.token !== lease.token || isOver(row.status)) return
  row.holder = undefined
  row.wakeAt = wakeAt
}
