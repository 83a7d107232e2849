/**
 * Samples the data of tables within limits: row counts, values of text columns, ranges, a few rows. Each table takes two
 * queries, which are subject to the usual checks. A profile that exceeds its time or size keeps what it has and is marked
 * incomplete.
 */
import { join } from "node:path"
import type { Json } from "@superstep/engine"
import type {
  AskOptions,
  Column,
  DatabaseProfile,
  QueryOptions,
  QueryResult,
  Table,
} from "@superstep/engine/patterns"
import { clipped, isSecretName, KEY_PATTERNS } from "@superstep/engine/text"
import { untilAborted } from "@superstep/engine/tools"
import { digestOf, readCache, writeCache } from "../cache-file.ts"
import { invalidOption, wholeNumber } from "../errors.ts"

export interface ProfileTablesOptions extends AskOptions {
  readonly isExcluded: IsExcluded
  /** Milliseconds for all tables. */
  readonly timeout: number
  readonly now?: (() => number) | undefined
}

type Query = (sql: string, options: QueryOptions) => Promise<QueryResult>

const MAX_TABLES = 150
const MAX_COLUMNS = 60
const MAX_ROWS = 2_000
const MAX_BYTES = 4_000_000
/** Maximum milliseconds of one query. */
const QUERY_TIMEOUT = 3_000
/** A table with more rows is not scanned for its ranges. */
const MAX_COUNTED = 2_000_000
const MAX_VALUES = 200
/** Maximum characters of all values of a profile. */
const MAX_CHARACTERS = 400_000
/** Longer strings are prose, not values that a question names. */
const MAX_VALUE = 80
const SAMPLE_ROWS = 3
/** Concurrent queries. */
const PARALLEL = 2

export async function profileTables(
  tables: readonly Table[],
  query: Query,
  { isExcluded, timeout, signal, now = () => performance.now() }: ProfileTablesOptions,
): Promise<DatabaseProfile> {
  const end = now() + timeout
  const profiled: Table[] = [...tables]
  let [next, characters, isLate, isLarge, failed] = [0, 0, false, false, 0]
  const work = async () => {
    while (next < tables.length) {
      const mine = next
      next += 1
      const table = tables[mine] as Table
      isLarge ||= mine >= MAX_TABLES || characters >= MAX_CHARACTERS
      isLate ||= now() >= end
      if (isLarge || isLate) return
      const limit = () => Math.max(1, Math.min(QUERY_TIMEOUT, Math.floor(end - now())))
      const columns = sampledColumns(table, isExcluded, MAX_COLUMNS)
      try {
        profiled[mine] = await profileTable(table, columns, (sql, options) =>
          query(sql, { ...options, timeout: limit(), signal }),
        )
      } catch {
        // A broken view or a locked table does not prevent the profile of the others.
        signal?.throwIfAborted()
        failed += 1
      }
      characters += sizeOf(profiled[mine] as Table)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, work))
  const reasons = [
    ...(isLate ? [`not all tables could be profiled within ${timeout} ms`] : []),
    ...(isLarge ? ["it has more values than a profile can hold"] : []),
    ...(failed > 0 ? [`${failed} of ${tables.length} tables could not be read`] : []),
  ]
  return { tables: profiled, ...(reasons.length > 0 && { incomplete: reasons.join("; ") }) }
}

async function profileTable(
  table: Table,
  sampled: readonly SampledColumn[],
  query: (sql: string, options: QueryOptions) => Promise<QueryResult>,
): Promise<Table> {
  const measured = sampled.filter(({ kind }) => kind === "number" || kind === "date")
  const isLong = (table.rowCount ?? 0) > MAX_COUNTED
  // If the scan takes too long, the ranges come from the sampled rows.
  const whole = isLong
    ? undefined
    : await query(rangesOf(table, measured), { rows: 1 }).catch(() => undefined)
  const read =
    sampled.length === 0
      ? []
      : (await query(rowsOf(table, sampled), { rows: MAX_ROWS, bytes: MAX_BYTES })).rows
  const [count, ...ends] = whole?.rows[0] ?? []
  const looks = new Map<Column, Partial<Column>>()
  for (const [i, { column, kind }] of sampled.entries()) {
    const values = read.map((row) => row[i] ?? null)
    if (kind === "text" || kind === "label") looks.set(column, valuesOf(values))
    else {
      const at = 2 * measured.findIndex((one) => one.column === column)
      const range = ends.length > at + 1 ? [ends[at], ends[at + 1]] : endsOf(values)
      if (range[0] != null && range[1] != null) looks.set(column, { range: [range[0], range[1]] })
    }
  }
  return {
    ...table,
    columns: table.columns.map((column) => ({ ...column, ...looks.get(column) })),
    ...(typeof count === "number" && { rowCount: count }),
    ...(read.length > 0 && { sample: read.slice(0, SAMPLE_ROWS).map((row) => sampleRow(sampled, row)) }),
  }
}

