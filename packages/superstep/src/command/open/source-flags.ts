/** `--docs`, `--csv` and `--db`: the data of a question without a file, converted to a goal configuration. */
import { existsSync, statSync } from "node:fs"
import { basename, extname, resolve } from "node:path"
import type {
  ConfiguredSource,
  Database,
  DatabaseSettings,
  GoalFile,
  IndexSettings,
  Retriever,
} from "@superstep/engine/patterns"
import type { FileDatabase, SourceProgress } from "@superstep/retrieval"
import type { Command } from "commander"
import type { Cli } from "../cli.ts"
import { collect } from "../flags.ts"
import { usageError } from "../print/errors.ts"
import { counted, duration, size } from "../print/figures.ts"
import { progressBar } from "../terminal/terminal.ts"

export interface SourceFlags {
  readonly docs?: readonly string[] | undefined
  readonly csv?: readonly string[] | undefined
  readonly db?: readonly string[] | undefined
  readonly embeddings?: string | undefined
}

/** Stored with the runs of such a question, so that they can be opened again. Persisted; it contains no passwords. */
export interface AskSettings {
  /** Absolute. */
  readonly docs?: readonly string[] | undefined
  readonly csv?: readonly string[] | undefined
  /** Addresses, `${NAME}` for a variable, or absolute paths. */
  readonly db?: readonly string[] | undefined
  readonly embeddings?: string | undefined
}

export function sourceFlags(command: Command): Command {
  return command
    .option("--docs <path>", "search these documents: files, folders or one index; repeatable", collect)
    .option(
      "--csv <path>",
      "ask these tables: CSV, TSV, JSON, Parquet or Excel files, or folders of them; repeatable",
      collect,
    )
    .option(
      "--db <url>",
      "ask this database: postgresql://…, mysql://…, a SQLite file, or '$NAME' for an environment variable; repeatable",
      collect,
    )
}

export function cacheFlag(command: Command): Command {
  return command.option(
    "--cache <folder>",
    "keep loaded tables here (default: SUPERSTEP_CACHE, or your cache folder)",
  )
}

export function hasSources({ docs, csv, db }: SourceFlags): boolean {
  return [docs, csv, db].some((paths) => paths !== undefined)
}

/** Moves passwords from the settings to secrets, which are never stored. */
export function askSettings(
  { docs, csv, db, embeddings }: SourceFlags,
  { cwd, env }: Pick<Cli["io"], "cwd" | "env">,
): { readonly settings: AskSettings; readonly secrets: Readonly<Record<string, string>> } {
  const secrets: Record<string, string> = {}
  const absolute = (flag: string, paths: readonly string[] | undefined) =>
    paths?.map((path) => {
      if (existsSync(resolve(cwd, path))) return resolve(cwd, path)
      throw usageError(`Cannot read ${flag} ${path}: no such file or folder.`)
    })
  const addresses = db?.map((text, i) => {
    const [, variable] = VARIABLE.exec(text) ?? []
    if (variable !== undefined) {
      if (env[variable]) return `\${${variable}}`
      throw usageError(`The environment variable ${variable} of --db is not set.`)
    }
    if (schemeOf(text) === undefined) return databaseFile(text, cwd)
    if (!hasPassword(text)) return text
    const name = ["DB", i + 1].join("_")
    secrets[name] = text
    return `\${${name}}`
  })
  const settings = {
    docs: absolute("--docs", docs),
    csv: absolute("--csv", csv),
    db: addresses,
    embeddings,
  }
  const known = Object.entries(settings).filter(([, value]) => value !== undefined)
  return { settings: Object.fromEntries(known) as AskSettings, secrets }
}

const VARIABLE = /^\$\{?(\w+)\}?$/

function schemeOf(text: string): string | undefined {
  return /^([a-z][a-z+]+):\/\//i.exec(text)?.[1]?.toLowerCase()
}

/** The error does not contain the URL, which may have a password. */
function hasPassword(url: string): boolean {
  if (!URL.canParse(url))
    throw usageError("--db is not a valid URL. Write it as postgresql://user:password@host/database.")
  const { password, searchParams } = new URL(url)
  return password !== "" || [...searchParams.keys()].some((name) => /pass|secret|token|key/i.test(name))
}

function databaseFile(text: string, cwd: string): string {
  const path = resolve(cwd, text.replace(/^sqlite:/, ""))
  if (existsSync(path) && statSync(path).isFile()) return path
  throw usageError(
    `Cannot read --db ${text}: no such file. Write postgresql://…, mysql://…, or the path of a SQLite file.`,
  )
}

