/** A graph in a Ladybug file that a model may ask: for reading only, within limits. Ladybug runs in a process of its own. */
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { join, resolve } from "node:path"
import { pathToFileURL } from "node:url"
import { type Json, SuperstepError } from "@superstep/engine"
import type { QueryResult } from "@superstep/engine/patterns"
import { ChildProgram, ProgramEnded, programBeside } from "../child-program.ts"
import { optionalPackage } from "../optional-package.ts"
import { failed, refused, timedOut } from "../sql/query-errors.ts"
import { limitsOf, type QueryLimits, wholeNumber } from "../sql/query-limits.ts"
import { checkCypher } from "./cypher-guard.ts"
import type { GraphDatabase, GraphQueryOptions } from "./graph-database.ts"
import type { LadybugReply, LadybugRequest } from "./ladybug-messages.ts"
import { LadybugSearch } from "./ladybug-search.ts"

export interface LadybugOptions {
  readonly id: string
  /** What people call it. Default: the id. */
  readonly name?: string | undefined
  /** The database's file. */
  readonly path: string
  readonly limits?: QueryLimits | undefined
  /** Megabytes that a query may take. Default 512. */
  readonly memory?: number | undefined
  /** The folder of a project that has @ladybugdb/core installed. Default: wherever this package finds it. */
  readonly packagesOf?: string | undefined
}

export function ladybugGraph(options: LadybugOptions): GraphDatabase {
  const { id, name = id } = options
  const file = new LadybugFile(options)
  const search = new LadybugSearch((cypher, params, signal) =>
    file.run(cypher, { params, signal, ...OWN_LIMITS }),
  )
  return {
    id,
    name,
    schema: (ask) => search.schema(ask?.signal),
    query: async (cypher, query) => file.run(checkCypher(cypher), query),
    find: (question, find) => search.find(question, find),
    relationships: (nodes, find) => search.relationships(nodes, find),
    close: async () => file.close(),
  }
}

/** Rows and bytes of our own queries, which say themselves how much they want: a schema is not cut where an answer is. */
const OWN_LIMITS = { rows: 1_000_000, bytes: 64_000_000 }

/** What a query that is late gets to end by itself. */
const GRACE = 1_000

/** Runs what it is given: whatever comes from outside has been checked before. */
export class LadybugFile {
  readonly #options: LadybugOptions
  readonly #memory: number
  #program: Promise<ChildProgram<LadybugRequest, LadybugReply>> | undefined
  #isClosed = false

  constructor(options: LadybugOptions) {
    this.#options = options
    this.#memory = wholeNumber("memory", options.memory ?? 512)
  }

  async run(cypher: string, query: GraphQueryOptions = {}): Promise<QueryResult> {
    const limits = limitsOf(query, this.#options.limits)
    const { params = {}, signal } = query
    const program = await this.#open()
    try {
      const reply = await program.ask(
        { cypher, params: params as Readonly<Record<string, Json>>, limits },
        { timeout: limits.timeout + GRACE, signal },
      )
      if ("ok" in reply) return reply.ok
      throw this.#errorOf(reply, limits.timeout)
    } catch (error) {
      throw error instanceof ProgramEnded ? this.#ended(error, limits.timeout) : error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const program = await this.#program?.catch(() => undefined)
    program?.close()
  }

  /** A failure is tried again by the next caller. */
  #open(): Promise<ChildProgram<LadybugRequest, LadybugReply>> {
    if (this.#isClosed) return Promise.reject(this.#closed())
    this.#program ??= this.#start()
    const program = this.#program
    program.catch(() => {
      if (this.#program === program) this.#program = undefined
    })
    return program
  }

  async #start(): Promise<ChildProgram<LadybugRequest, LadybugReply>> {
    const { id, packagesOf } = this.#options
    const path = resolve(this.#options.path)
    if (!existsSync(path)) {
      const message = `The graph ${id} is not there: there is no file ${path}. Check the path.`
      throw new SuperstepError("DATABASE_UNREACHABLE", message, { retryable: false })
    }
    const require = createRequire(
      packagesOf === undefined ? import.meta.url : join(resolve(packagesOf), "package.json"),
    )
    const module = await optionalPackage("@ladybugdb/core", "A Ladybug graph", async () =>
      require.resolve("@ladybugdb/core"),
    )
    return new ChildProgram(programBeside(import.meta.url, "ladybug-process"), {
      module: pathToFileURL(module).href,
      path,
      memory: this.#memory * 1_000_000,
    })
  }

  #errorOf({ error, message }: Exclude<LadybugReply, { ok: unknown }>, timeout: number): SuperstepError {
    if (error === "timeout") return timedOut(timeout)
    if (error === "refused") return refused(message.replace(/[.!]\s*$/, ""))
    if (error === "failed") return failed(message)
    const text = `The graph ${this.#options.id} cannot be opened: ${message}`
    return new SuperstepError("DATABASE_UNREACHABLE", text, { retryable: false })
  }

  #ended({ why, exit }: ProgramEnded, timeout: number): SuperstepError {
    if (why === "closed") return this.#closed()
    if (why === "late") return timedOut(timeout)
    return exit === "SIGKILL"
      ? failed(`it took more memory than the ${this.#memory} MB it may.`)
      : failed(`Ladybug ended because of it (${exit}).`)
  }

  #closed(): SuperstepError {
    return new SuperstepError("DATABASE_CLOSED", `The graph ${this.#options.id} is closed.`, {
      retryable: false,
    })
  }
}
