/** What is in a graph, as Cypher patterns for a model that writes a query. */
import type { Column } from "@superstep/engine/patterns"
import { type GraphSchema, quotedName } from "./graph-database.ts"

const MAX_LINES = 200
const MAX_PROPERTIES = 40
const MAX_PAIRS = 10

/** Empty for a graph without nodes. */
export function graphSchemaText({ labels, relationships }: GraphSchema): string {
  const nodes = labels.map(({ name, properties }) => `(:${nameText(name)}${propertiesText(properties)})`)
  const edges = relationships.flatMap(({ type, properties, between }) => {
    const edge = `[:${nameText(type)}${propertiesText(properties)}]`
    const pairs = between.length === 0 ? [["", ""] as const] : between.slice(0, MAX_PAIRS)
    return pairs.map(([from, to]) => `${endText(from)}-${edge}->${endText(to)}`)
  })
  const lines = [...nodes, ...edges]
  if (lines.length <= MAX_LINES) return lines.join("\n")
  return [...lines.slice(0, MAX_LINES), `… and ${lines.length - MAX_LINES} more`].join("\n")
}

function endText(label: string): string {
  return label === "" ? "()" : `(:${nameText(label)})`
}

function propertiesText(properties: readonly Column[]): string {
  if (properties.length === 0) return ""
  const shown = properties.slice(0, MAX_PROPERTIES).map(({ name, type }) => `${nameText(name)}: ${type}`)
  return ` {${[...shown, ...(properties.length > MAX_PROPERTIES ? ["…"] : [])].join(", ")}}`
}

/** As a query has to write it. */
function nameText(name: string): string {
  const line = name.replace(/\s+/g, " ")
  return /^[A-Za-z_]\w*$/.test(line) ? line : quotedName(line)
}