/** The equivalent configuration as JSON. `lookup` finds variables and secrets. */
export function askConfig(
  settings: AskSettings,
  model: string,
  lookup: (name: string) => string | undefined,
): string {
  const databases = [
    ...tablesOf(settings.csv ?? []),
    ...(settings.db ?? []).map((db) => databaseOf(db, lookup)),
  ]
  const taken = new Set<string>()
  const search = {
    ...(databases.length > 0 && { databases: databases.map((one) => ({ ...one, id: free(one.id, taken) })) }),
    ...(settings.docs !== undefined && { vector: documentsOf(settings.docs, settings.embeddings) }),
  }
  const roles = ["triage", "assistant", "sql", "reviewer"]
  return JSON.stringify({
    name: "ask",
    agents: Object.fromEntries(roles.map((role) => [role, { model, ...INSTRUCTIONS[role] }])),
    assistants: ["assistant"],
    ...(databases.length > 0 && { sql_agent: "sql" }),
    search,
  })
}

const INSTRUCTIONS: Readonly<Record<string, { readonly instruction: string } | undefined>> = {
  assistant: {
    instruction: "Answer the question from the context. Say so if the context does not have the answer.",
  },
}

/** Each folder is a database. Files that are named individually form one database. */
function tablesOf(paths: readonly string[]): DatabaseSettings[] {
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
  const files = paths.filter((path) => !isFolder(path))
  return [
    ...paths.filter(isFolder).map((folder) => ({ type: "csv" as const, id: basename(folder), folder })),
    ...(files.length > 0 ? [{ type: "csv" as const, id: "files", files }] : []),
  ]
}

function databaseOf(text: string, lookup: (name: string) => string | undefined): DatabaseSettings {
  const [, variable] = VARIABLE.exec(text) ?? []
  const url = variable === undefined ? text : (lookup(variable) ?? "")
  const scheme = schemeOf(url)
  if (scheme === undefined && variable === undefined) {
    return { type: "sqlite", id: basename(text, extname(text)), file: text }
  }
  const type = DATABASES[scheme ?? ""]
  if (type === undefined) {
    throw usageError(
      `Unknown database ${scheme ?? ""}:// in --db. Write postgresql://…, mysql://…, or the path of a SQLite file.`,
    )
  }
  const name = URL.canParse(url) ? decodeURIComponent(new URL(url).pathname.slice(1)) : ""
  return { type, id: name === "" ? type : name, url: text }
}

const DATABASES: Readonly<Record<string, "postgresql" | "mysql" | undefined>> = {
  postgres: "postgresql",
  postgresql: "postgresql",
  mysql: "mysql",
  mariadb: "mysql",
}

function documentsOf(docs: readonly string[], embeddings: string | undefined): IndexSettings {
  const indexes = docs.filter((path) => extname(path) === ".db" && statSync(path).isFile())
  if (indexes.length === 0) return { documents: [...docs], ...(embeddings !== undefined && { embeddings }) }
  if (docs.length > 1) throw usageError("--docs takes one index, or files and folders, not both.")
  return { index: indexes[0] as string }
}

function free(id: string, taken: Set<string>): string {
  let name = id
  for (let n = 2; taken.has(name); n += 1) name = `${id}-${n}`
  taken.add(name)
  return name
}

// The sources of a goal configuration. Before a run, files are loaded with a progress bar: tables into the cache,
// documents into their index. `superstep sources` opens each source, and reports its contents and problems.

/** Receives the progress while sources are read. Set only while a progress bar is shown. */
export interface ProgressTarget {
  show?: ((progress: SourceProgress) => void) | undefined
}

/** Returns false if Ctrl-C stopped it. Unreadable sources are reported by the run. */
export async function prepareSources(
  { sources }: Pick<GoalFile, "sources">,
  progress: ProgressTarget,
  { io, err }: Cli,
  isQuiet: boolean,
): Promise<boolean> {
  const stop = new AbortController()
  const stopListening = io.onInterrupt(() => stop.abort())
  const bar = progressBar(err)
  try {
    for (const source of sources.filter(isRead)) {
      const started = Date.now()
      let tables = { files: 0, bytes: 0 }
      progress.show = ({ file, files, bytes }) => {
        if (source.kind === "database") tables = { files: files.total, bytes: bytes.total }
        if (isQuiet || file === undefined) return
        const share = bytes.total === 0 ? files.done / Math.max(1, files.total) : bytes.done / bytes.total
        const what = source.kind === "database" ? "Loading" : "Indexing"
        bar.show(share, `${what} ${files.done + 1}/${files.total} · ${file}`)
      }
      await read(source, stop.signal).catch(() => undefined)
      bar.clear()
      if (stop.signal.aborted) return false
      if (isQuiet || tables.files === 0) continue
      const time = duration(Date.now() - started)
      err.line(err.paint.dim(`Loaded ${counted(tables.files, "file")} (${size(tables.bytes)}) in ${time}.`))
    }
    return true
  } finally {
    progress.show = undefined
    bar.clear()
    stopListening()
  }
}

