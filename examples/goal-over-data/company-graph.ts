/** The company's people, projects and sites as a graph: in a Ladybug file if Ladybug is installed, else in memory. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import {
  type GraphDatabase,
  type GraphRelationship,
  graphRetriever,
  ladybugGraph,
  type PropertyGraphNode,
} from "@superstep/retrieval"
import type { Retriever } from "superstep/patterns"

export interface CompanyGraph {
  readonly retriever: Retriever
  /** Where it is stored. */
  readonly kept: string
  close(): Promise<void>
}

interface Connected {
  readonly from: string
  readonly type: string
  readonly to: string
}

interface GraphData {
  /** Rows by label, each with a name. */
  readonly nodes: ReadonlyMap<string, readonly Readonly<Record<string, string>>[]>
  readonly relationships: readonly Connected[]
}

interface GraphOptions {
  /** The path of the Ladybug file. */
  readonly path: string
  /** A folder with @ladybugdb/core installed. Default: this one. */
  readonly packagesOf?: string | undefined
}

export function companyGraph({ path, packagesOf = import.meta.dirname }: GraphOptions): CompanyGraph {
  const data = readGraph()
  const isInstalled = hasLadybug(packagesOf)
  if (isInstalled) writeLadybug(packagesOf, path, statements(data))
  const graph: GraphDatabase = isInstalled
    ? ladybugGraph({ id: "company", path, packagesOf })
    : memoryGraph("company", data)
  const kept = isInstalled ? "a Ladybug file" : "memory, as @ladybugdb/core is not installed"
  return { retriever: graphRetriever(graph), kept, close: () => graph.close() }
}

function readGraph(): GraphData {
  const rows = (file: string) => {
    const text = readFileSync(join(import.meta.dirname, "graph", file), "utf8").trim()
    const [columns = [], ...lines] = text.split("\n").map((line) => line.split(","))
    return lines.map((line) => Object.fromEntries(columns.map((name, i) => [name, line[i] ?? ""])))
  }
  return {
    nodes: new Map([
      ["Person", rows("people.csv")],
      ["Project", rows("projects.csv")],
      ["Site", rows("sites.csv")],
    ]),
    relationships: rows("relationships.csv") as unknown as Connected[],
  }
}

function hasLadybug(folder: string): boolean {
  try {
    createRequire(join(folder, "package.json")).resolve("@ladybugdb/core")
    return true
  } catch {
    return false
  }
}

/** In a separate process: in this one, Ladybug would write to the file again when its objects are garbage-collected. */
function writeLadybug(packagesOf: string, path: string, statements: readonly string[]): void {
  const script = `const { Connection, Database } = require("@ladybugdb/core")
    const database = new Database(${JSON.stringify(path)})
    const connection = new Connection(database)
    for (const statement of ${JSON.stringify(statements)}) connection.querySync(statement).close()
    connection.closeSync()
    database.closeSync()`
  execFileSync(process.execPath, ["-"], { cwd: packagesOf, input: script })
}

function statements({ nodes, relationships }: GraphData): string[] {
  const made: string[] = []
  const labelOf = new Map<string, string>()
  for (const [label, rows] of nodes) {
    const columns = Object.keys(rows[0] ?? { name: "" })
    const types = columns.map((name) => `${name} STRING${name === "name" ? " PRIMARY KEY" : ""}`)
    made.push(`CREATE NODE TABLE ${label}(${types.join(", ")})`)
    for (const row of rows) {
      labelOf.set(row.name ?? "", label)
      const values = Object.entries(row).map(([name, value]) => `${name}: ${literal(value)}`)
      made.push(`CREATE (:${label} {${values.join(", ")}})`)
    }
  }
  const types = new Map(relationships.map((one) => [one.type, one]))
  for (const { type, from, to } of types.values()) {
    made.push(`CREATE REL TABLE ${type}(FROM ${labelOf.get(from)} TO ${labelOf.get(to)})`)
  }
  for (const { from, type, to } of relationships) {
    const match = `(a:${labelOf.get(from)} {name: ${literal(from)}}), (b:${labelOf.get(to)} {name: ${literal(to)}})`
    made.push(`MATCH ${match} CREATE (a)-[:${type}]->(b)`)
  }
  return [...made, "CHECKPOINT"]
}

function literal(text: string): string {
  return `'${text.replace(/[\\']/g, "\\$&")}'`
}

/** A small graph in memory, searched like any other. It accepts no Cypher. */
function memoryGraph(id: string, { nodes, relationships }: GraphData): GraphDatabase {
  const all: PropertyGraphNode[] = [...nodes].flatMap(([label, rows]) =>
    rows.map((properties) => ({ id: `${label}:${properties.name}`, labels: [label], properties })),
  )
  const named = new Map(all.map((node) => [node.properties.name, node]))
  const nodeOf = (name: string) => {
    const node = named.get(name)
    if (node === undefined) throw new Error(`There is no "${name}" in the graph.`)
    return node
  }
  const edges: GraphRelationship[] = relationships.map(({ from, type, to }, i) => ({
    id: String(i),
    type,
    from: nodeOf(from),
    to: nodeOf(to),
    properties: {},
  }))
  return {
    id,
    name: id,
    async schema() {
      const text = (name: string) => ({ name, type: "STRING" })
      const labels = [...nodes].map(([name, [row = {}]]) => ({
        name,
        properties: Object.keys(row).map(text),
      }))
      const types = [...new Set(edges.map(({ type }) => type))]
      return { labels, relationships: types.map((type) => ({ type, properties: [], between: [] })) }
    },
    query: () => Promise.reject(new Error("A graph in memory accepts no Cypher: install @ladybugdb/core.")),
    async find({ text, words, labels }, { limit }) {
      const hits = (node: PropertyGraphNode) => {
        const values = Object.values(node.properties).map((value) => String(value).toLowerCase())
        const isSpoken = values.some((value) => value.length > 1 && text.includes(value))
        return (
          (isSpoken ? 100 : 0) + words.filter((word) => values.some((value) => value.includes(word))).length
        )
      }
      return all
        .filter((node) => labels === undefined || node.labels.some((label) => labels.includes(label)))
        .map((node) => ({ node, hits: hits(node) }))
        .filter((found) => words.length === 0 || found.hits > 0)
        .sort((a, b) => b.hits - a.hits)
        .slice(0, limit)
        .map(({ node }) => node)
    },
    async relationships(of, { limit }) {
      const ids = new Set(of.map((node) => node.id))
      return edges.filter(({ from, to }) => ids.has(from.id) || ids.has(to.id)).slice(0, limit)
    },
    close: async () => {},
  }
}
