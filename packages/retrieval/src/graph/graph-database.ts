/** A graph of nodes and relationships that a model may query in Cypher, and that is searched along its relationships. */
import { isSuperstepError, type Json } from "@superstep/engine"
import type { AskOptions, Column, QueryOptions, QueryResult } from "@superstep/engine/patterns"
import { clipped } from "@superstep/engine/text"

/** Queries that a model writes can only read, within limits. */
export interface GraphDatabase {
  readonly id: string
  /** The name for people. */
  readonly name: string
  schema(options?: AskOptions): Promise<GraphSchema>
  query(cypher: string, options?: GraphQueryOptions): Promise<QueryResult>
  /** Nodes whose texts contain words of the question, or occur in the question. The most likely ones are first. */
  find(question: GraphQuestion, options: GraphFindOptions): Promise<readonly PropertyGraphNode[]>
  /** The relationships of nodes, in both directions. */
  relationships(
    nodes: readonly PropertyGraphNode[],
    options: GraphFindOptions,
  ): Promise<readonly GraphRelationship[]>
  close(): Promise<void>
}

export interface GraphQueryOptions extends QueryOptions {
  /** Values for `$name` in the query. */
  readonly params?: Readonly<Record<string, Json>> | undefined
}

export interface GraphQuestion {
  /** In lower case. */
  readonly text: string
  /** The significant words, in lower case. Empty: any nodes. */
  readonly words: readonly string[]
  /** Only nodes with one of these labels. Default: all. */
  readonly labels?: readonly string[] | undefined
}

export interface GraphFindOptions extends AskOptions {
  readonly limit: number
  /** Called with the name of a part of the graph that was skipped because its scan took too long. */
  readonly onLate?: ((part: string) => void) | undefined
}

export interface GraphSchema {
  readonly labels: readonly GraphLabel[]
  readonly relationships: readonly GraphRelationshipType[]
}

export interface GraphLabel {
  readonly name: string
  readonly properties: readonly Column[]
}

export interface GraphRelationshipType {
  readonly type: string
  readonly properties: readonly Column[]
  /** The labels at its ends. */
  readonly between: readonly (readonly [from: string, to: string])[]
}

export interface PropertyGraphNode {
  readonly id: string
  readonly labels: readonly string[]
  readonly properties: Readonly<Record<string, Json>>
}

export interface GraphRelationship {
  readonly id: string
  readonly type: string
  readonly from: PropertyGraphNode
  readonly to: PropertyGraphNode
  readonly properties: Readonly<Record<string, Json>>
}

/** Quotes a name for a built-in query. */
export function quotedName(name: string): string {
  return `\`${name.replaceAll("`", "``")}\``
}

/** Maximum text properties to search per label. */
const MAX_TEXTS = 12

/** Text properties, those that are likely names first. */
export function textProperties({ properties }: GraphLabel): string[] {
  return properties
    .filter(({ type }) => type.toUpperCase().split(" | ").includes("STRING"))
    .map(({ name }) => name)
    .sort((a, b) => rankOfName(a) - rankOfName(b))
    .slice(0, MAX_TEXTS)
}

const NAMES = ["name", "title", "fullname", "label", "code", "id", "key"]

/** The lower the rank, the more likely the property is a name. */
function rankOfName(property: string): number {
  const plain = property.toLowerCase().replace(/[^a-z]/g, "")
  const rank = NAMES.indexOf(plain)
  if (rank >= 0) return rank
  return plain.endsWith("name") || plain.endsWith("title") ? NAMES.length : NAMES.length + 1
}

export function isNaming(property: string): boolean {
  return rankOfName(property) <= NAMES.length
}

/**
 * Collects results from the parts of a graph, by name. A part that is too slow is skipped and reported, if another part
 * has results; otherwise an empty result would be a wrong answer.
 */
export async function collectInTime(
  parts: readonly (readonly [part: string, find: () => Promise<readonly PropertyGraphNode[]>])[],
  { onLate }: Pick<GraphFindOptions, "onLate">,
): Promise<PropertyGraphNode[]> {
  const searches = parts.map(async ([part, find]) => {
    try {
      return { part, found: await find() }
    } catch (error) {
      return { part, error }
    }
  })
  const found = new Map<string, PropertyGraphNode>()
  const late: { part: string; error: unknown }[] = []
  for (const search of await Promise.all(searches)) {
    if ("found" in search) for (const node of search.found) found.set(node.id, node)
    else if (isLate(search.error)) late.push(search)
    else throw search.error
  }
  if (found.size === 0 && late[0] !== undefined) throw late[0].error
  for (const { part } of late) onLate?.(part)
  return [...found.values()]
}

function isLate(error: unknown): boolean {
  return isSuperstepError(error) && error.code === "QUERY_TIMEOUT"
}

// Renders a graph as text for a prompt: a node with its relationships, one fact per line, and the schema as Cypher
// patterns.

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

interface LeftOut {
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