/** Servers are queried only by the run itself. */
function isRead(source: ConfiguredSource): boolean {
  return source.kind === "documents" || (source.kind === "database" && source.type === "csv")
}

async function read(source: ConfiguredSource, signal: AbortSignal): Promise<void> {
  if (source.kind === "database") await (await source.open()).schema({ signal })
  else await (await source.open()).describe?.({ signal })
}

// The checks of `superstep sources`.

export interface CheckedSource {
  /** The id of a database, the paths of documents, the type of a graph. */
  readonly source: string
  /** `postgresql`, `csv`, …, `documents`, `graph`. */
  readonly type: string
  readonly state: "ok" | "fail"
  /** A description for people. */
  readonly holds?: string | undefined
  readonly tables: readonly CheckedTable[]
  readonly problems: readonly SourceProblem[]
}

interface CheckedTable {
  readonly name: string
  readonly rows?: number | undefined
  readonly columns: readonly string[]
}

export interface SourceProblem {
  /** The file or the document. Absent: the source itself. */
  readonly what?: string | undefined
  readonly reason: string
  /** The code of the error. */
  readonly code?: string | undefined
}

type Found = Pick<CheckedSource, "holds" | "tables" | "problems">

export async function* checkSources(
  sources: readonly ConfiguredSource[],
  progress: ProgressTarget,
  { err }: Cli,
  isQuiet: boolean,
): AsyncGenerator<CheckedSource> {
  const bar = progressBar(err)
  for (const source of sources) {
    progress.show = ({ file, files, bytes }) => {
      if (isQuiet || file === undefined) return
      bar.show(bytes.total === 0 ? 0 : bytes.done / bytes.total, `${files.done + 1}/${files.total} · ${file}`)
    }
    const found = await lookAt(source).finally(() => bar.clear())
    progress.show = undefined
    const type = source.kind === "database" ? source.type : source.kind
    yield { source: source.id, type, state: found.problems.length === 0 ? "ok" : "fail", ...found }
  }
}

async function lookAt(source: ConfiguredSource): Promise<Found> {
  try {
    return source.kind === "database"
      ? await databaseFound(await source.open())
      : await retrieverFound(await source.open())
  } catch (error) {
    return { tables: [], problems: [problemOf(error)] }
  }
}

async function databaseFound(database: Database): Promise<Found> {
  const profile = await (database.profile?.() ??
    database.schema().then((tables) => ({ tables, incomplete: undefined })))
  const tables = profile.tables.map(({ name, rowCount, columns }) => ({
    name,
    ...(rowCount !== undefined && { rows: rowCount }),
    columns: columns.map((column) => column.name),
  }))
  const files = isFileDatabase(database) ? await database.report() : []
  const problems = [
    ...files.flatMap(({ file, problem, brokenRows }): SourceProblem[] => {
      if (problem !== undefined) return [{ what: file, reason: problem }]
      return brokenRows > 0 ? [{ what: file, reason: `${counted(brokenRows, "broken row")} skipped` }] : []
    }),
    ...(profile.incomplete === undefined
      ? []
      : [{ reason: `The profile is incomplete: ${profile.incomplete}.` }]),
    ...(tables.length === 0 ? [{ reason: "There are no readable tables." }] : []),
  ]
  const rows = tables.reduce((sum, table) => sum + (table.rows ?? 0), 0)
  const holds = [
    counted(tables.length, "table"),
    ...(tables.some((table) => table.rows !== undefined) ? [counted(rows, "row")] : []),
    ...(files.length > 0 ? [`from ${counted(files.length, "file")}`] : []),
  ]
  return { holds: holds.join(", "), tables, problems }
}

function isFileDatabase(database: Database): database is FileDatabase {
  return "report" in database
}

async function retrieverFound(retriever: Retriever): Promise<Found> {
  const holds = await retriever.describe?.()
  const skipped = retriever.skipped?.() ?? []
  return {
    ...(holds !== undefined && { holds }),
    tables: [],
    problems: skipped.map(({ source, reason }) => ({ what: source, reason })),
  }
}

function problemOf(error: unknown): SourceProblem {
  const { message, code } = error as { message?: string; code?: unknown }
  return { reason: message ?? String(error), ...(typeof code === "string" && { code }) }
}
