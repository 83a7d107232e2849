/** Opens the sources under `search` of a goal configuration with the back ends of this package. */

import { existsSync } from "node:fs"
import { basename, resolve } from "node:path"
import type { Database, GoalBackends } from "@superstep/engine/patterns"
import { OpenOnce } from "./connections.ts"
import { fatal } from "./errors.ts"
import type { GraphDatabase } from "./graph/graph-database.ts"
import { graphRetriever } from "./graph/graph-retriever.ts"
import { ladybugGraph } from "./graph/ladybug.ts"
import { neo4jGraph } from "./graph/neo4j.ts"
import { documentIndex } from "./index/document-index.ts"
import { documentsIn } from "./index/documents-in.ts"
import { type Embeddings, OFFLINE_EMBEDDINGS } from "./index/embeddings/embeddings.ts"
import { defaultEmbeddings, NO_EMBEDDINGS, namedEmbeddings } from "./index/embeddings/named-embeddings.ts"
import { schemaRetriever, sourceRanker } from "./schema/source-ranker.ts"
import { fileDatabase } from "./sql/files.ts"
import { mysqlDatabase } from "./sql/mysql.ts"
import { postgresDatabase } from "./sql/postgres.ts"
import { sqliteDatabase } from "./sql/sqlite.ts"

export interface GoalBackendsOptions {
  /** The folder for relative paths. Default: the working directory. */
  readonly root?: string | undefined
  /** The environment with the keys of embedding models. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  /**
   * The name of the embeddings that also rank sources by meaning, for `namedEmbeddings`. Default: SUPERSTEP_EMBEDDINGS,
   * else `offline` if its packages are installed. `none` ranks by words and values only.
   */
  readonly embeddings?: string | undefined
  /** Caches loaded files in this folder for later processes. `cacheFolder` returns the usual one. */
  readonly cache?: string | undefined
  /** Called while files are loaded and documents are indexed. */
  readonly onProgress?: ((progress: SourceProgress) => void) | undefined
}

/** The progress of reading a source. */
export interface SourceProgress {
  /** The file that is being read. Undefined at the end. */
  readonly file?: string | undefined
  readonly files: { readonly done: number; readonly total: number }
  readonly bytes: { readonly done: number; readonly total: number }
}

export function goalBackends(options: GoalBackendsOptions = {}): GoalBackends {
  const { root = process.cwd(), env = process.env, onProgress } = options
  const shared = sharedEmbeddings(options.embeddings, env)
  const ranking = { embeddings: shared.get, cache: profilesIn(root) }
  return {
    database: (settings) => databaseOf(settings, { ...options, root }),
    schemaRetriever: (databases) => schemaRetriever(databases, ranking),
    sourceRanker: (sources) => ({ ...sourceRanker(sources, ranking), close: shared.close }),
    index({ index, documents = [], embeddings }) {
      if (index !== undefined) return indexAt(resolve(root, index), root, shared.named)
      return documentsIn(documents, {
        root,
        env,
        embeddings: embeddings ?? options.embeddings,
        onProgress: ({ source, documents: files, bytes }) => onProgress?.({ file: source, files, bytes }),
      })
    },
    graph: (settings) => graphOf(settings, root),
  }
}

/** The folder for profiles and their vectors. */
function profilesIn(root: string): string {
  return resolve(root, ".superstep", "profiles")
}

/** Opened on first use, and shared by all rankers. */
function sharedEmbeddings(wanted: string | undefined, env: NonNullable<GoalBackendsOptions["env"]>) {
  const name = wanted === NO_EMBEDDINGS ? undefined : (wanted ?? defaultEmbeddings(env))
  const opened = new OpenOnce(() => namedEmbeddings(name as string, { env }))
  const isOffline = (one: string | undefined) => one === "offline" || one === OFFLINE_EMBEDDINGS
  return {
    get: async () => (name === undefined ? undefined : opened.get()),
    /** Loads each model once. */
    named: (one: string) =>
      one === name || (isOffline(one) && isOffline(name)) ? opened.get() : namedEmbeddings(one, { env }),
    close: async () => (await opened.forget())?.close?.(),
  }
}

type DatabaseSettings = Parameters<GoalBackends["database"]>[0]

type DatabaseOptions = GoalBackendsOptions & { readonly root: string }

function databaseOf(settings: DatabaseSettings, { root, cache, onProgress }: DatabaseOptions): Database {
  const { id, name, type, exclude_columns: excludeColumns } = settings
  const profile = { excludeColumns, cache: profilesIn(root) }
  if (type === "sqlite") return sqliteDatabase({ id, name, profile, file: resolve(root, settings.file) })
  if (type === "mysql") {
    const { url: connectionString, allow_unsafe_role: allowUnsafeRole } = settings
    return mysqlDatabase({ id, name, connectionString, allowUnsafeRole, profile })
  }
  if (type === "postgresql") {
    const { url: connectionString, schemas, allow_functions: allowFunctions } = settings
    const { allow_unsafe_role: allowUnsafeRole } = settings
    return postgresDatabase({ id, name, connectionString, schemas, allowFunctions, allowUnsafeRole, profile })
  }
  const { files, folder } = settings
  return fileDatabase({
    id,
    name,
    profile,
    files: files?.map((file) => resolve(root, file)),
    folder: folder === undefined ? undefined : resolve(root, folder),
    cache,
    onProgress,
  })
}

type GraphSettings = Parameters<NonNullable<GoalBackends["graph"]>>[0]

function graphOf(settings: GraphSettings, root: string) {
  const graph =
    settings.type === "neo4j"
      ? neo4jGraph({ ...settings, id: settings.database ?? "neo4j" })
      : ladybugGraph({ id: basename(settings.path), path: resolve(root, settings.path) })
  return { ...graphRetriever(graph), describe: () => describeGraph(graph), close: () => graph.close() }
}

/** Counts the nodes of each label. A label that cannot be counted in time is listed without a count. */
async function describeGraph(graph: GraphDatabase): Promise<string> {
  const { labels, relationships } = await graph.schema()
  const counts = labels.slice(0, MAX_LABELS).map(async ({ name }) => {
    const label = `\`${name.replaceAll("`", "``")}\``
    const counted = await graph.query(`MATCH (n:${label}) RETURN count(n) AS n`).catch(() => undefined)
    const count = counted?.rows[0]?.[0]
    return count === undefined ? name : `${count} ${name}`
  })
  const more = labels.length > MAX_LABELS ? `, and ${labels.length - MAX_LABELS} more labels` : ""
  const types = relationships.length === 1 ? "type" : "types"
  return `nodes: ${(await Promise.all(counts)).join(", ")}${more}; ${relationships.length} ${types} of relationships`
}

const MAX_LABELS = 20

/** Opens an index with the embeddings that it was created with. */
async function indexAt(path: string, root: string, embeddingsNamed: (name: string) => Promise<Embeddings>) {
  if (!existsSync(path)) {
    throw fatal(
      "INDEX_MISSING",
      `There is no index ${path}: superstep index add PATH --file ${path} creates one.`,
    )
  }
  const plain = documentIndex(path, { root })
  const report = await plain.report().catch(async (error) => {
    await plain.close()
    throw error
  })
  const name = report.embeddings?.name
  if (name === undefined) return plain
  await plain.close()
  const embeddings = await embeddingsNamed(name)
  const index = documentIndex(path, { root, embeddings })
  const close = async () => {
    await index.close()
    await embeddings.close?.()
  }
  return { name: index.name, search: index.search, describe: index.describe, close }
}
