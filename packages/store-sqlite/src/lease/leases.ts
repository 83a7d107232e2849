/** Who holds which run, which runs are free, and the thread that sends heartbeats. A store decides nothing: its callers say that a holder is dead. */

import {
  type Dismissal,
  type FreeQuery,
  type Holder,
  type Idle,
  type KeepAliveOptions,
  type Lease,
  onlySuspect,
  type RunStatus,
  type StoredHolder,
  type StoredRun,
  SUSPECT,
} from "@superstep/engine"
import { type HeartbeatThread, heartbeatThread, type ValueCodec } from "@superstep/engine/stores"
import {
  decodeName,
  decodeText,
  type JsonBytes,
  jsonBytes,
  type Row,
  selected,
  toRunNumbers,
  toText,
  toTextList,
} from "../file/columns.ts"
import { type Database, libsqlPath, nodeSqlite } from "../file/driver.ts"
import { CLAIMED } from "../file/fleet-schema.ts"
import { END_WRITTEN, END_WRITTEN_AND_RESTED, WITH_END } from "../journal/journal-end.ts"
import { CLAIMABLE, IN_FLIGHT, RUN_COLUMNS, toStoredRuns } from "../runs/run-rows.ts"

export interface LeaseTable {
  beat(holder: Holder): boolean
  holders(): readonly StoredHolder[]
  held(holder: string): readonly Lease[]
  dismiss(holder: string, why: Dismissal): void
  free(query: FreeQuery): readonly StoredRun[]
  claim(runId: string, token: number, holder: string, restsAt?: number): Lease | undefined
  setIdle(lease: Lease, idle: Idle | false, status?: RunStatus): void
  release(lease: Lease, wakeAt: number | undefined): void
  absolve(lease: Lease): void
  /** The run that is parked with this, as the file has it. */
  quarantine(lease: Lease): { readonly runId: string; readonly workflow: string } | undefined
  unquarantine(runId: string): boolean
}

/** Clears the suspicion that a run is under. */
const UNSUSPECTED = "takeovers = 0, blamed = 0, died_with = NULL"
const RELEASED = "status = status_before, status_before = NULL, wake_at = 0"

