/** Edits of a graph file: rows of nodes and edges, in either spelling of their fields. */
import { isScalar, type Scalar, type YAMLMap, type YAMLSeq } from "yaml"
import type { Edit } from "./edit.ts"
import { nodeOf, type Outline } from "./outline.ts"
import { type Fields, fieldOf, listOf, rowsOf, type Splice, textOf } from "./source.ts"

type Made = readonly Splice[] | string

export function editGraph(outline: Outline, edit: Edit): Made {
  const graph = new GraphRows(outline)
  switch (edit.kind) {
    case "add":
      return graph.add(edit)
    case "connect":
      return graph.connect(edit)
    case "disconnect":
      return graph.disconnect(edit)
    case "rename":
      return graph.rename(edit)
    case "delete":
      return graph.remove(edit.node)
  }
}

/** Fields of a node that list other nodes. */
const LISTS = ["branches", "options", "nodes"]
/** Fields of a node and of an edge whose expressions may begin with the name of a node. */
const EXPRESSIONS = ["condition", "conditionValue", "decide", "loop_condition"]

class GraphRows {
  readonly #outline: Outline
  readonly #root: YAMLMap
  readonly #edges: YAMLSeq | undefined
  /** Rows of a database: nodeType, sourceNodeId. Otherwise: type, from_node. */
  readonly #isRows: boolean

