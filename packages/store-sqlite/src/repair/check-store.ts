/**
 * Checks a whole store, without changing it: SQLite's own structures, every record with its checksum and its position,
 * snapshots, requests, large values, threads, graphs, mail, definitions, events and their consumers.
 */

import { isDeepStrictEqual } from "node:util"
import { codecOf, plainCodec, type ValueCodec } from "@superstep/engine/stores"
import { decodeText, type JsonBytes, jsonBytes, shownName, toText } from "../file/columns.ts"
import type { Database } from "../file/driver.ts"
import { messageOfDamage } from "../file/errors.ts"
import { Transactions } from "../file/transactions.ts"
import { openDatabase, type StoreKeys } from "../open-store.ts"
import { labelTexts } from "../runs/run-labels.ts"
import { eventRows, toEvent } from "../runs/subscriptions.ts"
import { type SqliteStore, storeOn } from "../sqlite-store.ts"
import { type RawRun, type RawRuns, rawRuns, reading } from "./raw-runs.ts"

export interface Damage {
  /** What is damaged: a run's part, or a part of the store. */
  readonly part:
    | "file"
    | "run"
    | "journal"
    | "snapshot"
    | "requests"
    | "large values"
    | "thread"
    | "graph"
    | "mail"
    | "definitions"
    | "records"
    | "subscriptions"
    | "schedules"
  readonly runId?: string | undefined
  /** The record. */
  readonly seq?: number | undefined
  /** A sentence. */
  readonly message: string
}

export interface CheckProgress {
  /** From 0 to 1. */
  readonly share: number
  readonly what: string
}

export interface CheckedStore {
  readonly runs: number
  readonly records: number
}

const TURN = 500

const nextTurn = setImmediate

/** Opens and checks a store file. Throws STORE_UNUSABLE for a file that is no store. */
export async function* checkStoreFile(
  path: string,
  onProgress?: (progress: CheckProgress) => void,
  keys?: StoreKeys,
): AsyncGenerator<Damage, CheckedStore> {
  const codec = codecOf(keys)
  const { database, path: file, isGone } = openDatabase({ path, durability: "normal", lookAgain: 0, codec })
  const rules = { mayWrite: isGone, busyTimeout: 0 }
  const store = storeOn(file, database, new Transactions(database, rules), codec)
  try {
    return yield* checkStore(database, store, onProgress, codec)
  } finally {
    await store.close()
  }
}

/** Yields each damage as it is found, and returns how much was checked. */
export async function* checkStore(
  database: Database,
  store: SqliteStore,
  onProgress: (progress: CheckProgress) => void = () => undefined,
  codec: ValueCodec = plainCodec,
): AsyncGenerator<Damage, CheckedStore> {
  const counts = { runs: 0, records: 0 }
  yield* checkPages(database, onProgress)
  const raw = rawRuns(database, codec)
  const ids = raw.ids()
  for (const [i, id] of ids.entries()) {
    onProgress({ share: 0.4 + (0.5 * i) / ids.length, what: `run ${i + 1} of ${ids.length}` })
    counts.runs += 1
    const found = attempt(() => raw.run(id))
    if (found.value !== undefined) yield* checkRun(raw, store, found.value, counts)
    else {
      const missing = `Run number ${id} is in the index of runs, but not in their table.`
      yield { part: "run", message: found.error ?? missing }
    }
  }
  onProgress({ share: 0.9, what: "threads, graphs, definitions" })
  yield* checkRest(database, store, raw)
  return counts
}

async function* checkRun(
  raw: RawRuns,
  store: SqliteStore,
  { id, run, forkRun, forkSeq }: RawRun,
  counts: { records: number },
): AsyncGenerator<Damage> {
  const { runId, seq: end } = run
  if (forkRun !== null) {
    const past = attempt(() => raw.run(forkRun))
    if (past.error !== undefined) {
      yield { part: "run", runId, message: `The history of run "${runId}": ${past.error}` }
    } else if ((past.value?.run.seq ?? 0) < forkSeq) {
      const message = `The history of run "${runId}" ends before its fork at ${forkSeq}.`
      yield { part: "journal", runId, seq: forkSeq, message }
    }
  }
  // A reader for each record: a large value is read as often as it is used, and none is kept.
  for (let seq = forkSeq + 1; seq <= end; seq++) {
    counts.records += 1
    if (counts.records % TURN === 0) await new Promise((resume) => nextTurn(resume))
    const { error } = attempt(() => raw.record(toText(runId), id, seq, raw.blobs.reader()))
    if (error !== undefined) yield { part: "journal", runId, seq, message: error }
  }
  if (attempt(() => raw.hasRecordAfter(id, end)).value === true) {
    const message = `The journal of run "${runId}" has records after its end at ${end}.`
    yield { part: "journal", runId, seq: end + 1, message }
  }
  const snapshot = await settled(store.snapshot(runId))
  if (snapshot.error !== undefined) yield { part: "snapshot", runId, message: snapshot.error }
  else if ((snapshot.value?.seq ?? 0) > end) {
    const message = `The snapshot of run "${runId}" is of a record after its end at ${end}.`
    yield { part: "snapshot", runId, message }
  }
  const labels = attempt(() => raw.labels(id))
  if (labels.error !== undefined) yield { part: "run", runId, message: labels.error }
  else if (!isDeepStrictEqual(labels.value, labelTexts(run.labels ?? {}).sort())) {
    yield { part: "run", runId, message: `Run "${runId}" is not found by its labels.` }
  }
  const requests = attempt(() => raw.requests(id))
  if (requests.error !== undefined) yield { part: "requests", runId, message: requests.error }
  const named = await settled(store.run(runId))
  if (named.error !== undefined) yield { part: "run", runId, message: named.error }
}

