/**
 * Batches appends. All appends of one turn of the event loop, to any number of runs, are one statement and one commit.
 * Appends that arrive while a statement is in progress form the next batch; three statements with different runs may be in
 * progress at a time.
 *
 * S1 An append is acknowledged after the commit that holds it, never before.
 * S2 What an append depends on (a journal's end, a token) is compared in the statement that writes.
 * S3 A refused append changes nothing, and does not affect the others of its statement. If a value cannot be written,
 *    each append of the statement is sent on its own.
 * S5 Appends to one run are sent one after another, in the order of the calls.
 */
import { isSuperstepError, type SuperstepError, storeErrors } from "@superstep/engine"
import { plainAppend } from "./append-function.ts"
import { type AppendItem, blobBytes, type RecordText } from "./append-item.ts"
import { bigintArray, booleanArray, floatArray, intArray, textArray } from "./binary-array.ts"
import type { Database, Statement } from "./database.ts"
import { isOfValue } from "./errors.ts"
import { parseName } from "./names.ts"

/** Limits of one statement: in larger ones each append takes longer. */
const MAX_ITEMS = 250
const MAX_BYTES = 8_388_608
const AT_ONCE = 3
const MAX_AGAIN = 20

/** Held from the start, so that a test framework's fake timers do not stop it. */
const nextTurn = setImmediate

const APPEND_ONE: Statement = {
  name: "append_one",
  text: `${plainAppend((parameter, type) => `${parameter}::${type}`)}
    SELECT CASE WHEN count(*) = 0 THEN '{}'::text[] END AS made FROM moved`,
}
const APPEND_PLAIN: Statement = {
  name: "append_plain",
  text: "SELECT $.append_plain_9($1, $2, $3, $4, $5, $6, $7, $8, $9) AS made",
}
const APPEND: Statement = {
  name: "append",
  text: `SELECT * FROM $.append_2($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)`,
}

interface Waiting {
  readonly item: AppendItem
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Why an append was refused, and the conflicting values. */
export interface Refusal {
  readonly item: number
  readonly reason:
    | "unknown"
    | "taken"
    | "conflict"
    | "exists"
    | "key"
    | "group"
    | "thread"
    | "moved"
    | "over"
    | "again"
  readonly other: string | null
  readonly thread: string | null
  readonly seq: number
  readonly token: number | null
  readonly holder: string | null
}

export class Appends {
  readonly #database: Database
  #waiting: Waiting[] = []
  #underWay = 0
  #isScheduled = false
  #drained: (() => void) | undefined

  constructor(database: Database) {
    this.#database = database
  }

