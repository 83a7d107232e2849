/**
 * Deletes runs, and reports what is stored.
 * One transaction deletes a run whole, with its records if they are few. Many records, and large values, are
 * deleted afterwards in short transactions, with pauses in which other processes may write. If the process dies in between,
 * the next deletion continues. Finally the file returns its free pages to the file system, unless it was created before
 * that was possible (sqlite-file.ts): then it reuses them.
 */

import type { Amount, PrunePolicy, StorageReport } from "@superstep/engine"
import {
  decodeText,
  EACH_RUN,
  type JsonBytes,
  jsonBytes,
  shownName,
  toRunNumbers,
  toText,
  toTextOrNull,
} from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { shortWrites } from "../file/short-writes.ts"
import type { Transactions } from "../file/transactions.ts"
import type { Tables } from "../journal/append.ts"
import { BYTES, HEAD, WITH_END } from "../journal/journal-end.ts"
import { IS_OVER } from "./run-rows.ts"

export interface Retention {
  remove(runId: string): Promise<boolean>
  prune(policy: PrunePolicy): Promise<Amount>
}

/** Limits of one transaction. */
export const RUNS_AT_ONCE = 250
export const RECORDS_AT_ONCE = 1_000
const BLOBS_AT_ONCE = 10
const PAGES_AT_ONCE = 250

/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

