/** Our own queries of a Ladybug graph: what is in it, nodes by their texts, their relationships. */
import type { Json } from "@superstep/engine"
import type { Column, QueryResult } from "@superstep/engine/patterns"
import { foundInTime } from "./found-in-time.ts"
import { quoted, textProperties } from "./graph-cypher.ts"
import type {
  GraphFindOptions,
  GraphLabel,
  GraphNode,
  GraphQuestion,
  GraphRelationship,
  GraphRelationshipType,
  GraphSchema,
} from "./graph-database.ts"

export type AskLadybug = (
  cypher: string,
  params: Readonly<Record<string, Json>>,
  signal: AbortSignal | undefined,
) => Promise<QueryResult>

export class LadybugSearch {
  readonly #ask: AskLadybug
  /** The file is open for reading, and stays as it was when it was opened. */
  #known: GraphSchema | undefined

  constructor(ask: AskLadybug) {
    this.#ask = ask
  }

  async schema(signal: AbortSignal | undefined): Promise<GraphSchema> {
    if (this.#known !== undefined) return this.#known
    const { rows } = await this.#ask("CALL show_tables() RETURN name, type ORDER BY name", {}, signal)
    const labels: GraphLabel[] = []
    const relationships: GraphRelationshipType[] = []
    for (const [name, type] of rows as [string, string][]) {
      const properties = await this.#columns(name, signal)
      if (type === "NODE") labels.push({ name, properties })
      if (type === "REL") {
        relationships.push({ type: name, properties, between: await this.#between(name, signal) })
      }
    }
    this.#known = { labels, relationships }
    return this.#known
  }

  async find(question: GraphQuestion, options: GraphFindOptions): Promise<GraphNode[]> {
    const { limit, signal } = options
    const { text, words } = question
    const { labels } = await this.schema(signal)
    const wanted = labels.filter(({ name }) => question.labels?.includes(name) ?? true)
    const nodes = async (cypher: string, params: Parameters<AskLadybug>[1]) => {
      const { rows } = await this.#ask(cypher, params, signal)
      return rows.map(([node]) => node as unknown as GraphNode)
    }
    const parts =
      words.length === 0
        ? wanted.map(({ name }) => [name, () => nodes(some(name), { limit })] as const)
        : wanted
            .filter((label) => textProperties(label).length > 0)
            .map(
              (label) => [label.name, () => nodes(scan(label), { text, words: [...words], limit })] as const,
            )
    return foundInTime(parts, options)
  }

  async relationships(
    nodes: readonly GraphNode[],
    { limit, signal }: GraphFindOptions,
  ): Promise<GraphRelationship[]> {
    if (nodes.length === 0) return []
    const ids = nodes.map(({ id }) => `internal_id(${id.split(":").map(Number).join(", ")})`)
    const { rows } = await this.#ask(
      `MATCH (n)-[r]-(m) WHERE id(n) IN [${ids.join(", ")}]
RETURN n, r, m ORDER BY offset(id(r)), cast(id(r) AS STRING) LIMIT $rows`,
      // Between two of the nodes it is found from both ends.
      { rows: 2 * limit },
      signal,
    )
    const found = rows.map((row) => relationshipOf(row as unknown as FoundRow))
    return [...new Map(found.map((one) => [one.id, one])).values()].slice(0, limit)
  }

  async #columns(table: string, signal: AbortSignal | undefined): Promise<Column[]> {
    const { rows } = await this.#ask(`CALL table_info(${literal(table)}) RETURN name, type`, {}, signal)
    return (rows as [string, string][]).map(([name, type]) => ({ name, type }))
  }

  async #between(table: string, signal: AbortSignal | undefined): Promise<[string, string][]> {
    const { rows } = await this.#ask(
      `CALL show_connection(${literal(table)}) RETURN \`source table name\` AS source, \`destination table name\` AS destination ORDER BY source, destination`,
      {},
      signal,
    )
    return rows as [string, string][]
  }
}

/** Procedures of Ladybug take no parameters. */
function literal(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`
}

/** Backquotes are in names in pairs only, and Ladybug takes these as they are. */
function named(name: string): string {
  return /^(?:[^`]|``)*$/.test(name) ? `\`${name}\`` : quoted(name)
}

type FoundRow = readonly [
  GraphNode,
  Readonly<Record<"id" | "type" | "from" | "to", string>> & { properties: Record<string, Json> },
  GraphNode,
]

function relationshipOf([node, { id, type, from, properties }, other]: FoundRow): GraphRelationship {
  const isFrom = node.id === from
  return { id, type, from: isFrom ? node : other, to: isFrom ? other : node, properties }
}

/** Ladybug answers with several threads: without an order, another each time. */
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
