/**
 * The nodes of a graph in the text that defines it: which part of the text each one is. A step without an id has the id that the
 * loader gives it, and the part of a block that joins its branches belongs to the block.
 */
import { isScalar, type Node, type YAMLMap, type YAMLSeq } from "yaml"
import { fieldOf, listOf, mapOf, namesOf, rowsOf, Source, textOf } from "./source.ts"

export interface OutlineNode {
  /** As in the graph: `block/step`, `map/*`. */
  readonly id: string
  readonly type: string
  readonly line: number
  readonly from: number
  readonly to: number
  readonly item: YAMLMap
  /** The list that has it; undefined: the only step of a map. */
  readonly list: YAMLSeq | undefined
}

export interface Outline {
  readonly source: Source
  readonly dialect: "steps" | "graph"
  /** In the order of the text. */
  readonly nodes: readonly OutlineNode[]
  readonly agents: readonly string[]
}

/** Undefined if the text is neither steps nor a graph. */
export function outlineOf(text: string): Outline | undefined {
  const source = new Source(text)
  const { root } = source
  if (root === undefined) return undefined
  const agents = agentsOf(root)
  const nodes: OutlineNode[] = []
  const add = (id: string, type: string, item: YAMLMap, list: YAMLSeq | undefined) => {
    const from = source.start(item)
    nodes.push({ id, type, item, list, line: source.lineOf(from), from, to: source.end(item) })
  }
  if (listOf(fieldOf(root, "nodes")) !== undefined) {
    const list = listOf(fieldOf(root, "nodes"))
    for (const row of rowsOf(list)) {
      const id = textOf(row, "id")
      const type = textOf(row, "type") ?? textOf(row, "nodeType") ?? ""
      if (id !== undefined) add(id, type.toLowerCase(), row, list)
    }
    return { source, dialect: "graph", nodes, agents }
  }
  if (!namesOf(root).includes("workflow")) return undefined
  const list = stepsOf(root)
  if (list !== undefined) addSteps(list, "", new Ids(list), add)
  return { source, dialect: "steps", nodes, agents }
}

/** The first list of steps of a file. */
export function stepsOf(root: YAMLMap): YAMLSeq | undefined {
  const workflow = fieldOf(root, "workflow")
  return listOf(workflow) ?? listOf(fieldOf(workflow, "steps"))
}

function agentsOf(root: YAMLMap): readonly string[] {
  const agents = fieldOf(root, "agents")
  const rows = rowsOf(agents).flatMap((row) => textOf(row, "id") ?? [])
  return rows.length > 0 ? rows : namesOf(mapOf(agents))
}

type Add = (id: string, type: string, item: YAMLMap, list: YAMLSeq | undefined) => void

function addSteps(list: YAMLSeq, prefix: string, ids: Ids, add: Add): void {
  for (const item of rowsOf(list)) addStep(item, list, prefix, ids, add)
}

function addStep(item: YAMLMap, list: YAMLSeq | undefined, prefix: string, ids: Ids, add: Add): void {
  const type = typeOf(item)
  const path = prefix + ids.next(type, item)
  add(path, type, item, list)
  const steps = listOf(fieldOf(item, "steps"))
  switch (type) {
    case "condition":
      for (const branch of ["true", "false"]) {
        const inner = listOf(fieldOf(item, branch))
        if (inner !== undefined) addSteps(inner, prefix, ids, add)
      }
      return
    case "parallel":
      if (steps !== undefined) addSteps(steps, `${path}/`, new Ids(steps), add)
      return
    case "map": {
      const only = mapOf(fieldOf(item, "step"))
      if (only !== undefined) {
        // The loader makes one node of a step that one node can run.
        if (isOneNode(only)) add(`${path}/*`, typeOf(only), only, undefined)
        else addStep(only, undefined, `${path}/*/`, new Ids(undefined), add)
      } else if (steps !== undefined) addSteps(steps, `${path}/*/`, new Ids(steps), add)
    }
  }
}

function typeOf(item: YAMLMap): string {
  return textOf(item, "type") ?? (fieldOf(item, "goto") === undefined ? "" : "goto")
}

function isOneNode(item: YAMLMap): boolean {
  if (fieldOf(item, "when") !== undefined || textOf(item, "on_error") === "continue") return false
  const type = typeOf(item)
  if (type === "workflow" || type === "team" || type === "research")
    return fieldOf(item, "timeout") === undefined
  return ["agent", "human", "wait", "tool", "function"].includes(type)
}

/** The ids of one scope, as the loader gives them. */
class Ids {
  readonly #written = new Set<string>()
  readonly #used = new Set<string>()
  readonly #counts = new Map<string, number>()

  constructor(list: YAMLSeq | undefined) {
    const look = (node: Node | undefined): void => {
      for (const item of rowsOf(node)) {
        const id = textOf(item, "id")
        if (id !== undefined) this.#written.add(id)
        look(fieldOf(item, "true"))
        look(fieldOf(item, "false"))
      }
    }
    look(list)
  }

  next(type: string, item: YAMLMap): string {
    const id = fieldOf(item, "id")
    if (isScalar(id)) {
      this.#used.add(String(id.value))
      return String(id.value)
    }
    const names: Readonly<Record<string, string | undefined>> = {
      agent: textOf(item, "name"),
      tool: textOf(item, "tool"),
      function: textOf(item, "module")?.split("#")[1],
      workflow: textOf(item, "file")?.replace(/^.*[\\/]|\.[^.]*$/g, ""),
    }
    const base = (names[type] || type).replace(FORBIDDEN, "_").replace(/^_+$/, type)
    let free = base
    let n = this.#counts.get(base) ?? 1
    while (this.#written.has(free) || this.#used.has(free)) free = `${base}_${++n}`
    this.#counts.set(base, n)
    this.#used.add(free)
    return free
  }
}

/** Characters that separate the parts of paths. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are not allowed in names.
const FORBIDDEN = /[/?#*\u0000-\u001f]/g

export function idProblem(id: string): string | undefined {
  if (id.trim() === "") return "Enter a name."
  if (id === "__proto__") return `A node cannot be called ${id}.`
  return id.search(FORBIDDEN) < 0 ? undefined : "A name has none of / ? # * and no control characters."
}

/** The node of a graph in the text. What joins the branches of a block, and what decides about a step, belongs to it. */
export function nodeOf({ nodes }: Outline, id: string): OutlineNode | undefined {
  const written = id.replace(/(?:#\w+|\?)$/, "")
  return nodes.find((one) => one.id === written)
}

/** The innermost node whose text has the offset, or whose first line it is on. */
export function nodeAtOffset({ nodes, source }: Outline, offset: number): OutlineNode | undefined {
  let found: OutlineNode | undefined
  for (const node of nodes) {
    const line = source.text.lastIndexOf("\n", node.from - 1) + 1
    const starts = /^[\s-]*$/.test(source.text.slice(line, node.from)) ? line : node.from
    const end = source.text.indexOf("\n", node.to)
    if (starts <= offset && offset <= (end < 0 ? source.text.length : end)) found = node
  }
  return found
}
