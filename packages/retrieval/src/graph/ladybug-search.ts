/** Our own queries of a Ladybug graph: what is in it, nodes by their texts, their relationships. */
import type { Json } from "@superstep/engine"
import type { AskOptions, QueryResult } from "@superstep/engine/patterns"
import {
  foundInTime,
  type GraphDatabase,
  type GraphLabel,
  type GraphRelationship,
  type GraphRelationshipType,
  type GraphSchema,
  type PropertyGraphNode,
  quotedName,
  textProperties,
} from "./graph-database.ts"

export type AskLadybug = (
  cypher: string,
  params: Readonly<Record<string, Json>>,
  signal: AbortSignal | undefined,
) => Promise<QueryResult>

export function ladybugSearch(ask: AskLadybug): Pick<GraphDatabase, "schema" | "find" | "relationships"> {
  /** The file is open for reading, and stays as it was when it was opened. */
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
      return foundInTime(parts, options)
    },

    async relationships(nodes, { limit, signal }) {
      if (nodes.length === 0) return []
      const ids = nodes.map(({ id }) => `internal_id(${id.split(":").map(Number).join(", ")})`)
      const { rows } = await ask(
        `MATCH (n)-[r]-(m) WHERE id(n) IN [${ids.join(", ")}]
RETURN n, r, m ORDER BY offset(id(r)), cast(id(r) AS STRING) LIMIT $rows`,
        // Between two of the nodes it is found from both ends.
        { rows: 2 * limit },
        signal,
      )
      const found = rows.map((row) => relationshipOf(row as unknown as FoundRow))
      return [...new Map(found.map((one) => [one.id, one])).values()].slice(0, limit)
    },
  }
}

/** Procedures of Ladybug take no parameters. */
function literal(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`
}

/** Backquotes are in names in pairs only, and Ladybug takes these as they are. */
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