export function leaseTable(database: Database, codec: ValueCodec): LeaseTable {
  const beat = database.prepare("UPDATE holders SET beat = beat + 1, taken = 0 WHERE id = ?")
  const wasTaken = database.prepare("SELECT taken FROM holders WHERE id = ?")
  const addHolder = database.prepare(
    "INSERT INTO holders (id, machine, pid, born, beat, taken) VALUES (?, ?, ?, ?, 1, 0)",
  )
  // SQLite prepares an update of runs, with its triggers, longer than it takes for the rest of a short run.
  const hasDead = database.prepare("SELECT 1 FROM runs WHERE died_with = ? LIMIT 1")
  const releaseItsDead = database.prepare(
    `UPDATE runs SET ${RELEASED} WHERE died_with = ? AND status = 'quarantined'`,
  )
  const withdraw = database.prepare(
    "UPDATE runs SET takeovers = max(takeovers - 1, 0), blamed = 0, died_with = NULL WHERE died_with = ?",
  )
  const findHolders = database.prepare(`SELECT ${selected("holders", HOLDER)} FROM holders ORDER BY rowid`)
  const findHeld = database.prepare(
    `SELECT ${jsonBytes("run_id")} AS run_id, token FROM runs WHERE holder = ?`,
  )
  const removeHolder = database.prepare(DISMISSAL.removeHolder)
  const findExecuting = database.prepare(
    `SELECT id, ${jsonBytes("run_id")} AS run_id, takeovers FROM runs WHERE holder = ? AND executing = 1`,
  )
  const suspect = database.prepare(DISMISSAL.countDeaths)
  const freeAll = database.prepare(DISMISSAL.freeAll)
  const findFree = database.prepare(FREE)
  const markTaken = database.prepare(
    `UPDATE holders SET taken = 1 WHERE id <> ? AND id = (SELECT holder FROM runs WHERE run_id = ? AND token = ?)`,
  )
  const claim = database.prepare(
    `UPDATE runs SET ${CLAIMED} WHERE run_id = ?2 AND token = ?3 AND ${IN_FLIGHT}`,
  )
  const rests = database.prepare("SELECT 1 FROM runs WHERE run_id = ? AND head = ? AND executing = 0")
  const setIdle = database.prepare(
    `UPDATE runs SET executing = ?, wake_at = ?, status = coalesce(?, status), ${END_WRITTEN}
     WHERE run_id = ? AND token = ? AND holder IS NOT NULL AND ${IN_FLIGHT}`,
  )
  const release = database.prepare(
    `UPDATE runs SET holder = NULL, wake_at = ?, ${END_WRITTEN_AND_RESTED}
     WHERE run_id = ? AND token = ? AND ${IN_FLIGHT}`,
  )
  const absolve = database.prepare(
    `UPDATE runs SET ${UNSUSPECTED}, trials = trials + 1 WHERE run_id = ? AND token = ? AND ${IN_FLIGHT}`,
  )
  const quarantine = database.prepare(
    `UPDATE runs SET status_before = status, status = 'quarantined', holder = NULL, wake_at = NULL, ${END_WRITTEN_AND_RESTED}
     WHERE run_id = ? AND token = ? AND ${CLAIMABLE} RETURNING ${jsonBytes("workflow")} AS workflow`,
  )
  const unquarantine = database.prepare(
    `UPDATE runs SET ${RELEASED}, ${UNSUSPECTED}, trials = 0 WHERE run_id = ? AND status = 'quarantined'`,
  )

  function countDeath(holder: string, why: Dismissal): void {
    if (why.reason === "closed") return
    const executing = findExecuting.all(holder) as { id: number; run_id: JsonBytes; takeovers: number }[]
    const rows =
      why.reason === "died" ? executing : executing.filter(({ run_id }) => runIdOf(run_id) === why.runId)
    const only = onlySuspect(rows)
    suspect.run(only?.id ?? null, holder, toRunNumbers(rows.map(({ id }) => id)))
  }

  return {
    beat({ id, machine, pid, born }) {
      const name = toText(id)
      const [known] = wasTaken.all(name) as { taken: number }[]
      if (known !== undefined) {
        beat.run(name)
        return known.taken === 1
      }
      addHolder.run(name, toText(machine), pid, toText(born))
      if (hasDead.all(name).length > 0) {
        releaseItsDead.run(name)
        withdraw.run(name)
      }
      return true
    },
    holders: () =>
      (findHolders.all() as Row<typeof HOLDER>[]).map(({ id, machine, pid, born, beat: count }) => ({
        id: decodeName(id, () => "A holder is damaged at its id"),
        machine: decodeName(machine, () => "A holder is damaged at its machine"),
        pid,
        born: decodeName(born, () => "A holder is damaged at its time of birth"),
        beat: count,
      })),
    held: (holder) =>
      (findHeld.all(toText(holder)) as { run_id: JsonBytes; token: number }[]).map(({ run_id, token }) => ({
        runId: runIdOf(run_id),
        holder,
        token,
      })),
    dismiss(holder, why) {
      const name = toText(holder)
      if (removeHolder.run(name).changes === 0) return
      countDeath(name, why)
      freeAll.run(name)
    },
    free: ({ workflows, now, limit, suspects }) =>
      toStoredRuns(findFree.all(toTextList(workflows), now, limit, suspects ? 1 : 0), codec),
    claim(runId, token, holder, restsAt) {
      if (restsAt !== undefined && rests.all(toText(runId), restsAt).length === 0) return undefined
      markTaken.run(toText(holder), toText(runId), token)
      const { changes } = claim.run(toText(holder), toText(runId), token)
      return changes === 0 ? undefined : { runId, holder, token: token + 1 }
    },
    setIdle({ runId, token }, idle, status) {
      const wakeAt = idle === false ? null : (idle.wakeAt ?? null)
      setIdle.run(idle === false ? 1 : 0, wakeAt, status ?? null, toText(runId), token)
    },
    release({ runId, token }, wakeAt) {
      release.run(wakeAt ?? null, toText(runId), token)
    },
    absolve({ runId, token }) {
      absolve.run(toText(runId), token)
    },
    quarantine({ runId, token }) {
      const name = toText(runId)
      const [run] = quarantine.all(name, token) as { workflow: JsonBytes }[]
      const subject = () => `Run "${runId}" is damaged`
      return run && { runId: name, workflow: decodeText(run.workflow, subject) }
    },
    unquarantine: (runId) => unquarantine.run(toText(runId)).changes !== 0,
  }
}

function runIdOf(runId: JsonBytes): string {
  return decodeName(runId, () => "A run is damaged at its id")
}

const HOLDER = { id: "text", machine: "text", pid: "integer", born: "text", beat: "integer" } as const

/**
 * ?1 workflows, ?2 now, ?3 limit, ?4 whether suspects are asked for. Each part has an index that holds little else than
 * what it looks for: runs that wait for an answer and have no time to wake up are in none of them.
 */
