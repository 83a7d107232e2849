/** Opens the search settings of a configuration. Nothing is opened before its first use. */
import { SuperstepError } from "../../core/index.ts"
import type { CypherQueries, Database, Retriever, SchemaRetriever, SourceRanker, Sources } from "../ports.ts"
import type { DatabaseSettings, GraphSettings, IndexSettings } from "./goal-shape.ts"

/** Opens the sources in the settings. Paths are absolute, or relative to where the configuration file was named from. */
export interface GoalBackends {
  database(settings: DatabaseSettings): Database | Promise<Database>
  schemaRetriever(databases: readonly Database[]): SchemaRetriever
  index(settings: IndexSettings): Closable<Retriever> | Promise<Closable<Retriever>>
  /** Absent if the back ends do not support graphs. */
  graph?(settings: GraphSettings): Closable<Retriever> | Promise<Closable<Retriever>>
  /** Absent if sources are not ranked. */
  sourceRanker?(sources: Sources): Closable<SourceRanker> | Promise<Closable<SourceRanker>>
}

/** A source that a configuration searches. */
export type ConfiguredSource =
  | {
      readonly kind: "database"
      readonly id: string
      readonly type: DatabaseSettings["type"]
      /** Opens it, or returns the open one. It is closed with the configuration. */
      open(): Promise<Database>
    }
  | {
      readonly kind: "documents" | "graph"
      /** The index, the documents or the type of the graph. */
      readonly id: string
      open(): Promise<Retriever>
    }

type Closable<T> = T & { close?(): Promise<void> | void }

/** Closes one after the other. The first failure is thrown after all have been closed. */
export async function closeAll(closings: readonly (() => unknown)[]): Promise<void> {
  const failures: unknown[] = []
  for (const close of closings) {
    try {
      await close()
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
}

type LoadBackends = () => GoalBackends | Promise<GoalBackends>

/** The opened back ends, which are closed with the configuration. */
export class OpenBackends {
  /** All sources so far, open or not. */
  readonly sources: ConfiguredSource[] = []
  readonly #load: LoadBackends
  readonly #opened = new Set<Promise<{ close?(): Promise<void> | void }>>()

  constructor(load: LoadBackends) {
    this.#load = load
  }

  database(settings: DatabaseSettings): Database {
    const { id, name = id, type } = settings
    const open = this.#once(async () => (await this.#load()).database(settings))
    this.sources.push({ kind: "database", id, type, open })
    return {
      id,
      name,
      kind: type,
      schema: async (options) => (await open()).schema(options),
      async profile(options) {
        const opened = await open()
        return opened.profile?.(options) ?? { tables: await opened.schema(options) }
      },
      query: async (sql, options) => (await open()).query(sql, options),
    }
  }

  schemaRetriever(databases: readonly Database[]): SchemaRetriever {
    const open = async () => (await this.#load()).schemaRetriever(databases)
    return {
      listDatabases: async () => databases,
      findBestDatabase: async (goal, options) => (await open()).findBestDatabase(goal, options),
    }
  }

  /** Ranks nothing if the back ends have no ranker. */
  sourceRanker(sources: Sources): SourceRanker {
    const open = this.#once(async (): Promise<Closable<SourceRanker>> => {
      const backends = await this.#load()
      return (await backends.sourceRanker?.(sources)) ?? { rank: async () => ({ sources: [], failed: [] }) }
    })
    return { rank: async (goal, options) => (await open()).rank(goal, options) }
  }

  index(settings: IndexSettings): Retriever {
    const name = settings.index ?? settings.documents?.join(", ") ?? "documents"
    return this.#retriever("documents", name, async () => (await this.#load()).index(settings)).retriever
  }

  graph(settings: GraphSettings): Retriever {
    const { retriever, open } = this.#retriever("graph", settings.type, async () => {
      const { graph } = await this.#load()
      if (graph !== undefined) return await graph(settings)
      const text = `The backends of this configuration cannot open a graph (${settings.type}).`
      throw new SuperstepError("BACKENDS_MISSING", text, { retryable: false })
    })
    const cypher: CypherQueries = {
      schema: async (options) => (await (await open()).cypher?.schema(options)) ?? "",
      async query(query, options) {
        const opened = await open()
        if (opened.cypher !== undefined) return await opened.cypher.query(query, options)
        throw new Error(`the graph ${opened.name} does not support Cypher`)
      },
    }
    return { ...retriever, cypher }
  }

  async close(): Promise<void> {
    const opened = [...this.#opened]
    this.#opened.clear()
    // A back end that could not be opened need not be closed.
    await closeAll(opened.map((opening) => async () => (await opening.catch(() => undefined))?.close?.()))
  }

  #retriever(kind: "documents" | "graph", name: string, make: () => Promise<Closable<Retriever>>) {
    const open = this.#once(make)
    this.sources.push({ kind, id: name, open })
    let opened: Retriever | undefined
    const retriever: Retriever = {
      name,
      async search(query, options) {
        opened = await open()
        return await opened.search(query, options)
      },
      describe: async (options) => (await (await open()).describe?.(options)) ?? name,
      skipped: () => opened?.skipped?.() ?? [],
    }
    return { retriever, open }
  }

  /** Opens a resource once. After a failure, the next call tries again. */
  #once<T extends { close?(): Promise<void> | void }>(make: () => Promise<T>): () => Promise<T> {
    let opening: Promise<T> | undefined
    return () => {
      if (opening !== undefined) return opening
      const now = make()
      opening = now
      this.#opened.add(now)
      now.catch(() => {
        opening = undefined
        this.#opened.delete(now)
      })
      return now
    }
  }
}
