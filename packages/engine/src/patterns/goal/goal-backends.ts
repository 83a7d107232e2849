/** What a configuration's search settings are made into. Nothing is opened before it is asked. */
import { SuperstepError } from "../../core/index.ts"
import type { Database, Retriever, SchemaRetriever } from "../ports.ts"
import type { DatabaseSettings, GraphSettings, IndexSettings } from "./goal-shape.ts"

/** Opens what the settings name. Paths are absolute. */
export interface GoalBackends {
  database(settings: DatabaseSettings): Database | Promise<Database>
  schemaRetriever(databases: readonly Database[]): SchemaRetriever
  index(settings: IndexSettings): Closable<Retriever> | Promise<Closable<Retriever>>
  /** Absent: they know no graphs. */
  graph?(settings: GraphSettings): Closable<Retriever> | Promise<Closable<Retriever>>
}

type Closable<T> = T & { close?(): Promise<void> | void }

type LoadBackends = () => GoalBackends | Promise<GoalBackends>

/** What was opened, to be closed with the configuration. */
export class OpenBackends {
  readonly #load: LoadBackends
  readonly #opened: Promise<{ close?(): Promise<void> | void }>[] = []

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
    // What could not be opened need not be closed.
    for (const opening of this.#opened.splice(0)) await (await opening.catch(() => undefined))?.close?.()
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
      this.#opened.push(now)
      now.catch(() => {
        opening = undefined
      })
      return now
    }
  }
}
