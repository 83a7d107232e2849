/** What a configuration of the goal pipeline names under `search`, opened with the back ends of this package. */
import { existsSync } from "node:fs"
import { basename, resolve } from "node:path"
import { SuperstepError } from "@superstep/engine"
import type { Database, GoalBackends } from "@superstep/engine/patterns"
import { graphRetriever } from "./graph/graph-retriever.ts"
import { ladybugGraph } from "./graph/ladybug.ts"
import { neo4jGraph } from "./graph/neo4j.ts"
import { documentIndex, namedEmbeddings } from "./index/index.ts"
import { schemaRetriever } from "./schema/schema-retriever.ts"
import { fileDatabase } from "./sql/files.ts"
import { postgresDatabase } from "./sql/postgres.ts"

export interface GoalBackendsOptions {
  /** The folder that relative paths are in. Default: the working folder. */
  readonly root?: string | undefined
  /** Where keys of embedding models are. Default: the process's environment. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

export function goalBackends(options: GoalBackendsOptions = {}): GoalBackends {
  const { root = process.cwd(), env = process.env } = options
  return {
    database: (settings) => databaseOf(settings, root),
    schemaRetriever,
    index: ({ index }) => indexAt(resolve(root, index), root, env),
    graph: (settings) => graphOf(settings, root),
  }
}

type DatabaseSettings = Parameters<GoalBackends["database"]>[0]

function databaseOf(settings: DatabaseSettings, root: string): Database {
  const { id, name } = settings
  if (settings.type === "postgresql") {
    const { url: connectionString, schemas, allow_functions: allowFunctions } = settings
    return postgresDatabase({ id, name, connectionString, schemas, allowFunctions })
  }
  const { files, folder } = settings
  return fileDatabase({
    id,
    name,
    files: files?.map((file) => resolve(root, file)),
    folder: folder === undefined ? undefined : resolve(root, folder),
  })
}

type GraphSettings = Parameters<NonNullable<GoalBackends["graph"]>>[0]

function graphOf(settings: GraphSettings, root: string) {
  const graph =
    settings.type === "neo4j"
      ? neo4jGraph({ ...settings, id: settings.database ?? "neo4j" })
      : ladybugGraph({ id: basename(settings.path), path: resolve(root, settings.path) })
  return { ...graphRetriever(graph), close: () => graph.close() }
}

/** With the embeddings that it was made with. */
async function indexAt(path: string, root: string, env: NonNullable<GoalBackendsOptions["env"]>) {
  if (!existsSync(path)) {
    const text = `There is no index ${path}: superstep index add PATH --file ${path} makes one.`
    throw new SuperstepError("INDEX_MISSING", text, { retryable: false })
  }
  const plain = documentIndex(path, { root })
  const report = await plain.report().catch(async (error) => {
    await plain.close()
    throw error
  })
  const name = report.embeddings?.name
  if (name === undefined) return plain
  await plain.close()
  const embeddings = await namedEmbeddings(name, { env })
  const index = documentIndex(path, { root, embeddings })
  const close = async () => {
    await index.close()
    await embeddings.close?.()
  }
  return { name: index.name, search: index.search.bind(index), close }
}