  add(item: AppendItem): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      this.#schedule()
    })
  }

  /** Resolves when no append waits or is in progress. */
  async drain(): Promise<void> {
    if (this.#waiting.length === 0 && this.#underWay === 0) return
    await new Promise<void>((resolve) => {
      this.#drained = resolve
    })
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    nextTurn(() => {
      this.#isScheduled = false
      while (this.#waiting.length > 0 && this.#underWay < AT_ONCE) this.#send(this.#slice())
    })
  }

  #slice(): Waiting[] {
    let [end, bytes] = [0, 0]
    while (end < this.#waiting.length && end < MAX_ITEMS) {
      const { item } = this.#waiting[end] as Waiting
      bytes += item.bytes + (item.change?.bytes ?? 0)
      if (end > 0 && bytes > MAX_BYTES) break
      end += 1
    }
    // Every statement that changes several runs locks them in this order: none of them can deadlock.
    return this.#waiting.splice(0, end).sort((a, b) => (a.item.run < b.item.run ? -1 : 1))
  }

  #send(batch: readonly Waiting[]): void {
    this.#underWay++
    this.#write(batch)
      .catch((error) => {
        for (const { reject } of batch) reject(error)
      })
      .finally(() => {
        this.#underWay--
        if (this.#waiting.length > 0) this.#schedule()
        else if (this.#underWay === 0) this.#drained?.()
      })
  }

  async #write(batch: readonly Waiting[]): Promise<void> {
    let refusals: readonly Refusal[]
    try {
      refusals = await this.#statement(batch.map(({ item }) => item))
    } catch (error) {
      // S3
      if (batch.length === 1 || !isOfValue(isSuperstepError(error) ? error.cause : error)) throw error
      for (const one of batch) await this.#write([one]).catch(one.reject)
      return
    }
    const refused = new Map(refusals.map((refusal) => [refusal.item - 1, refusal]))
    const again: Promise<void>[] = []
    batch.forEach((one, i) => {
      const refusal = refused.get(i)
      if (refusal === undefined) one.resolve()
      else if (refusal.reason === "over" || refusal.reason === "again") again.push(this.#again(one, refusal))
      else one.reject(toError(one.item, refusal))
    })
    await Promise.all(again)
  }

  /** The run has ended, and its row is in another table; or the conflict is gone. */
  async #again(one: Waiting, first: Refusal): Promise<void> {
    let { reason } = first
    for (let attempt = 0; attempt < MAX_AGAIN; attempt++) {
      try {
        const [refusal] = await this.#statement([one.item], reason === "over")
        if (refusal === undefined) return one.resolve()
        if (refusal.reason !== "over" && refusal.reason !== "again")
          return one.reject(toError(one.item, refusal))
        reason = refusal.reason
      } catch (error) {
        return one.reject(error)
      }
    }
    one.reject(storeErrors.journalConflict(one.item.lease.runId, one.item.expectedSeq, first.seq))
  }

  /** The refused ones. An append that was written before its reply was lost counts as written. */
  #statement(items: readonly AppendItem[], isRevival = false): Promise<readonly Refusal[]> {
    const [first] = items as [AppendItem]
    const subject =
      items.length === 1
        ? `The journal of run "${first.lease.runId}" was not written`
        : `The journals of ${items.length} runs were not written`
    return this.#database.ask({ subject, isWrite: true }, async (isRepeated) => {
      if (isRepeated || isRevival || !items.every(isPlainAppend)) {
        const refusals = await this.#database.query<Refusal>(APPEND, toValues(items, isRevival))
        return refusals.filter((one) => !(isRepeated && isOwn(items[one.item - 1] as AppendItem, one)))
      }
      const [row] = await this.#database.query<{ made: readonly string[] | null }>(...plainStatement(items))
      if (!row?.made) return []
      // Why the others were not.
      const made = new Set(row.made)
      const left = items.flatMap((item, i) => (made.has(item.run) ? [] : [i]))
      const refused = left.map((i) => items[i] as AppendItem)
      const refusals = await this.#database.query<Refusal>(APPEND, toValues(refused, false))
      return refusals.map((one) => ({ ...one, item: (left[one.item - 1] as number) + 1 }))
    })
  }
}

/** It answers with the runs of the appends that were made, unless all were. */
function plainStatement(items: readonly AppendItem[]): [Statement, unknown[]] {
  if (items.length === 1) {
    const { run, lease, expectedSeq, at, isIntent, records } = items[0] as AppendItem
    const { bytes, events, frame, text } = records[0] as RecordText
    return [APPEND_ONE, [run, lease.token, expectedSeq, bytes, at, isIntent, events, frame, text]]
  }
  const records = items.map((item) => item.records[0] as RecordText)
  const values = [
    textArray(items.map(({ run }) => run)),
    bigintArray(items.map(({ lease }) => lease.token)),
    intArray(items.map(({ expectedSeq }) => expectedSeq)),
    bigintArray(records.map(({ bytes }) => bytes)),
    floatArray(items.map(({ at }) => at)),
    booleanArray(items.map(({ isIntent }) => isIntent)),
    bigintArray(records.map(({ events }) => events)),
    textArray(records.map(({ frame }) => frame)),
    textArray(records.map(({ text }) => text)),
  ]
  return [APPEND_PLAIN, values]
}

/** One small record, and nothing else to change. */
function isPlainAppend({ records, change }: AppendItem): boolean {
  return records.length === 1 && change === undefined && records[0]?.places === null
}

