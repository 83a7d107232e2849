/** Opens each source of a goal configuration, and reports what it holds and what is wrong with it. */
import type { ConfiguredSource, Database, Retriever } from "@superstep/engine/patterns"
import type { FileDatabase } from "@superstep/retrieval"
import type { Cli } from "../cli.ts"
import { counted } from "../print/figures.ts"
import { progressBar } from "../print/progress-bar.ts"
import type { ProgressTarget } from "./prepare-sources.ts"

export interface CheckedSource {
  /** The id of a database, the paths of documents, the type of a graph. */
  readonly source: string
  /** `postgresql`, `csv`, …, `documents`, `graph`. */
  readonly type: string
  readonly state: "ok" | "fail"
  /** In words. */
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
  /** The file or the document; absent: the source itself. */
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
      return brokenRows > 0 ? [{ what: file, reason: `${counted(brokenRows, "broken row")} left out` }] : []
    }),
    ...(profile.incomplete === undefined
      ? []
      : [{ reason: `The profile is not complete: ${profile.incomplete}.` }]),
    ...(tables.length === 0 ? [{ reason: "There are no tables that can be read." }] : []),
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
