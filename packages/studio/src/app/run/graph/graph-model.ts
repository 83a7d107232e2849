/** The graph of a workflow as nodes and edges to draw. Joins and switches are edges with labels, not boxes of their own. */

import { nodeTitle, passesTurns } from "@superstep/engine/core"

/** What the server sends as a graph. It is untrusted input: only what is checked here is used. */
export interface GraphModel {
  readonly name: string
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly GraphEdge[]
  /** The JSON Schema of the input, if the first node declares one. */
  readonly input: unknown
}

export interface GraphNode {
  readonly id: string
  /** What people see: its name, or its id in words. */
  readonly title: string
  /** The explicit one. */
  readonly name?: string | undefined
  readonly kind: string
  readonly description: string | undefined
  /** The worker of a map: it runs once per item. */
  readonly isWorker: boolean
  readonly nested: GraphModel | undefined
}

export interface GraphEdge {
  /** Undefined: the start. */
  readonly from: string | undefined
  /** Undefined: the output. */
  readonly to: string | undefined
  readonly kind: "plain" | "conditional" | "join" | "map" | "error" | "limit"
  readonly label: string
  /** The edge of the journal, if the graph has nodes in between that are not drawn. */
  readonly taken?: { readonly from: string | undefined; readonly to: string | undefined } | undefined
}

type Data = { readonly [name: string]: unknown }

const MAX_DEPTH = 8

export function graphModel(data: unknown, depth = 0): GraphModel {
  const { name, start, nodes, edges, outputs, onLimit } = record(data)
  const list = array(nodes).map(record)
  const groups = array(edges).map(record)
  const workers = new Set(groups.flatMap(({ kind, worker }) => (kind === "map" ? [String(worker)] : [])))
  const made = list.map(
    ({ id, kind, name: explicit, description, nested }): GraphNode => ({
      ...named(String(id), typeof kind === "string" ? kind : "node", explicit),
      description: typeof description === "string" ? description : undefined,
      isWorker: workers.has(String(id)),
      nested: nested === undefined || depth >= MAX_DEPTH ? undefined : graphModel(nested, depth + 1),
    }),
  )
  const first = typeof start === "string" ? start : made[0]?.id
  const between = groups.flatMap(edgesOf)
  const leaving = new Set(between.map(({ from }) => from))
  const out = Array.isArray(outputs)
    ? outputs.map(String)
    : made.filter(({ id, isWorker }) => !leaving.has(id) && !isWorker).map(({ id }) => id)
  const all: GraphEdge[] = [
    ...(first === undefined ? [] : [{ from: undefined, to: first, kind: "plain" as const, label: "" }]),
    ...between,
    ...out
      .filter((id) => !workers.has(id) && !between.some(({ from, to }) => from === id && to === undefined))
      .map((from) => ({ from, to: undefined, kind: "plain" as const, label: "" })),
    ...(typeof onLimit === "string"
      ? [{ from: undefined, to: onLimit, kind: "limit" as const, label: "at a limit" }]
      : []),
  ]
  // Such a node ends its team by an output of its own, which is no edge.
  for (const { id } of made.filter(passesTurns))
    all.push({ from: id, to: undefined, kind: "conditional", label: "END" })
  const inputs = array(list.find(({ id }) => id === first)?.input)
  return {
    name: String(name ?? ""),
    nodes: made,
    edges: merged(all),
    input: inputs.length === 1 ? inputs[0] : undefined,
  }
}

function named(
  id: string,
  kind: string,
  explicit: unknown,
): Pick<GraphNode, "id" | "kind" | "name" | "title"> {
  const node = { id, kind, ...(typeof explicit === "string" && { name: explicit }) }
  const title = nodeTitle(node as Parameters<typeof nodeTitle>[0])
  // A manager decides whose turn it is, or nobody that the author knows.
  return passesTurns(node)
    ? { ...node, title, kind: node.name === undefined ? "decision" : "agent" }
    : { ...node, title }
}

function record(value: unknown): Data {
  return typeof value === "object" && value !== null ? (value as Data) : {}
}

function array(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function edgesOf(group: Data): GraphEdge[] {
  const { kind, from, to, label, conditional, selective, max } = group
  const text = typeof label === "string" ? label : ""
  const cap = typeof max === "number" ? `at most ${max}` : ""
  switch (kind) {
    case "single":
      return [
        {
          from: String(from),
          to: String(to),
          kind: conditional === true ? "conditional" : "plain",
          label: words(text || (conditional === true ? "when" : ""), cap),
        },
      ]
    case "error":
      return [{ from: String(from), to: String(to), kind: "error", label: "error" }]
    case "fan-out":
      return array(to).map((one) => ({
        from: String(from),
        to: String(one),
        kind: selective === true ? ("conditional" as const) : ("plain" as const),
        label: text,
      }))
    case "fan-in":
      return array(from).map((one) => ({
        from: String(one),
        to: String(to),
        kind: "join" as const,
        label: joinLabel(group),
      }))
    case "switch":
      return array(group.cases)
        .map(record)
        .map((one) => ({
          from: String(from),
          to: one.to === undefined ? undefined : String(one.to),
          kind: "conditional" as const,
          label: words(
            typeof one.label === "string" ? one.label : one.conditional === true ? "when" : "otherwise",
            typeof one.max === "number" ? `at most ${one.max}` : "",
          ),
        }))
    case "map":
      return [
        { from: String(from), to: String(group.worker), kind: "map", label: "each item" },
        {
          from: String(group.worker),
          to: to === undefined ? undefined : String(to),
          kind: "map",
          label: "all results",
        },
      ]
    default:
      return []
  }
}

function joinLabel({ join }: Data): string {
  const { kind, count } = record(join)
  return kind === "all" || kind === undefined ? "" : kind === "quorum" ? `first ${count}` : String(kind)
}

function words(...parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join(", ")
}

/** Several cases of a switch may lead to the same node: one line with all their labels. */
function merged(edges: readonly GraphEdge[]): GraphEdge[] {
  const found = new Map<string, GraphEdge>()
  for (const edge of edges) {
    const key = JSON.stringify([edge.from ?? null, edge.to ?? null, edge.kind])
    const known = found.get(key)
    found.set(
      key,
      known === undefined
        ? edge
        : { ...known, label: [...new Set([known.label, edge.label])].filter(Boolean).join(" or ") },
    )
  }
  return [...found.values()]
}
