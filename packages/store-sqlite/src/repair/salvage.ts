/**
 * Recovers what is readable of a damaged store into a new file. Nothing is invented: a row is copied as it is, or not at
 * all.
 *
 * V1 A run whose row and records are sound comes over whole.
 * V2 A run with a damaged record is cut after the last sound one before it. It has no holder, no end and no snapshot of
 *    what was cut off, nor mail, and does not continue by itself: resuming it repeats what came after the cut.
 * V3 A run whose row is damaged, or whose past is cut before its fork, is lost.
 * V4 The damaged file is not written to: all this happens on a copy, which is removed.
 */

import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { codecOf, type ValueCodec } from "@superstep/engine/stores"
import { toText } from "../file/columns.ts"
import type { Database, Driver } from "../file/driver.ts"
import { messageOfDamage, unusable } from "../file/errors.ts"
import { snapshotTable } from "../journal/journals.ts"
import { openDatabase, type StoreKeys } from "../open-store.ts"
import { labelTable } from "../runs/run-labels.ts"
import { IN_FLIGHT } from "../runs/run-rows.ts"
import { type RawRun, type RawRuns, rawRuns } from "./raw-runs.ts"
import { copier, copyTables } from "./salvage-tables.ts"

export interface SalvagedRun {
  /** Undefined if it is damaged. */
  readonly runId?: string | undefined
  readonly outcome: "whole" | "cut" | "lost"
  /** The last record that came over. */
  readonly seq: number
  /** The last record of the damaged run, if that is known. */
  readonly of?: number | undefined
  /** Why it did not come over whole. */
  readonly reason?: string | undefined
}

export interface SalvageOptions {
  readonly from: string
  /** A file that does not exist yet. */
  readonly to: string
  readonly onRun?: ((run: SalvagedRun, share: number) => void) | undefined
  readonly driver?: Driver | undefined
  /** Of an encrypted store. Its values come over as they are. */
  readonly keys?: StoreKeys | undefined
}

export interface Salvaged {
  readonly whole: number
  readonly cut: number
  readonly lost: number
  /** What did not come over beside runs: threads, definitions …, a sentence each. */
  readonly problems: readonly string[]
}

const nextTurn = setImmediate