  constructor(outline: Outline) {
    this.#outline = outline
    this.#root = outline.source.root as YAMLMap
    this.#edges = listOf(fieldOf(this.#root, "edges"))
    this.#isRows =
      outline.nodes.some(({ item }) => fieldOf(item, "nodeType") !== undefined) ||
      fieldOf(this.#root, "entrypointNodeId") !== undefined
  }

  add({ id, type, agent, node: after }: Extract<Edit, { kind: "add" }>): Made {
    const { source } = this.#outline
    const list = listOf(fieldOf(this.#root, "nodes")) as YAMLSeq
    const row = this.#node(id, type, agent ?? id)
    if (after === undefined) {
      return list.items.length === 0 && list.flow !== true
        ? [source.setField(this.#root, "nodes", [row])]
        : [source.insertItem(list, list.items.length - 1, row)]
    }
    const before = nodeOf(this.#outline, after)
    if (before === undefined) return unknown(after)
    const added = [source.insertItem(list, list.items.indexOf(before.item), row)]
    const leaving = this.#rows().filter((edge) => this.#from(edge) === before.id)
    const only = leaving.find((edge) => this.#isAlways(edge))
    // In the middle of a line of nodes, it takes the place of the next one.
    if (only === undefined || leaving.length > 1) return [...added, this.#insert([this.#edge(before.id, id)])]
    const target = this.#target(only)
    const next = target === undefined ? null : String(target.value ?? "")
    const moved =
      target === undefined
        ? source.setField(only, this.#isRows ? "targetNodeId" : "to_node", id)
        : source.replace(target, id)
    return [...added, moved, this.#insert([this.#edge(id, next === "" ? null : next)])]
  }

  connect({ from, to, condition }: Extract<Edit, { kind: "connect" }>): Made {
    const [a, b] = [nodeOf(this.#outline, from), nodeOf(this.#outline, to)]
    if (a === undefined) return unknown(from)
    if (b === undefined) return unknown(to)
    const isThere = this.#rows().some((edge) => this.#from(edge) === a.id && this.#to(edge) === b.id)
    if (isThere && (condition ?? "") === "") return `There is an edge from ${a.id} to ${b.id} already.`
    return [this.#insert([this.#edge(a.id, b.id, condition === "" ? undefined : condition)])]
  }

  disconnect({ from, to }: Extract<Edit, { kind: "disconnect" }>): Made {
    const gone = this.#rows().filter((edge) => this.#from(edge) === from && (this.#to(edge) ?? "") === to)
    if (gone.length === 0)
      return `The edge from ${from} to ${to} follows from a node; change the node instead.`
    return this.#without(gone)
  }

  rename({ node: id, to }: Extract<Edit, { kind: "rename" }>): Made {
    const node = nodeOf(this.#outline, id)
    if (node === undefined) return unknown(id)
    const { source } = this.#outline
    const names = [...this.#mentions(node.id)].map((scalar) => source.replace(scalar, to))
    const word = node.id.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
    const pattern = new RegExp(`(?<![\\w.$"'-])${word}(?=\\.)`, "g")
    const rows = [...this.#outline.nodes.map(({ item }) => item), ...this.#rows()]
    const inText = rows.flatMap((row) =>
      EXPRESSIONS.flatMap((key) => {
        const value = fieldOf(row, key)
        if (!isScalar(value) || typeof value.value !== "string") return []
        const from = source.start(value)
        const written = source.text.slice(from, source.end(value))
        return [...written.matchAll(pattern)].map((match) => ({
          from: from + match.index,
          to: from + match.index + match[0].length,
          insert: to,
        }))
      }),
    )
    return [...names, ...inText]
  }

  remove(id: string): Made {
    const node = nodeOf(this.#outline, id)
    if (node?.list === undefined) return unknown(id)
    const { source } = this.#outline
    const gone = this.#rows().filter((edge) => this.#from(edge) === node.id || this.#to(edge) === node.id)
    const listed = [this.#root, ...this.#outline.nodes.map(({ item }) => item)].flatMap((row) =>
      (row === this.#root ? ["exits"] : row === node.item ? [] : LISTS).flatMap((key) => {
        const list = listOf(fieldOf(row, key))
        const index = list?.items.findIndex((one) => isScalar(one) && one.value === node.id) ?? -1
        return list === undefined || index < 0 ? [] : [source.removeItem(list, index)]
      }),
    )
    return [
      source.removeItem(node.list, node.list.items.indexOf(node.item)),
      ...this.#without(gone),
      ...listed,
    ]
  }

  #rows(): readonly YAMLMap[] {
    return rowsOf(this.#edges)
  }

  #from(edge: YAMLMap): string | undefined {
    return textOf(edge, "sourceNodeId") ?? textOf(edge, "from_node")
  }

  #to(edge: YAMLMap): string | undefined {
    return textOf(edge, "targetNodeId") ?? textOf(edge, "to_node")
  }

  #target(edge: YAMLMap): Scalar | undefined {
    const value = fieldOf(edge, "targetNodeId") ?? fieldOf(edge, "to_node")
    return isScalar(value) ? value : undefined
  }

  #isAlways(edge: YAMLMap): boolean {
    const condition = fieldOf(edge, this.#isRows ? "conditionValue" : "condition")
    return (
      textOf(edge, "conditionType") !== "CONDITIONAL" &&
      (condition === undefined || (isScalar(condition) && (condition.value ?? "") === ""))
    )
  }

  #insert(edges: readonly Fields[]): Splice {
    const { source } = this.#outline
    const list = this.#edges
    if (list === undefined || (list.items.length === 0 && list.flow !== true)) {
      return source.setField(this.#root, "edges", edges)
    }
    return source.insertItem(list, list.items.length - 1, edges[0] as Fields)
  }

  #without(gone: readonly YAMLMap[]): readonly Splice[] {
    const { source } = this.#outline
    const list = this.#edges
    if (list === undefined || gone.length === 0) return []
    if (gone.length === list.items.length && gone.length > 1) return [source.replace(list, [])]
    return gone.map((edge) => source.removeItem(list, list.items.indexOf(edge)))
  }

  #node(id: string, type: string, agent: string): Fields {
    const own = textOf(this.#root, "id")
    const head = this.#isRows
      ? { id, ...(own !== undefined && { workflowId: own }), nodeType: type.toUpperCase(), nodeName: id }
      : { id, type }
    if (type === "agent") return { ...head, [this.#isRows ? "agentId" : "agent_id"]: agent }
    if (type === "wait") return { ...head, signal: id }
    return head
  }

  #edge(from: string, to: string | null, condition?: string): Fields {
    if (!this.#isRows) {
      return { from_node: from, to_node: to, ...(condition !== undefined && { condition }) }
    }
    const own = textOf(this.#root, "id")
    const ids = new Set(this.#rows().map((edge) => textOf(edge, "id")))
    let n = ids.size + 1
    while (ids.has(`e${n}`)) n++
    return {
      id: `e${n}`,
      ...(own !== undefined && { workflowId: own }),
      sourceNodeId: from,
      targetNodeId: to,
      conditionType: condition === undefined ? "ALWAYS" : "CONDITIONAL",
      conditionValue: condition ?? null,
    }
  }

  /** The places that have the id of a node. */
  *#mentions(id: string): Generator<Scalar> {
    const fields: (readonly [row: YAMLMap, keys: readonly string[]])[] = [
      [this.#root, ["entrypointNodeId", "entry"]],
      ...this.#outline.nodes.map(({ item }) => [item, ["id"]] as const),
      ...this.#rows().map(
        (edge) => [edge, ["sourceNodeId", "targetNodeId", "from_node", "to_node"]] as const,
      ),
    ]
    for (const [row, keys] of fields) {
      for (const key of keys) {
        const value = fieldOf(row, key)
        if (isScalar(value) && value.value === id) yield value
      }
    }
    for (const row of [this.#root, ...this.#outline.nodes.map(({ item }) => item)]) {
      for (const key of row === this.#root ? ["exits"] : LISTS) {
        for (const one of listOf(fieldOf(row, key))?.items ?? []) {
          if (isScalar(one) && one.value === id) yield one
        }
      }
    }
  }
}

function unknown(id: string): string {
  return `${id} is not in the text. Fix the problems of the text first.`
}
