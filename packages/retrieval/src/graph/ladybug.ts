/** A graph in a Ladybug file that a model may query: read-only, within limits. Ladybug runs in a separate process. */
import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import type { Json, SuperstepError } from "@superstep/engine"
import { requireAt, requireFrom, resolveOptional } from "@superstep/engine/packages"
import type { AskOptions, QueryResult } from "@superstep/engine/patterns"
import { ChildProgram, ProgramEnded } from "../child-program.ts"
import { OpenOnce } from "../connections.ts"
import { fatal, programBeside, wholeNumber } from "../errors.ts"
import { closed, failed, limitsOf, type QueryLimits, refused, timedOut } from "../sql/queries.ts"
import type { KnownLimits } from "../sql/rows.ts"
import { checkCypher } from "./cypher-guard.ts"
import {
  collectInTime,
  type GraphDatabase,
  type GraphLabel,
  type GraphQueryOptions,
  type GraphRelationship,
  type GraphRelationshipType,
  type GraphSchema,
  type PropertyGraphNode,
  quotedName,
  textProperties,
} from "./graph-database.ts"

export interface LadybugOptions {
  readonly id: string
  /** The name for people. Default: the id. */
  readonly name?: string | undefined
  /** The path of the database file. */
  readonly path: string
  readonly limits?: QueryLimits | undefined
  /** Maximum megabytes of a query. Default 512. */
  readonly memory?: number | undefined
  /** The folder of a project that has @ladybugdb/core installed. Default: resolved from this package. */
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

/** Limits of built-in queries, which set their own sizes: a schema must not be truncated like an answer. */
const OWN_LIMITS = { rows: 1_000_000, bytes: 64_000_000 }
/** Milliseconds that a late query gets to end by itself. */
const GRACE = 1_000

/** Runs any query. Queries from outside must be checked first. */
export function ladybugFile(options: LadybugOptions) {
  const { id } = options
  const memory = wholeNumber("memory", options.memory ?? 512)
  let isClosed = false
  const opened = new OpenOnce(async () => startProgram(options, memory))

  function ended({ why, exit }: ProgramEnded, timeout: number): SuperstepError {
    if (why === "closed") return closed(`graph ${id}`)
    if (why === "late") return timedOut(timeout)
    return exit === "SIGKILL"
      ? failed(`it exceeded the memory limit of ${memory} MB.`)
      : failed(`it crashed Ladybug (${exit}).`)
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
  /** The URL of the package's module. */
  readonly module: string
  readonly path: string
  /** Bytes. */
  readonly memory: number
}

// Built-in queries: the schema, nodes by their text, their relationships.

type AskLadybug = (
  cypher: string,
  params: Readonly<Record<string, Json>>,
  signal: AbortSignal | undefined,
) => Promise<QueryResult>

function ladybugSearch(ask: AskLadybug): Pick<GraphDatabase, "schema" | "find" | "relationships"> {
  /** Cached: the file is open for reading, and does not change while it is open. */
  let known: GraphSchema | undefined

  async function schema({ signal }: AskOptions = {}): Promise<GraphSchema> {
    if (known !== undefined) return known
    const pairs = async (cypher: string) => (await ask(cypher, {}, signal)).rows as [string, string][]
    const labels: GraphLabel[] = []
    const relationships: GraphRelationshipType[] = []
    for (const [table, kind] of await pairs("CALL show_tables() RETURN name, type ORDER BY name")) {
      const columns = await pairs(`CALL table_info(${literal(table)}) RETURN name, type`)
      const properties = columns.map(([name, type]) => ({ name, type }))
      if (kind === "NODE") labels.push({ name: table, properties })
      if (kind === "REL") {
        const between = await pairs(
          `CALL show_connection(${literal(table)}) RETURN \`source table name\` AS source, \`destination table name\` AS destination ORDER BY source, destination`,
        )
        relationships.push({ type: table, properties, between })
      }
    }
    known = { labels, relationships }
    return known
  }

  return {
    schema,

    async find({ text, words, labels: asked }, options) {
      const { limit, signal } = options
      const wanted = (await schema({ signal })).labels.filter(({ name }) => asked?.includes(name) ?? true)
      const nodes = async (cypher: string, params: Parameters<AskLadybug>[1]) => {
        const { rows } = await ask(cypher, params, signal)
        return rows.map(([node]) => node as unknown as PropertyGraphNode)
      }
      const parts =
        words.length === 0
          ? wanted.map(({ name }) => [name, () => nodes(some(name), { limit })] as const)
          : wanted
              .filter((label) => textProperties(label).length > 0)
              .map(
                (label) =>
                  [label.name, () => nodes(scan(label), { text, words: [...words], limit })] as const,
              )
      return collectInTime(parts, options)
    },

    async relationships(nodes, { limit, signal }) {
      if (nodes.length === 0) return []
      const ids = nodes.map(({ id }) => `internal_id(${id.split(":").map(Number).join(", ")})`)
      const { rows } = await ask(
        `MATCH (n)-[r]-(m) WHERE id(n) IN [${ids.join(", ")}]
RETURN n, r, m ORDER BY offset(id(r)), cast(id(r) AS STRING) LIMIT $rows`,
        // A relationship between two of the nodes is found from both ends.
        { rows: 2 * limit },
        signal,
      )
      const found = rows.map((row) => relationshipOf(row as unknown as FoundRow))
      return [...new Map(found.map((one) => [one.id, one])).values()].slice(0, limit)
    },
  }
}

/** Ladybug's procedures take no parameters. */
function literal(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`
}

/** Names contain backquotes only in pairs, which Ladybug accepts unchanged. */
function named(name: string): string {
  return /^(?:[^`]|``)*$/.test(name) ? `\`${name}\`` : quotedName(name)
}

type FoundRow = readonly [
  PropertyGraphNode,
  Readonly<Record<"id" | "type" | "from" | "to", string>> & { properties: Record<string, Json> },
  PropertyGraphNode,
]

function relationshipOf([node, { id, type, from, properties }, other]: FoundRow): GraphRelationship {
  const isFrom = node.id === from
  return { id, type, from: isFrom ? node : other, to: isFrom ? other : node, properties }
}

/** Ladybug uses several threads, so results without ORDER BY have a different order each time. */
const IN_ORDER = "offset(id(n))"

function some(label: string): string {
  return `MATCH (n:${named(label)}) RETURN n ORDER BY ${IN_ORDER} LIMIT $limit`
}

function scan(label: GraphLabel): string {
  const texts = textProperties(label).map((name) => `lower(coalesce(n.${named(name)}, ''))`)
  const isSpoken = texts.map((text) => `size(${text}) > 1 AND contains($text, ${text})`)
  return `MATCH (n:${named(label.name)})
WITH n, concat_ws('\\n', ${texts.join(", ")}) AS texts, CASE WHEN ${isSpoken.join(" OR ")} THEN 100 ELSE 0 END AS spoken
WITH n, spoken + size(list_filter($words, w -> contains(texts, w))) AS hits
WHERE hits > 0 RETURN n ORDER BY hits DESC, ${IN_ORDER} LIMIT $limit`
}
