/**
 * The sources of a goal configuration. Before a run, files are loaded with a progress bar: tables into the cache,
 * documents into their index. `superstep sources` opens each source, and reports its contents and problems.
 */
import type { ConfiguredSource, Database, GoalFile, Retriever } from "@superstep/engine/patterns"
import type { FileDatabase, SourceProgress } from "@superstep/retrieval"
import type { Cli } from "../cli.ts"
import { counted, duration, size } from "../print/figures.ts"
import { progressBar } from "../terminal/terminal.ts"

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