export function retention(database: Database, transactions: Transactions, tables: Tables): Retention {
  const removable = `${IS_OVER} AND NOT EXISTS (SELECT 1 FROM runs AS fork WHERE fork.fork_run = runs.id)`
  const columns = `runs.id, runs.bytes + coalesce(snapshots.bytes, 0) AS bytes, runs.head - runs.fork_seq AS records,
    (runs.blob_bytes > 0 OR snapshots.blobs IS NOT NULL) AS has_blobs`
  const found = `SELECT ${columns} FROM runs LEFT JOIN snapshots ON snapshots.run = runs.id`
  const findByName = database.prepare(`${found} WHERE runs.run_id = ? AND ${removable}`)
  const findById = database.prepare(`${found} WHERE runs.id = ? AND runs.pinned = 0 AND ${removable}`)
  const findAll = database.prepare(
    `${found} WHERE runs.id IN ${EACH_RUN} AND runs.pinned = 0 AND ${removable}`,
  )
  const drop = database.prepare(`DELETE FROM runs WHERE id IN ${EACH_RUN}`)
  const leave = database.prepare("INSERT INTO removed_runs (run) VALUES (?)")
  const findLeft = database.prepare("SELECT run FROM removed_runs ORDER BY run LIMIT ?")
  const done = database.prepare("DELETE FROM removed_runs WHERE run = ?")
  // Newest first: a fork is deleted before the run that it was forked from. In one row, as the driver is slow at many.
  const findOld = database.prepare(
    `SELECT json_group_array(id) AS ids FROM (
       SELECT id FROM runs INDEXED BY runs_over
       WHERE pinned = 0 AND ${IS_OVER} AND rested_at < ?1 AND updated_at < ?1 AND (?2 IS NULL OR workflow = ?2)
       ORDER BY id DESC
     )`,
  )
  const findNext = database.prepare(
    `SELECT id, ${jsonBytes("workflow")} AS workflow, updated_at FROM runs NOT INDEXED
     WHERE id < ?1 AND pinned = 0 AND ${IS_OVER} AND (?2 IS NULL OR workflow = ?2) ORDER BY id DESC LIMIT ?3`,
  )
  const giveBack = database.prepare(`PRAGMA incremental_vacuum(${PAGES_AT_ONCE})`)
  const findMode = database.prepare("PRAGMA auto_vacuum")
  const findFreePages = database.prepare("PRAGMA freelist_count")
  const { shortly, repeat } = shortWrites(transactions)

  /** Deletes the runs. Those with many records, or with large values, leave them for `sweepSome`. */
  function take(runs: readonly Removable[]): void {
    if (runs.length === 0) return
    const all = toRunNumbers(runs.map(({ id }) => id))
    tables.mail.removeAll(all)
    drop.run(all)
    tables.graphs.release(all)
    tables.requests.removeAll(all)
    tables.snapshots.removeAll(all)
    tables.labels.removeAll(all)
    tables.names.removeAll(all)
    const swept: number[] = []
    let room = RECORDS_AT_ONCE
    for (const { id, records, has_blobs } of runs) {
      if (has_blobs === 1 || records > room) leave.run(id)
      else {
        room -= records
        swept.push(id)
      }
    }
    tables.journals.removeAll(toRunNumbers(swept))
  }

  /** Deletes some of what removed runs left behind; false when nothing is left. */
  function sweepSome(): boolean {
    const left = findLeft.all(RUNS_AT_ONCE) as { run: number }[]
    let records = RECORDS_AT_ONCE
    for (const { run } of left) {
      records -= tables.journals.removeSome(run, records)
      if (records === 0) return true
      if (tables.blobs.releaseSome(run, BLOBS_AT_ONCE) === BLOBS_AT_ONCE) return true
      done.run(run)
    }
    return left.length === RUNS_AT_ONCE
  }

  /** Returns some free pages to the file system; false when there are none, or the file cannot. */
  function giveSomeBack(): boolean {
    const before = freePages()
    giveBack.all()
    return freePages() < before
  }

  function freePages(): number {
    const [[mode], [free]] = [findMode.all(), findFreePages.all()] as [
      { auto_vacuum: number }[],
      { freelist_count: number }[],
    ]
    return mode?.auto_vacuum === 0 ? 0 : (free?.freelist_count ?? 0)
  }

  async function cleanUp(): Promise<void> {
    await repeat("The removal of runs", sweepSome)
    await transactions.write("The removal of graphs", () => tables.graphs.removeUnused())
    await repeat("The end of the file", giveSomeBack)
    transactions.moveLog()
  }

  /** Ids of runs that the policy deletes, in batches, newest first. */
  async function* candidates({
    workflow,
    keep,
    endedBefore,
  }: PrunePolicy): AsyncGenerator<readonly number[]> {
    const name = toTextOrNull(workflow)
    const read = (query: () => unknown[]) => transactions.read("The list of runs to remove", query)
    if (keep === undefined) {
      const [old] = (await read(() => findOld.all(endedBefore ?? null, name))) as [{ ids: string }]
      const ids = JSON.parse(old.ids) as number[]
      for (let i = 0; i < ids.length; i += RUNS_AT_ONCE) yield ids.slice(i, i + RUNS_AT_ONCE)
      return
    }
    const seen = new Map<string, number>()
    const goes = (run: OverRow) => {
      const name = decodeText(run.workflow, () => "A run is damaged at its workflow")
      const newer = seen.get(name) ?? 0
      seen.set(name, newer + 1)
      return newer >= keep || (endedBefore !== undefined && run.updated_at < endedBefore)
    }
    for (let before: number | undefined = Number.MAX_SAFE_INTEGER; before !== undefined; ) {
      const from: number = before
      const runs = (await read(() => findNext.all(from, name, RUNS_AT_ONCE))) as OverRow[]
      yield runs.filter(goes).map(({ id }) => id)
      before = runs.at(-1)?.id
    }
  }

  /** Checks each run again: it may have been pinned, forked or removed in the meantime. */
  function takeAll(ids: readonly number[]): readonly Removable[] {
    const runs = findAll.all(toRunNumbers(ids)) as Removable[]
    take(runs)
    if (runs.length === ids.length) return runs
    const taken = new Set(runs.map(({ id }) => id))
    // A run whose forks were just deleted.
    const freed = ids.flatMap((id) => {
      const run = taken.has(id) ? [] : (findById.all(id) as Removable[])
      take(run)
      return run
    })
    return [...runs, ...freed]
  }

  return {
    async remove(runId) {
      const removed = await transactions.write(`The removal of run "${runId}"`, () => {
        const [run] = findByName.all(toText(runId)) as Removable[]
        if (run !== undefined) take([run])
        return run !== undefined
      })
      if (removed) await cleanUp()
      return removed
    },
    async prune(policy) {
      const sum = { count: 0, bytes: 0 }
      for await (const ids of candidates(policy)) {
        if (ids.length === 0) {
          await new Promise((resume) => nextTurn(resume))
          continue
        }
        const isOneOfMany = sum.count > 0
        const removed = await shortly("The removal of runs", () => {
          if (isOneOfMany) tables.names.delayMerges()
          return takeAll(ids)
        })
        for (const { bytes } of removed) {
          sum.count += 1
          sum.bytes += bytes
        }
      }
      const { mailBefore = policy.endedBefore } = policy
      if (mailBefore !== undefined) {
        await repeat("The removal of mail", () => tables.mail.removeLeft(mailBefore))
      }
      if (sum.count > 0) {
        await repeat("The index of names", tables.names.mergeSome)
        await cleanUp()
      }
      return sum
    },
  }
}