function rangesOf({ name }: Table, measured: readonly SampledColumn[]): string {
  const ends = measured.flatMap(({ column }) => [`min(${column.name})`, `max(${column.name})`])
  return `SELECT ${["count(*)", ...ends].join(", ")} FROM ${name}`
}

function rowsOf({ name }: Table, sampled: readonly SampledColumn[]): string {
  const columns = sampled.map(({ column, kind }) =>
    // One character more than is kept, to detect longer values.
    kind === "text" ? `substr(${column.name}, 1, ${MAX_VALUE + 1})` : column.name,
  )
  return `SELECT ${columns.join(", ")} FROM ${name} LIMIT ${MAX_ROWS}`
}

/** The most frequent values first. Empty for a column that is mostly prose. */
function valuesOf(values: readonly Json[]): Partial<Column> {
  const counts = new Map<string, number>()
  let long = 0
  for (const value of values) {
    if (typeof value !== "string" || value.trim() === "") continue
    if (value.length > MAX_VALUE) long += 1
    else counts.set(value, (counts.get(value) ?? 0) + 1)
  }
  const known = [...counts].filter(([value]) => !isKey(value)).sort(([, one], [, other]) => other - one)
  const short = known.reduce((sum, [, count]) => sum + count, 0)
  if (short === 0 || long > short) return {}
  return { values: known.slice(0, MAX_VALUES).map(([value]) => value), distinct: known.length }
}

function isKey(value: string): boolean {
  return KEY_PATTERNS.some(([pattern]) => value.search(pattern) >= 0)
}

function endsOf(values: readonly Json[]): readonly [Json, Json] | readonly [] {
  const known = values.filter((value) => typeof value === "number" || typeof value === "string").sort(compare)
  const [first, last] = [known[0], known.at(-1)]
  return first === undefined || last === undefined ? [] : [first, last]
}

function compare(one: Json, other: Json): number {
  const [a, b] = [Number(one), Number(other)]
  // Dates are formatted so that they sort as text.
  if (Number.isNaN(a) || Number.isNaN(b)) return String(one) < String(other) ? -1 : 1
  return a - b
}

function sampleRow(sampled: readonly SampledColumn[], row: readonly Json[]): Record<string, Json> {
  return Object.fromEntries(
    sampled.map(({ column }, i) => {
      const value = row[i] ?? null
      if (typeof value !== "string") return [column.name, value]
      return [column.name, isKey(value) ? null : clipped(value, MAX_VALUE)]
    }),
  )
}

function sizeOf({ columns }: Table): number {
  return columns.reduce(
    (sum, { values = [] }) => sum + values.reduce((total, value) => total + value.length, 0),
    0,
  )
}

// Selects the columns to sample. Columns that are excluded or named like a secret are never read.

type ColumnKind = "text" | "label" | "number" | "date"

interface SampledColumn {
  readonly column: Column
  /** A `label` is short by its type, such as an enumeration. A `text` is truncated while it is read. */
  readonly kind: ColumnKind
}

const TEXT = /^(?:character|varchar|char\b|bpchar|text|citext|name$|string|"?char"?$)/i
const NUMBER = /^(?:u?(?:tiny|small|big|huge)?int|integer|numeric|decimal|real|double|float|money)/i
const DATE = /^(?:date|timestamp|datetime)/i
/** Types that are large, or meaningless on their own. */
const SKIPPED =
  /\[\]|^(?:array|bit|blob|boolean|bool\b|box|bytea|circle|geography|geometry|hstore|int\d+range|interval|json|line|list|lseg|map|oid|path|pg_|point|polygon|struct|time\b|ts(?:query|vector|tz?range)|union|uuid|varbinary|vector|xml)/i

function kindOf({ type }: Column): ColumnKind | undefined {
  if (SKIPPED.test(type)) return undefined
  if (TEXT.test(type)) return "text"
  if (NUMBER.test(type)) return "number"
  return DATE.test(type) ? "date" : "label"
}

export type IsExcluded = (table: string, column: string) => boolean

/** Patterns such as `patients.ssn`, `hr.staff.pay` and `*.password`; `*` matches any part of a name. */
export function excludedColumns(patterns: readonly string[] = []): IsExcluded {
  const tests = patterns.map((pattern) => {
    if (!/^[^.]+(?:\.[^.]+){1,2}$/.test(pattern)) {
      throw invalidOption(
        `Exclude a column as table.column or schema.table.column, such as "*.${pattern.replaceAll(".", "") || "password"}", not as "${pattern}".`,
      )
    }
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    return new RegExp(`^(?:[^.]*\\.)?${parts.join("[^.]*")}$`, "iu")
  })
  return (table, column) => {
    const name = [...namePart(table), unquoted(column).replaceAll(".", "_")].join(".")
    return isSecretName(unquoted(column)) || tests.some((test) => test.test(name))
  }
}

/** The columns to read, in their order. */
function sampledColumns(table: Table, isExcluded: IsExcluded, most: number): SampledColumn[] {
  const sampled: SampledColumn[] = []
  for (const column of table.columns) {
    const kind = kindOf(column)
    if (kind === undefined || isExcluded(table.name, column.name)) continue
    sampled.push({ column, kind })
    if (sampled.length === most) break
  }
  return sampled
}

