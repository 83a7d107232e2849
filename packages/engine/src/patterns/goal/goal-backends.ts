/** What a configuration's search settings are made into. Nothing is opened before it is asked. */
import { SuperstepError } from "../../core/index.ts"
import type { Database, Retriever, SchemaRetriever } from "../ports.ts"
import type { DatabaseSettings, GraphSettings, IndexSettings } from "./goal-shape.ts"

/** Opens what the settings name. Paths are those from where the configuration file was named, or absolute. */
export interface GoalBackends {
  database(settings: DatabaseSettings): Database | Promise<Database>
  schemaRetriever(databases: readonly Database[]): SchemaRetriever
  index(settings: IndexSettings): Closable<Retriever> | Promise<Closable<Retriever>>
  /** Absent: they know no graphs. */
  graph?(settings: GraphSettings): Closable<Retriever> | Promise<Closable<Retriever>>
}

type Closable<T> = T & { close?(): Promise<void> | void }

/** One after the other; the first failure is thrown when all have had their turn. */
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

/** What was opened, to be closed with the configuration. */
export class OpenBackends {
  readonly #load: LoadBackends
  readonly #opened = new Set<Promise<{ close?(): Promise<void> | void }>>()

  constructor(load: LoadBackends) {
    this.#load = load
  }

  database(settings: DatabaseSettings): Database {
    const { id, name = id, type } = settings
    const open = this.#once(async () => (await this.#load()).database(settings))
    return {
      id,
      name,
      kind: type,
      schema: async (options) => (await open()).schema(options),
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

  index(settings: IndexSettings): Retriever {
    return this.#retriever(settings.index, async () => (await this.#load()).index(settings))
  }

  graph(settings: GraphSettings): Retriever {
    return this.#retriever(settings.type, async () => {
      const { graph } = await this.#load()
      if (graph !== undefined) return await graph(settings)
      const text = `The back ends of this configuration cannot open a graph (${settings.type}).`
      throw new SuperstepError("BACKENDS_MISSING", text, { retryable: false })
    })
  }

  async close(): Promise<void> {
    const opened = [...this.#opened]
    this.#opened.clear()
    // What could not be opened need not be closed.
    await closeAll(opened.map((opening) => async () => (await opening.catch(() => undefined))?.close?.()))
  }

  #retriever(name: string, make: () => Promise<Closable<Retriever>>): Retriever {
    const open = this.#once(make)
    return { name, search: async (query, options) => (await open()).search(query, options) }
  }

  /** One that failed is tried anew. */
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