interface Removable {
  readonly id: number
  readonly bytes: number
  readonly records: number
  readonly has_blobs: number
}

interface OverRow {
  readonly id: number
  readonly workflow: JsonBytes
  readonly updated_at: number
}

/** To be called within a transaction, so that its figures are of one moment. */
export function reporter(database: Database): () => StorageReport {
  const amount = (sql: string): (() => Amount) => {
    const statement = database.prepare(sql)
    return () => {
      // Sums over no rows are null.
      const [row] = statement.all() as [{ [Field in keyof Amount]: number | null }]
      return { count: row.count ?? 0, bytes: row.bytes ?? 0 }
    }
  }
  const journal = amount(
    `SELECT sum(${HEAD} - runs.fork_seq) AS count, sum(${BYTES} - runs.blob_bytes) AS bytes
     FROM runs NOT INDEXED ${WITH_END}`,
  )
  const snapshots = amount("SELECT count(*) AS count, sum(octet_length(body)) AS bytes FROM snapshots")
  const blobs = amount("SELECT count(*) AS count, sum(octet_length(body)) AS bytes FROM blobs")
  const threads = amount("SELECT count(*) AS count, sum(bytes) AS bytes FROM threads")
  const byStatus = database.prepare(
    `SELECT ${jsonBytes("status")} AS name, count(*) AS runs FROM runs GROUP BY runs.status`,
  )
  const byWorkflow = database.prepare(
    `SELECT ${jsonBytes("workflow")} AS name, count(*) AS runs, sum(${BYTES} + coalesce(snapshots.bytes, 0)) AS bytes
     FROM runs ${WITH_END} LEFT JOIN snapshots ON snapshots.run = runs.id GROUP BY runs.workflow ORDER BY 3 DESC`,
  )
  const [pageSize, pageCount, freePages] = ["page_size", "page_count", "freelist_count"].map((name) => {
    const statement = database.prepare(`PRAGMA ${name}`)
    return () => (statement.all() as [Record<string, number>])[0][name] as number
  }) as [() => number, () => number, () => number]

  return () => ({
    runs: Object.fromEntries((byStatus.all() as NamedRow[]).map(({ name, runs }) => [readName(name), runs])),
    journal: journal(),
    snapshots: snapshots(),
    blobs: blobs(),
    threads: threads(),
    // The largest first.
    workflows: (byWorkflow.all() as (NamedRow & { bytes: number })[]).map(({ name, runs, bytes }) => ({
      workflow: shownName(readName(name)),
      runs,
      bytes,
    })),
    disk: { bytes: pageCount() * pageSize(), free: freePages() * pageSize() },
  })
}

interface NamedRow {
  readonly name: JsonBytes
  readonly runs: number
}

function readName(name: JsonBytes): string {
  return decodeText(name, () => "A run is damaged at its workflow or status")
}