/** No other process has the token of the lease: a journal that ends where this append would end contains it. */
function isOwn({ lease, expectedSeq, records, creates }: AppendItem, found: Refusal): boolean {
  if (found.token !== lease.token || found.seq !== expectedSeq + records.length) return false
  if (found.reason === "conflict") return records.length > 0
  if (!creates || found.reason !== "exists") return false
  return found.holder === null || parseName(found.holder) === lease.holder
}

export function toError({ lease, expectedSeq, key, group }: AppendItem, refusal: Refusal): SuperstepError {
  const { runId } = lease
  const [other, thread] = [refusal.other, refusal.thread].map((name) =>
    name === null ? "" : parseName(name),
  ) as [string, string]
  switch (refusal.reason) {
    case "exists":
      return storeErrors.runExists(runId)
    case "key":
      return storeErrors.keyTaken(key ?? "", other)
    case "group":
      return storeErrors.groupTaken(group ?? "", other)
    case "thread":
      return storeErrors.threadBusy(thread, other)
    case "moved":
      return storeErrors.threadMoved(thread)
    case "taken":
      return storeErrors.runTaken(runId)
    default:
      return storeErrors.journalConflict(runId, expectedSeq, refusal.seq)
  }
}

export function toValues(items: readonly AppendItem[], isRevival: boolean): unknown[] {
  const records = items.flatMap((item) => item.records)
  const itemOf = items.flatMap((item, i) => item.records.map(() => i + 1))
  const large = records.flatMap(({ seq, values }, i) =>
    values.map(({ hash, text }) => ({ hash, text, seq, item: itemOf[i] as number })),
  )
  return [
    textArray(items.map(({ run }) => run)),
    bigintArray(items.map(({ lease }) => lease.token)),
    intArray(items.map(({ expectedSeq }) => expectedSeq)),
    intArray(items.map((item) => item.records.length)),
    bigintArray(items.map(({ bytes }) => bytes)),
    bigintArray(items.map((item) => blobBytes(item.records))),
    floatArray(items.map(({ at }) => at)),
    booleanArray(items.map(({ isIntent }) => isIntent)),
    intArray(itemOf),
    intArray(records.map(({ seq }) => seq)),
    bigintArray(records.map(({ events }) => events)),
    textArray(records.map(({ frame }) => frame)),
    textArray(records.map(({ text }) => text)),
    textArray(records.map(({ places }) => places)),
    intArray(large.map(({ item }) => item)),
    intArray(large.map(({ seq }) => seq)),
    textArray(large.map(({ hash }) => hash)),
    textArray(large.map(({ text }) => text)),
    toChanges(items),
    isRevival,
  ]
}

type Part = { readonly item: number; readonly [name: string]: unknown }

/** JSON of the changes by kind; null if there are none. */
function toChanges(items: readonly AppendItem[]): string | null {
  const parts: { [kind: string]: Part[] } = {}
  const graphs = new Map<string, { readonly body: string; readonly items: number[] }>()
  let isRegraphed = false
  const add = (kind: string, item: number, part: object) => {
    parts[kind] ??= []
    parts[kind].push({ item, n: parts[kind].length, ...part })
  }
  items.forEach(({ change }, i) => {
    if (change === undefined) return
    const item = i + 1
    if (change.created !== undefined) add("created", item, change.created)
    if (change.row !== undefined) {
      add("rows", item, change.row)
      isRegraphed ||= change.row.graph !== undefined
    }
    if (change.ended !== undefined) add("ended", item, change.ended)
    for (const kind of ["opened", "closed", "mail", "thread", "events"] as const) {
      for (const part of change[kind]) add(kind, item, part)
    }
    for (const { hash, body } of change.graphs) {
      const known = graphs.get(hash)
      if (known === undefined) graphs.set(hash, { body, items: [item] })
      else known.items.push(item)
    }
  })
  if (Object.keys(parts).length === 0 && graphs.size === 0) return null
  return JSON.stringify({
    ...parts,
    ...(graphs.size > 0 && {
      graphs: [...graphs].map(([hash, graph]) => ({ hash, ...graph })),
    }),
    ...(isRegraphed ? { regraphed: true } : {}),
  })
}