export async function salvageStore({ from, to, onRun, driver, keys }: SalvageOptions): Promise<Salvaged> {
  const [source, target] = [resolve(from), resolve(to)]
  if (!existsSync(source)) throw unusable(source, "does not exist: pass the path of the damaged store")
  if (existsSync(target)) throw unusable(target, "already exists: pass the path of a new file")
  const codec = codecOf(keys)
  const made = openDatabase({ path: target, codec, durability: "normal", lookAgain: 0, driver })
  const folder = mkdtempSync(join(dirname(target), ".salvage-"))
  try {
    const copy = join(folder, "damaged.db")
    for (const end of ["", "-wal"]) if (existsSync(source + end)) copyFileSync(source + end, copy + end)
    const { database } = openDatabase({ path: copy, codec, durability: "normal", lookAgain: 0, driver })
    try {
      return await copyAll(database, made.database, codec, onRun)
    } finally {
      database.close()
    }
  } finally {
    made.database.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

const RUN_COLUMNS = `id, run_id, head, bytes, blob_bytes, workflow, graph, status, key, thread, fork_run, fork_seq, token,
  holder, wake_at, executing, takeovers, blamed, trials, died_with, status_before, pinned, created_at, updated_at,
  rested_at, labels, sum, error, error_sum, flow, line, score, expires_at`
const RECORD_COLUMNS = "run, seq, frame, events, at, bytes, end_sum, body, blobs, sum"
const SNAPSHOT_COLUMNS = "run, seq, bytes, blobs, body, sum"
const REQUEST_COLUMNS = "id, run, request_id, workflow, recipient, outcome, closed_at, closed_by, body, sum"

async function copyAll(
  from: Database,
  to: Database,
  codec: ValueCodec,
  onRun: SalvageOptions["onRun"],
): Promise<Salvaged> {
  const raw = rawRuns(from, codec)
  const counts = { whole: 0, cut: 0, lost: 0 }
  const whole = new Set<string>()
  const ids = raw.ids()
  const { copy, cut } = runCopier(from, to, raw)
  const report = (run: SalvagedRun, share: number) => {
    counts[run.outcome] += 1
    if (run.runId !== undefined && run.outcome === "whole") whole.add(run.runId)
    onRun?.(run, share)
  }
  const cuts: CutRun[] = []
  for (const [i, id] of ids.entries()) {
    const run = inTransaction(to, () => copy(id))
    if (run === undefined) continue
    if ("id" in run) cuts.push(run)
    else report(run, (i + 1) / ids.length)
    await new Promise((resume) => nextTurn(resume))
  }
  // After all others: a run that was over and is cut must not take its thread from one that is in flight.
  for (const one of cuts.reverse())
    report(
      inTransaction(to, () => cut(one)),
      1,
    )
  const problems = inTransaction(to, () => copyTables(from, to, codec, (runId) => whole.has(runId)))
  return { ...counts, problems }
}

function inTransaction<T>(database: Database, work: () => T): T {
  database.exec("BEGIN IMMEDIATE")
  try {
    const result = work()
    database.exec("COMMIT")
    return result
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
}

/** A run of which some records came over, before it is made one that can be resumed from there. */
interface CutRun {
  readonly id: number
  readonly run: SalvagedRun & { readonly outcome: "cut" }
  /** When the last record that came over was written. */
  readonly at: number
  readonly bytes: number
}

interface RunCopier {
  copy(id: number): SalvagedRun | CutRun | undefined
  cut(run: CutRun): SalvagedRun
}

function runCopier(from: Database, to: Database, raw: RawRuns): RunCopier {
  /** The last record of each run that came over. */
  const ends = new Map<number, number>()
  const addRun = copier(from, to, "runs", "id = ?", RUN_COLUMNS)
  const addRecord = copier(from, to, "journal", "run = ? AND seq = ?", RECORD_COLUMNS)
  const addSnapshot = copier(from, to, "snapshots", "run = ?", SNAPSHOT_COLUMNS)
  const addRequest = copier(from, to, "requests", "id = ?", REQUEST_COLUMNS)
  const cutRun = to.prepare(
    `UPDATE runs SET head = ?1, status = 'quarantined', status_before = 'running', holder = NULL, wake_at = NULL,
       error = NULL, error_sum = NULL,
       updated_at = ?2, rested_at = ?2, bytes = ?3,
       blob_bytes = ?3 - (SELECT coalesce(sum(octet_length(body)), 0) FROM journal WHERE journal.run = runs.id)
     WHERE id = ?4`,
  )
  const isThreadTaken = to.prepare(
    `SELECT 1 FROM runs AS other JOIN runs ON runs.thread = other.thread
     WHERE runs.id = ? AND other.id <> runs.id AND other.${IN_FLIGHT}`,
  )
  const isForked = to.prepare("SELECT 1 FROM runs WHERE fork_run = ?")
  const dropRun = ["journal", "snapshots", "requests", "blob_uses", "run_labels"].map((table) =>
    to.prepare(`DELETE FROM ${table} WHERE run = ?`),
  )
  const labels = labelTable(to)
  const dropRow = to.prepare("DELETE FROM runs WHERE id = ?")
  const reopen = to.prepare(
    "UPDATE requests SET outcome = 'open', closed_at = NULL, closed_by = NULL WHERE id = ?",
  )
  const findHash = from.prepare(
    "SELECT blobs.hash, blobs.body FROM blob_uses CROSS JOIN blobs ON blobs.id = blob_uses.blob WHERE run = ? AND place = ?",
  )
  const findBlob = to.prepare("SELECT id FROM blobs WHERE hash = ?")
  const addBlob = to.prepare("INSERT INTO blobs (hash, body) VALUES (?, ?) RETURNING id")
  const useBlob = to.prepare("INSERT INTO blob_uses (blob, run, place) VALUES (?, ?, ?)")
  const snapshots = snapshotTable(from, raw.blobs)

  /** Of a body that was read before, so that they are sound. */
  function keepBlobs(run: number, place: number): void {
    for (const { hash, body } of findHash.all(run, place) as { hash: string; body: string }[]) {
      const known = findBlob.all(hash)
      const [row] = (known.length > 0 ? known : addBlob.all(hash, body)) as [{ id: number }]
      useBlob.run(row.id, run, place)
    }
  }

  /** The records from the first on, until one is not sound. */
  function copyRecords({ id, forkSeq, run }: RawRun) {
    let [at, bytes] = [run.createdAt, 0]
    for (let seq = forkSeq + 1; seq <= run.seq; seq++) {
      try {
        const { entry } = raw.record(toText(run.runId), id, seq, raw.blobs.reader())
        at = entry.at
        bytes += Buffer.byteLength(JSON.stringify(entry))
      } catch (error) {
        return { end: seq - 1, at, bytes, reason: messageOfDamage(error) }
      }
      addRecord(id, seq)
      keepBlobs(id, seq)
    }
    return { end: run.seq, at, bytes, reason: undefined }
  }

  /** Its requests as they were after the last record that came over. */
  function copyRequests({ id }: RawRun, cutAt: number | undefined): void {
    for (const { id: row, request } of raw.requests(id)) {
      if (cutAt !== undefined && request.openedAt > cutAt) continue
      addRequest(row)
      if (cutAt !== undefined && (request.closedAt ?? 0) > cutAt) reopen.run(row)
    }
  }

  function copy(id: number): SalvagedRun | CutRun | undefined {
    let found: RawRun | undefined
    try {
      found = raw.run(id)
    } catch (error) {
      return { outcome: "lost", seq: 0, reason: messageOfDamage(error) }
    }
    if (found === undefined) return undefined
    const { run, forkRun, forkSeq } = found
    const { runId, seq: of } = run
    if (forkRun !== null && (ends.get(forkRun) ?? -1) < forkSeq) {
      return {
        runId,
        outcome: "lost",
        seq: 0,
        of,
        reason: `the run it was forked from is lost, or cut before record ${forkSeq}`,
      }
    }
    addRun(id)
    if (run.labels !== undefined) labels.add(id, run.labels)
    const { end, at, bytes, reason } = copyRecords(found)
    ends.set(id, end)
    let problem = reason
    try {
      copyRequests(found, end < of ? at : undefined)
    } catch (error) {
      problem ??= messageOfDamage(error)
    }
    try {
      const snapshot = snapshots.find(runId)
      if (snapshot !== undefined && snapshot.seq <= end) {
        addSnapshot(id)
        keepBlobs(id, -snapshot.seq)
      }
    } catch {
      // A snapshot only saves reading the journal.
    }
    if (end < of) return { id, at, bytes, run: { runId, outcome: "cut", seq: end, of, reason: problem } }
    return { runId, outcome: "whole", seq: end, of, reason: problem }
  }

  function cut({ id, run, at, bytes }: CutRun): SalvagedRun {
    if (isThreadTaken.all(id).length === 0) {
      cutRun.run(run.seq, at, bytes, id)
      return run
    }
    if (isForked.all(id).length > 0)
      throw unusable(
        `Run "${run.runId}"`,
        "cannot be cut: another run in flight uses its thread, and it has forks; remove one of them from a copy of the store first",
      )
    for (const drop of dropRun) drop.run(id)
    dropRow.run(id)
    return { ...run, outcome: "lost", seq: 0, reason: `${run.reason} Another run in flight uses its thread.` }
  }

  return { copy, cut }
}
