/** Who runs what, and who could. A store decides nothing: that a holder is dead is said by its callers. */
import type { FreeQuery, Holder, Lease, StoredRun } from "@superstep/engine"
import type { Database } from "./driver.ts"
import { decodeName, type JsonBytes, jsonBytes } from "./json-column.ts"
import { IN_FLIGHT, RUN_COLUMNS, toStoredRuns } from "./run-rows.ts"
import { toText, toTextList } from "./text.ts"

export interface LeaseTable {
  beat(holder: Holder): void
  holders(): readonly Holder[]
  /** What it holds is free until it beats again, but stays in its name: who takes it counts a takeover. */
  dismiss(holder: string): void
  free(query: FreeQuery): readonly StoredRun[]
  claim(runId: string, token: number, holder: string): Lease | undefined
  release(lease: Lease, wakeAt: number | undefined): void
}

export function leaseTable(database: Database): LeaseTable {
  const beat = database.prepare(
    `INSERT INTO holders (id, machine, pid, beat, until) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET machine = excluded.machine, pid = excluded.pid, beat = excluded.beat,
       until = excluded.until`,
  )
  const findHolders = database.prepare(
    `SELECT ${jsonBytes("id")} AS id, ${jsonBytes("machine")} AS machine, pid, beat, until FROM holders ORDER BY rowid`,
  )
  const removeHolder = database.prepare("DELETE FROM holders WHERE id = ?")
  const dismiss = database.prepare("INSERT INTO dismissed_holders (id) VALUES (?) ON CONFLICT DO NOTHING")
  const welcome = database.prepare("DELETE FROM dismissed_holders WHERE id = ?")
  // Those that hold nothing any more need not be remembered.
  const forgetDismissed = database.prepare(
    "DELETE FROM dismissed_holders WHERE NOT EXISTS (SELECT 1 FROM runs WHERE holder = dismissed_holders.id)",
  )
  const findFree = database.prepare(FREE)
  const claim = database.prepare(
    `UPDATE runs SET token = token + 1, takeovers = takeovers + (holder IS NOT NULL), holder = ?, wake_at = NULL
     WHERE run_id = ? AND token = ? AND ${IN_FLIGHT}`,
  )
  const release = database.prepare(
    `UPDATE runs SET holder = NULL, wake_at = ?, rested_at = updated_at
     WHERE run_id = ? AND token = ? AND ${IN_FLIGHT}`,
  )

  return {
    beat({ id, machine, pid, beat: count, until }) {
      beat.run(toText(id), toText(machine), pid, count, until)
      welcome.run(toText(id))
    },
    holders: () =>
      (findHolders.all() as HolderRow[]).map(({ id, machine, pid, beat: count, until }) => ({
        id: decodeName(id, () => "A holder is damaged at its id"),
        machine: decodeName(machine, () => "A holder is damaged at its machine"),
        pid,
        beat: count,
        until,
      })),
    dismiss(holder) {
      removeHolder.run(toText(holder))
      dismiss.run(toText(holder))
      forgetDismissed.run()
    },
    free: ({ workflows, dead, now, limit }) =>
      toStoredRuns(findFree.all(toTextList(workflows), toTextList(dead), now, limit)),
    claim(runId, token, holder) {
      const { changes } = claim.run(toText(holder), toText(runId), token)
      return changes === 0 ? undefined : { runId, holder, token: token + 1 }
    },
    release({ runId, token }, wakeAt) {
      release.run(wakeAt ?? null, toText(runId), token)
    },
  }
}

interface HolderRow extends Omit<Holder, "id" | "machine"> {
  readonly id: JsonBytes
  readonly machine: JsonBytes
}

/**
 * ?1 workflows, ?2 dead holders, ?3 now, ?4 limit. Each part has an index that holds little else than what it looks
 * for: runs that wait for an answer and have no time to wake up are in none of them.
 */
const FREE = `
  WITH
    known (workflow) AS MATERIALIZED (SELECT value FROM json_each(?1)),
    gone (holder) AS MATERIALIZED (SELECT value FROM json_each(?2) UNION SELECT id FROM dismissed_holders),
    found (id, updated_at) AS (
      SELECT runs.id, runs.updated_at FROM known CROSS JOIN runs WHERE runs.id IN (
        SELECT id FROM runs
        WHERE workflow = known.workflow AND holder IS NULL AND status = 'running' AND wake_at IS NULL
        ORDER BY rested_at, id LIMIT ?4
      )
      UNION
      SELECT runs.id, runs.updated_at FROM known CROSS JOIN runs
      WHERE runs.workflow = known.workflow AND runs.holder IS NULL AND runs.wake_at IS NOT NULL AND runs.wake_at <= ?3
      UNION
      SELECT runs.id, runs.updated_at FROM gone CROSS JOIN runs ON runs.holder = gone.holder
      WHERE +runs.workflow IN (SELECT workflow FROM known)
      UNION
      SELECT runs.id, runs.updated_at FROM mail CROSS JOIN runs ON runs.run_id = mail.run_id
      WHERE mail.outcome IS NULL AND runs.holder IS NULL AND runs.${IN_FLIGHT}
        AND +runs.workflow IN (SELECT workflow FROM known)
    )
  SELECT ${RUN_COLUMNS} FROM (SELECT id FROM found ORDER BY updated_at, id LIMIT ?4) AS first
  CROSS JOIN runs ON runs.id = first.id ORDER BY runs.updated_at, runs.id`