const FREE = `
  WITH
    known (workflow) AS MATERIALIZED (SELECT value FROM json_each(?1)),
    gone (holder) AS MATERIALIZED (
      SELECT DISTINCT holder FROM runs WHERE holder IS NOT NULL EXCEPT SELECT id FROM holders
    ),
    found (id, updated_at) AS (
      SELECT runs.id, runs.updated_at FROM known CROSS JOIN runs WHERE runs.id IN (
        SELECT id FROM runs
        WHERE workflow = known.workflow AND holder IS NULL AND status = 'running' AND wake_at IS NULL
          AND (takeovers >= ${SUSPECT}) = ?4
        ORDER BY rested_at, id LIMIT ?3
      )
      UNION
      SELECT runs.id, runs.updated_at FROM known CROSS JOIN runs
      WHERE runs.workflow = known.workflow AND runs.holder IS NULL AND runs.wake_at IS NOT NULL AND runs.wake_at <= ?2
        AND (runs.takeovers >= ${SUSPECT}) = ?4 AND +runs.${CLAIMABLE}
      UNION
      SELECT runs.id, runs.updated_at FROM gone CROSS JOIN runs ON runs.holder = gone.holder
      WHERE +runs.workflow IN (SELECT workflow FROM known) AND (runs.takeovers >= ${SUSPECT}) = ?4
        AND +runs.${CLAIMABLE}
      UNION
      SELECT runs.id, runs.updated_at FROM mail CROSS JOIN runs ON runs.run_id = mail.run_id
      WHERE mail.outcome IS NULL AND runs.holder IS NULL AND runs.${CLAIMABLE}
        AND +runs.workflow IN (SELECT workflow FROM known) AND (runs.takeovers >= ${SUSPECT}) = ?4
    )
  SELECT ${RUN_COLUMNS} FROM (SELECT id FROM found ORDER BY updated_at, id LIMIT ?3) AS first
  CROSS JOIN runs ON runs.id = first.id ${WITH_END} ORDER BY runs.updated_at, runs.id`

/** ?2 the holder that died with the runs. */
const COUNT_DEATH = "UPDATE runs SET takeovers = takeovers + 1, died_with = ?2, blamed ="

/**
 * The statements that dismiss a holder, in the order in which one transaction runs them. The heartbeat thread prepares them
 * on a connection of its own.
 */
export const DISMISSAL = {
  /** ?1 the holder. Where it changes nothing, the holder was dismissed before. */
  removeHolder: "DELETE FROM holders WHERE id = ?1",
  /** ?1 the number of the run that is blamed, or null, ?3 the numbers of all runs. */
  countDeaths: `${COUNT_DEATH} (id IS ?1) WHERE id IN (SELECT value FROM json_each(?3))`,
  /** ?1 whether the run is blamed, ?3 its id: the run that a hung holder was stuck in. */
  countHungRun: `${COUNT_DEATH} ?1 WHERE holder = ?2 AND executing = 1 AND run_id = ?3`,
  /** ?1 the holder. */
  freeAll: `UPDATE runs SET token = token + 1, holder = NULL, ${END_WRITTEN_AND_RESTED},
       wake_at = CASE executing WHEN 1 THEN 0 ELSE wake_at END
     WHERE holder = ?1`,
} as const

export function keepAlive(path: string, options: KeepAliveOptions): HeartbeatThread {
  // The driver of the store: two copies of SQLite in one process release each other's locks.
  const libsql = nodeSqlite() === undefined ? libsqlPath() : undefined
  return heartbeatThread(options, { program: PROGRAM, data: { path, libsql, sql: DISMISSAL } })
}

/**
 * Dismisses a hung holder as leases.ts does. Its work is to move the write-ahead log into the file, which waits for the disk.
 * A heartbeat does not: after a power failure nobody holds anything.
 */
const PROGRAM = `
const { path, libsql, sql } = workerData
const database = whole(() => {
  const Database = libsql === undefined
    ? process.getBuiltinModule("node:sqlite").DatabaseSync
    : require(libsql)
  const opened = new Database(path)
  opened.exec("PRAGMA busy_timeout = 2000")
  opened.exec("PRAGMA synchronous = NORMAL")
  opened.exec("PRAGMA wal_autocheckpoint = 0")
  return opened
})

function beat(holder) {
  whole(() => database.prepare("UPDATE holders SET beat = beat + 1 WHERE id = ?").run(holder))
}

function dismiss(holder, run) {
  whole(() => {
    database.exec("BEGIN IMMEDIATE")
    try {
      if (database.prepare(sql.removeHolder).run(holder).changes > 0) {
        database.prepare(sql.countHungRun).run(1, holder, run)
        database.prepare(sql.freeAll).run(holder)
      }
      database.exec("COMMIT")
    } catch (error) {
      database.exec("ROLLBACK")
      throw error
    }
  })
}

function work() {
  whole(() => database.exec("PRAGMA wal_checkpoint(PASSIVE)"))
}

function close() {
  whole(() => database.close())
}
`
