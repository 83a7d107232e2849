/** A graph in a Ladybug file that a model may ask: for reading only, within limits. Ladybug runs in a process of its own. */

import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Json, SuperstepError } from "@superstep/engine"
import { requireAt, requireFrom, resolveOptional } from "@superstep/engine/packages"
import type { QueryResult } from "@superstep/engine/patterns"
import { ChildProgram, ProgramEnded } from "../child-program.ts"
import { OpenOnce } from "../connections.ts"
import { fatal, wholeNumber } from "../errors.ts"
import { programBeside } from "../packages.ts"
import { closed, failed, limitsOf, type QueryLimits, refused, timedOut } from "../sql/queries.ts"
import type { KnownLimits } from "../sql/rows.ts"
import { checkCypher } from "./cypher-guard.ts"
import type { GraphDatabase, GraphQueryOptions } from "./graph-database.ts"
import { ladybugSearch } from "./ladybug-search.ts"

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
  const file = ladybugFile(options)
  return {
    id,
    name,
    ...ladybugSearch((cypher, params, signal) => file.run(cypher, { params, signal, ...OWN_LIMITS })),
    query: async (cypher, query) => file.run(checkCypher(cypher), query),
    close: () => file.close(),
  }
}

/** Rows and bytes of our own queries, which say themselves how much they want: a schema is not cut where an answer is. */
const OWN_LIMITS = { rows: 1_000_000, bytes: 64_000_000 }
/** Milliseconds for a late query to end by itself. */
const GRACE = 1_000

/** Runs any query: those from outside must be checked before. */
export function ladybugFile(options: LadybugOptions) {
  const { id } = options
  const memory = wholeNumber("memory", options.memory ?? 512)
  let isClosed = false
  const opened = new OpenOnce(async () => startProgram(options, memory))

  function ended({ why, exit }: ProgramEnded, timeout: number): SuperstepError {
    if (why === "closed") return closed(`graph ${id}`)
    if (why === "late") return timedOut(timeout)
    return exit === "SIGKILL"
      ? failed(`it took more memory than the ${memory} MB it may.`)
      : failed(`Ladybug ended because of it (${exit}).`)
  }

  return {
    async run(cypher: string, query: GraphQueryOptions = {}): Promise<QueryResult> {
      const limits = limitsOf(query, options.limits)
      const { timeout } = limits
      const { params = {}, signal } = query
      if (isClosed) throw closed(`graph ${id}`)
      const program = await opened.get()
      const reply = await program
        .ask({ cypher, params, limits }, { timeout: timeout + GRACE, signal })
        .catch((error) => {
          throw error instanceof ProgramEnded ? ended(error, timeout) : error
        })
      if ("ok" in reply) return reply.ok
      const { error, message } = reply
      if (error === "timeout") throw timedOut(timeout)
      if (error === "refused") throw refused(message.replace(/[.!]\s*$/, ""))
      if (error === "failed") throw failed(message)
      throw unusable(`The graph ${id} cannot be opened: ${message}`)
    },

    async close(): Promise<void> {
      isClosed = true
      const program = await opened.current()
      program?.close()
    },
  }
}

function startProgram(
  { id, packagesOf, path: given }: LadybugOptions,
  memory: number,
): ChildProgram<LadybugRequest, LadybugReply> {
  const path = resolve(given)
  if (!existsSync(path)) {
    throw unusable(`The graph ${id} is missing: there is no file ${path}. Check the path.`)
  }
  const module = resolveOptional(
    { name: "@ladybugdb/core", neededBy: "A Ladybug graph" },
    packagesOf === undefined ? requireFrom(import.meta.url) : requireAt(resolve(packagesOf, "package.json")),
  )
  return new ChildProgram(programBeside(import.meta.url, "ladybug-process"), {
    module: pathToFileURL(module).href,
    path,
    memory: memory * 1_000_000,
  })
}

function unusable(message: string): SuperstepError {
  return fatal("DATABASE_UNREACHABLE", message)
}

export interface LadybugRequest {
  readonly cypher: string
  readonly params: Readonly<Record<string, Json>>
  readonly limits: KnownLimits
}

export type LadybugReply =
  | { readonly ok: QueryResult }
  | {
      readonly error: "unusable" | "refused" | "failed" | "timeout"
      readonly message: string
    }

/** The program's only argument, as JSON. */
export interface LadybugSettings {
  /** The address of the package's module. */
  readonly module: string
  readonly path: string
  /** Bytes. */
  readonly memory: number
}
