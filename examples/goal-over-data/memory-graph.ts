/** A small graph in memory, searched like any other. It takes no Cypher. */
import type { GraphDatabase, GraphRelationship, PropertyGraphNode } from "@superstep/retrieval"
import type { GraphData } from "./company-graph.ts"

export function memoryGraph(id: string, { nodes, relationships }: GraphData): GraphDatabase {
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
    query: () => Promise.reject(new Error("A graph in memory takes no Cypher: install @ladybugdb/core.")),
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
