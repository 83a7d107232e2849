/** What is in a Neo4j database, by a sample of each label and type: Neo4j has no list of properties. */
import type { Json } from "@superstep/engine"
import type { Column } from "@superstep/engine/patterns"
import { quoted } from "./graph-cypher.ts"
import type { GraphLabel, GraphRelationshipType, GraphSchema } from "./graph-database.ts"
import type { Neo4j } from "./neo4j-sessions.ts"
import { typeOf } from "./neo4j-values.ts"

/** One of our own queries: each row as Neo4j gives it. */
export type Ask = (cypher: string, params?: Readonly<Record<string, Json>>) => Promise<readonly unknown[][]>

export interface FullTextIndex {
  readonly name: string
  readonly labels: readonly string[]
  readonly properties: readonly string[]
}

const SAMPLE = 50
/** Of labels and types past these only the names are told. */
const MOST_SAMPLED = 200

export async function neo4jSchema(neo4j: Neo4j, ask: Ask): Promise<GraphSchema> {
  const labels = await names(ask, "CALL db.labels() YIELD label RETURN label ORDER BY label")
  const types = await names(
    ask,
    "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType ORDER BY relationshipType",
  )
  const schema = { labels: [] as GraphLabel[], relationships: [] as GraphRelationshipType[] }
  for (const [index, name] of labels.entries()) {
    const rows =
      index < MOST_SAMPLED ? await ask(`MATCH (n:${quoted(name)}) RETURN properties(n) LIMIT ${SAMPLE}`) : []
    schema.labels.push({
      name,
      properties: columns(
        neo4j,
        rows.map(([values]) => values),
      ),
    })
  }
  for (const [index, type] of types.entries()) {
    const sample = `MATCH (a)-[r:${quoted(type)}]->(b) RETURN properties(r), labels(a), labels(b) LIMIT ${SAMPLE}`
    const rows = index < MOST_SAMPLED ? await ask(sample) : []
    schema.relationships.push({
      type,
      properties: columns(
        neo4j,
        rows.map(([values]) => values),
      ),
      between: pairs(rows),
    })
  }
  return schema
}

/** Indexes of texts of nodes, by which they are found faster and better. */
export async function fullTextIndexes(ask: Ask): Promise<FullTextIndex[]> {
  const rows = await ask(
    "SHOW FULLTEXT INDEXES YIELD name, entityType, labelsOrTypes, properties, state WHERE entityType = 'NODE' AND state = 'ONLINE' RETURN name, labelsOrTypes, properties ORDER BY name",
  )
  return (rows as [string, string[], string[]][]).map(([name, labels, properties]) => ({
    name,
    labels,
    properties,
  }))
}

async function names(ask: Ask, cypher: string): Promise<string[]> {
  return (await ask(cypher)).map(([name]) => name as string)
}

function columns(neo4j: Neo4j, samples: readonly unknown[]): Column[] {
  const types = new Map<string, Set<string>>()
  for (const sample of samples) {
    for (const [name, value] of Object.entries(sample as Record<string, unknown>)) {
      const known = types.get(name) ?? new Set()
      types.set(name, known.add(typeOf(neo4j, value)))
    }
  }
  return [...types]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, all]) => ({ name, type: [...all].sort().join(" | ") }))
}

function pairs(rows: readonly unknown[][]): (readonly [string, string])[] {
  const found = new Map<string, readonly [string, string]>()
  for (const [, from, to] of rows) {
    for (const a of from as string[]) {
      for (const b of to as string[]) found.set(JSON.stringify([a, b]), [a, b])
    }
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair)
}
