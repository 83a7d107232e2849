/**
 * Renders a graph as text for a prompt: a node with its relationships, one fact per line, and the schema as Cypher
 * patterns.
 */
import type { Json } from "@superstep/engine"
import type { Column } from "@superstep/engine/patterns"
import { clipped } from "@superstep/engine/text"
import {
  type GraphRelationship,
  type GraphSchema,
  isNaming,
  type PropertyGraphNode,
  quotedName,
  rankOfName,
} from "./graph-database.ts"

const MAX_VALUE = 300
const MAX_PROPERTIES = 2_000
const MAX_TEXT = 6_000

/** The name that a person would use. */
export function nodeName({ id, labels, properties }: PropertyGraphNode): string {
  const named = Object.entries(properties)
    .filter(([, value]) => (typeof value === "string" && value.trim() !== "") || typeof value === "number")
    .sort(
      ([a, x], [b, y]) =>
        rankOfName(a) - rankOfName(b) || Number(typeof x !== "string") - Number(typeof y !== "string"),
    )
  const [first] = named
  const isName = first !== undefined && (typeof first[1] === "string" || isNaming(first[0]))
  return isName ? clippedLine(String(first[1]), 80) : `${labels[0] ?? "node"} ${id}`
}

export interface LeftOut {
  /** Whether more relationships exist. */
  readonly isTruncated: boolean
  /** Parts of the graph that were skipped. */
  readonly late: readonly string[]
}

/** The node, then its relationships, nearest first. */
export function graphText(
  node: PropertyGraphNode,
  around: readonly GraphRelationship[],
  { isTruncated, late }: LeftOut,
): string {
  const lines = [`${nodeName(node)} (${labelsOf(node)})${propertiesText(node.properties)}`]
  const described = new Set([node.id])
  let length = lines[0]?.length ?? 0
  let isShort = isTruncated
  for (const { type, from, to, properties } of around) {
    const line = `${end(from, described)} -[${oneLine(type)}${propertiesText(properties)}]-> ${end(to, described)}`
    length += line.length + 1
    if (length > MAX_TEXT) {
      isShort = true
      break
    }
    lines.push(line)
  }
  if (isShort) lines.push("(More relationships exist but are not shown.)")
  if (late.length > 0) {
    lines.push(`(Skipped after a timeout: ${clippedLine(late.join(", "), MAX_VALUE)}.)`)
  }
  return lines.join("\n")
}

/** The name of a node, with its other properties on the first mention. */
function end(node: PropertyGraphNode, described: Set<string>): string {
  const name = nodeName(node)
  if (described.has(node.id)) return name
  described.add(node.id)
  return `${name} (${labelsOf(node)})${propertiesText(node.properties)}`
}

function labelsOf({ labels }: PropertyGraphNode): string {
  return labels.map(oneLine).join(", ") || "node"
}

function propertiesText(properties: Readonly<Record<string, Json>>): string {
  const known = Object.entries(properties).filter(([, value]) => value !== null && value !== "")
  if (known.length === 0) return ""
  const all: string[] = []
  let length = 0
  for (const [name, value] of known) {
    const one = `${clippedLine(name, MAX_VALUE)}: ${shown(value)}`
    length += one.length
    if (length > MAX_PROPERTIES) {
      all.push("…")
      break
    }
    all.push(one)
  }
  return ` {${all.join(", ")}}`
}

function shown(value: Json): string {
  return clippedLine(typeof value === "string" ? value : JSON.stringify(value), MAX_VALUE)
}

function clippedLine(text: string, most: number): string {
  return clipped(oneLine(text), most)
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim()
}

// The schema, for a model that writes a query.

const MAX_LINES = 200
const MAX_LISTED_PROPERTIES = 40
const MAX_PAIRS = 10

/** Empty for a graph without nodes. */
export function graphSchemaText({ labels, relationships }: GraphSchema): string {
  const nodes = labels.map(({ name, properties }) => `(:${nameText(name)}${typesText(properties)})`)
  const edges = relationships.flatMap(({ type, properties, between }) => {
    const edge = `[:${nameText(type)}${typesText(properties)}]`
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

function typesText(properties: readonly Column[]): string {
  if (properties.length === 0) return ""
  const shown = properties
    .slice(0, MAX_LISTED_PROPERTIES)
    .map(({ name, type }) => `${nameText(name)}: ${type}`)
  return ` {${[...shown, ...(properties.length > MAX_LISTED_PROPERTIES ? ["…"] : [])].join(", ")}}`
}

/** The name as a query must write it. */
function nameText(name: string): string {
  const line = name.replace(/\s+/g, " ")
  return /^[A-Za-z_]\w*$/.test(line) ? line : quotedName(line)
}
