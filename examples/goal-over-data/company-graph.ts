/** The company's people, projects and sites as a graph: in a Ladybug file where Ladybug is installed, else in memory. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { type GraphDatabase, graphRetriever, ladybugGraph } from "@superstep/retrieval"
import type { Retriever } from "superstep/patterns"
import { memoryGraph } from "./memory-graph.ts"
import { writeLadybug } from "./write-ladybug.ts"

export interface CompanyGraph {
  readonly retriever: Retriever
  /** What it is in. */
  readonly kept: string
  close(): Promise<void>
}

export interface Connected {
  readonly from: string
  readonly type: string
  readonly to: string
}

export interface GraphData {
  /** By label: rows, each with a name. */
  readonly nodes: ReadonlyMap<string, readonly Readonly<Record<string, string>>[]>
  readonly relationships: readonly Connected[]
}

interface GraphOptions {
  /** Where a Ladybug file is written. */
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
