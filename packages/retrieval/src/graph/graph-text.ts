/** A node with what is around it, as text for a prompt: one line a fact. */
import type { Json } from "@superstep/engine"
import { isNaming, rankOfName } from "./graph-cypher.ts"
import type { GraphNode, GraphRelationship } from "./graph-database.ts"

const MOST_VALUE = 300
const MOST_TEXT = 6_000

/** What a person would call it. */
export function nameOf({ id, labels, properties }: GraphNode): string {
  const named = Object.entries(properties)
    .filter(([, value]) => (typeof value === "string" && value.trim() !== "") || typeof value === "number")
    .sort(
      ([a, x], [b, y]) =>
        rankOfName(a) - rankOfName(b) || Number(typeof x !== "string") - Number(typeof y !== "string"),
    )
  const [first] = named
  const isName = first !== undefined && (typeof first[1] === "string" || isNaming(first[0]))
  return isName ? clipped(String(first[1]), 80) : `${labels[0] ?? "node"} ${id}`
}

/** The node itself, then its relationships, those nearest first. `isCut`: there are more of them. */
export function graphText(node: GraphNode, around: readonly GraphRelationship[], isCut: boolean): string {
  const lines = [`${nameOf(node)} (${labelsOf(node)})${told(node.properties)}`]
  const described = new Set([node.id])
  let length = lines[0]?.length ?? 0
  let isShort = isCut
  for (const { type, from, to, properties } of around) {
    const line = `${end(from, described)} -[${oneLine(type)}${told(properties)}]-> ${end(to, described)}`
    length += line.length + 1
    if (length > MOST_TEXT) {
      isShort = true
      break
    }
    lines.push(line)
  }
  if (isShort) lines.push("(There are more relationships, which are not shown.)")
  return lines.join("\n")
}

/** What it is called, and the first time what else is known of it. */
function end(node: GraphNode, described: Set<string>): string {
  const name = nameOf(node)
  if (described.has(node.id)) return name
  described.add(node.id)
  return `${name} (${labelsOf(node)})${told(node.properties)}`
}

function labelsOf({ labels }: GraphNode): string {
  return labels.map(oneLine).join(", ") || "node"
}

function told(properties: Readonly<Record<string, Json>>): string {
  const known = Object.entries(properties).filter(([, value]) => value !== null && value !== "")
  if (known.length === 0) return ""
  return ` {${known.map(([name, value]) => `${oneLine(name)}: ${shown(value)}`).join(", ")}}`
}

function shown(value: Json): string {
  return clipped(typeof value === "string" ? value : JSON.stringify(value), MOST_VALUE)
}

function clipped(text: string, most: number): string {
  const plain = oneLine(text)
  return plain.length > most ? `${plain.slice(0, most)}…` : plain
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim()
}