async function* checkPages(
  database: Database,
  onProgress: (progress: CheckProgress) => void,
): AsyncGenerator<Damage> {
  const tables = attempt(() =>
    database.prepare(`SELECT ${jsonBytes("name")} AS name FROM sqlite_master WHERE type = 'table'`).all(),
  )
  if (tables.error !== undefined) yield { part: "file", message: tables.error }
  const names = ((tables.value ?? []) as { name: JsonBytes }[]).map(({ name }) =>
    decodeText(name, () => "A table's name is damaged"),
  )
  for (const [i, name] of names.entries()) {
    onProgress({ share: (0.4 * i) / names.length, what: `table ${name}` })
    await new Promise((resume) => nextTurn(resume))
    const checked = attempt(
      () =>
        database
          .prepare(`SELECT ${jsonBytes("integrity_check")} AS message FROM pragma_integrity_check(?)`)
          .all(name) as { message: JsonBytes }[],
    )
    if (checked.error !== undefined) yield { part: "file", message: checked.error }
    for (const { message } of checked.value ?? []) {
      const text = new TextDecoder().decode(message)
      if (text !== "ok") yield { part: "file", message: `Table ${name}: ${text}.` }
    }
  }
}

async function* checkRest(
  database: Database,
  store: SqliteStore,
  { blobs }: RawRuns,
): AsyncGenerator<Damage> {
  const lists = {
    thread: "SELECT CAST(thread AS BLOB) AS name FROM threads NOT INDEXED",
    graph: "SELECT CAST(hash AS BLOB) AS name FROM graphs NOT INDEXED",
    "large values": "SELECT CAST(hash AS BLOB) AS name FROM blobs NOT INDEXED",
    mail: "SELECT DISTINCT CAST(holder AS BLOB) AS name FROM runs NOT INDEXED WHERE holder IS NOT NULL",
    records: "SELECT DISTINCT CAST(kind AS BLOB) AS name FROM records NOT INDEXED",
  }
  const found: Record<string, string[]> = {}
  for (const [part, sql] of Object.entries(lists)) {
    const rows = attempt(() =>
      (database.prepare(sql).all() as { name: JsonBytes }[]).map(({ name }) =>
        shownName(decodeText(name, () => "A name is damaged")),
      ),
    )
    if (rows.error !== undefined) yield { part: part as Damage["part"], message: rows.error }
    found[part] = rows.value ?? []
  }
  const check = async function* (part: Damage["part"], read: Promise<unknown>): AsyncGenerator<Damage> {
    const { error } = await settled(read)
    if (error !== undefined) yield { part, message: error }
  }
  for (const id of found.thread ?? []) yield* check("thread", store.thread(id))
  for (const hash of found.graph ?? []) yield* check("graph", store.graph(hash))
  for (const holder of found.mail ?? []) yield* check("mail", store.mail(holder))
  yield* checkBlobs(database, blobs, found["large values"] ?? [])
  yield* check("subscriptions", store.subscriptions.consumers())
  yield* checkEvents(database)
  for (const kind of found.records ?? []) yield* check("records", store.records.list(kind))
  yield* check("definitions", store.registry.agents())
  yield* check("schedules", store.schedules.list({}))
  const definitions = store.registry.definitions()
  yield* check("definitions", definitions)
  for (const { id } of (await settled(definitions)).value ?? []) {
    yield* check("definitions", store.registry.definition(id))
  }
}

/** Each by itself: a damaged one hides no other. */
function* checkEvents(database: Database): Generator<Damage> {
  const rows = eventRows(database)
  for (;;) {
    const next = attempt(() => rows.next())
    if (next.error !== undefined) yield { part: "subscriptions", message: next.error }
    const row = next.value?.value
    if (next.value?.done !== false || row === undefined) return
    const { error } = attempt(() => toEvent(row))
    if (error !== undefined) yield { part: "subscriptions", message: error }
  }
}

/** Blobs that no record or snapshot uses, and uses of blobs that are missing. The others were read with their users. */
function* checkBlobs(
  database: Database,
  blobs: RawRuns["blobs"],
  hashes: readonly string[],
): Generator<Damage> {
  for (const hash of hashes) {
    const read = blobs.reader()
    const subject = () => `The large value ${hash} is damaged`
    const { error } = attempt(() =>
      read(Buffer.from("[null]"), JSON.stringify([[[0], hash]]), NOWHERE, subject),
    )
    if (error !== undefined) yield { part: "large values", message: error }
  }
  const lost = attempt(() =>
    database
      .prepare("SELECT count(*) AS count FROM blob_uses WHERE blob NOT IN (SELECT id FROM blobs NOT INDEXED)")
      .all(),
  )
  const [row] = (lost.value ?? []) as { count: number }[]
  if (lost.error !== undefined) yield { part: "large values", message: lost.error }
  else if (row !== undefined && row.count > 0) {
    yield { part: "large values", message: `${row.count} references point to missing large values.` }
  }
}

/** Of a body that is not stored. */
const NOWHERE = { kind: "record", owner: "", seq: 0 } as const

interface Attempt<T> {
  readonly value?: T
  readonly error?: string
}

function attempt<T>(read: () => T): Attempt<T> {
  try {
    return { value: reading("The file", read) }
  } catch (error) {
    return { error: messageOfDamage(error) }
  }
}

async function settled<T>(read: Promise<T>): Promise<Attempt<T>> {
  try {
    return { value: await read }
  } catch (error) {
    return { error: messageOfDamage(error) }
  }
}