/** The table, and its schema if there is one, without quotes. */
function namePart(table: string): string[] {
  const parts = table.match(/"(?:[^"]|"")*"|[^."]+/g) ?? [table]
  return parts.map((part) => unquoted(part).replaceAll(".", "_"))
}

function unquoted(name: string): string {
  return name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name
}

// Caches profiles for later processes. A profile is created again if the schema or the excluded columns change, if the
// data changed by more than a tenth, or if it is old. An incomplete profile is kept for a short time only.

export interface ProfileOptions {
  /**
   * Columns that are not profiled, as `table.column` or `schema.table.column`, with `*` for any part of a name. Columns
   * that are named like a secret are never profiled.
   */
  readonly excludeColumns?: readonly string[] | undefined
  /** Milliseconds to create a profile. Default 15,000. */
  readonly timeout?: number | undefined
  /** A folder to cache profiles for later processes. Default: no cache. */
  readonly cache?: string | undefined
  /** Milliseconds after which a profile is created again. Default: one day. */
  readonly maxAge?: number | undefined
}

/** A cheap summary of the state of a source. */
export interface Fingerprint {
  /** A digest of the schema. Any difference invalidates the profile. */
  readonly shape: string
  /** For each part, a counter of its changes and its size. A difference of more than a tenth invalidates the profile. */
  readonly parts: Readonly<Record<string, readonly [changes: number, size: number]>>
}

export interface ProfiledSource {
  /** Distinguishes the source from others. Contains no password. */
  readonly identity: string
  readonly options: ProfileOptions | undefined
  fingerprint(signal: AbortSignal | undefined): Promise<Fingerprint>
  look(options: { readonly isExcluded: IsExcluded; readonly timeout: number }): Promise<DatabaseProfile>
  readonly now?: (() => number) | undefined
}

/** Increase it when the content of profiles changes. */
const VERSION = 1
const DAY = 86_400_000
const SOON = 600_000
const FEW_CHANGES = 20
const SHARE = 0.1

interface Kept {
  readonly version: number
  readonly at: number
  readonly fingerprint: Fingerprint
  readonly profile: DatabaseProfile
}

type CachedProfile = (ask?: AskOptions) => Promise<DatabaseProfile>

export function cachedProfile({
  identity,
  options = {},
  fingerprint,
  look,
  now = Date.now,
}: ProfiledSource): CachedProfile {
  const { excludeColumns = [], cache } = options
  const isExcluded = excludedColumns(excludeColumns)
  const timeout = wholeNumber("timeout", options.timeout ?? 15_000)
  const maxAge = wholeNumber("maxAge", options.maxAge ?? DAY)
  const path = cache && join(cache, `profile-${digestOf(identity, [...excludeColumns].sort())}.json`)
  let kept: Kept | undefined
  let making: Promise<Kept> | undefined

  function isFresh({ at, fingerprint: then, profile }: Kept, seen: Fingerprint): boolean {
    const age = now() - at
    return (
      age >= 0 &&
      age < (profile.incomplete === undefined ? maxAge : Math.min(SOON, maxAge)) &&
      isAlike(then, seen)
    )
  }

  async function make(seen: Fingerprint): Promise<Kept> {
    const profile = await look({ isExcluded, timeout })
    const made = { version: VERSION, at: now(), fingerprint: seen, profile }
    if (path !== undefined) await writeCache(path, made)
    return made
  }

  return async ({ signal } = {}) => {
    const seen = await fingerprint(signal)
    kept ??= path === undefined ? undefined : cachedIn(await readCache(path))
    if (kept !== undefined && isFresh(kept, seen)) return kept.profile
    // Shared by all concurrent callers; none of them can abort it for the others.
    making ??= make(seen).finally(() => {
      making = undefined
    })
    const made = await untilAborted(making, signal)
    kept = made
    return made.profile
  }
}

function isAlike(then: Fingerprint, seen: Fingerprint): boolean {
  const names = Object.keys(seen.parts)
  if (then.shape !== seen.shape || names.length !== Object.keys(then.parts).length) return false
  return names.every((name) => {
    const [was, is] = [then.parts[name], seen.parts[name]]
    if (was === undefined || is === undefined) return false
    return Math.abs(is[0] - was[0]) <= Math.max(FEW_CHANGES, SHARE * was[1])
  })
}

function cachedIn(data: unknown): Kept | undefined {
  const { version, at, fingerprint, profile } = (data ?? {}) as Partial<Kept>
  const isKept =
    version === VERSION &&
    typeof at === "number" &&
    typeof fingerprint?.shape === "string" &&
    typeof fingerprint.parts === "object" &&
    Array.isArray(profile?.tables) &&
    profile.tables.every(({ name, columns }) => typeof name === "string" && Array.isArray(columns))
  return isKept ? (data as Kept) : undefined
}
