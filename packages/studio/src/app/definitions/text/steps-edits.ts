/** Edits of a steps file. Steps run in the order of their list; a `goto` and the branches of a condition lead elsewhere. */
import { isScalar, type YAMLMap, type YAMLSeq } from "yaml"
import type { Edit } from "./edit.ts"
import { nodeOf, type Outline, type OutlineNode, stepsOf } from "./outline.ts"
import { type Fields, fieldOf, listOf, mapOf, type Splice, scalarsIn, textOf } from "./source.ts"

/** The splices, or in words why it cannot be. */
type Made = readonly Splice[] | string

export function editSteps(outline: Outline, edit: Edit): Made {
  switch (edit.kind) {
    case "add":
      return add(outline, edit)
    case "connect":
      return connect(outline, edit)
    case "disconnect":
      return disconnect(outline, edit)
    case "rename":
      return rename(outline, edit)
    case "delete":
      return remove(outline, edit.node)
  }
}

function newStep({ id, type, agent }: Extract<Edit, { kind: "add" }>): Fields {
  switch (type) {
    case "agent":
      return { id, type, name: agent ?? id }
    case "human":
      return { id, type, prompt: "What should happen next?" }
    case "wait":
      return { id, type, signal: id }
    case "condition":
      return { id, type, condition: "{{ $input != '' }}", true: [], false: [] }
    case "parallel":
      return { id, type, steps: [{ id: `${id}_1`, type: "human", prompt: "What should happen next?" }] }
    default:
      return { id, type }
  }
}

function add({ source, ...outline }: Outline, edit: Extract<Edit, { kind: "add" }>): Made {
  const root = source.root as YAMLMap
  const step = newStep(edit)
  const { place = "after" } = edit
  if (edit.node === undefined) {
    const list = stepsOf(root)
    if (list !== undefined && (list.items.length > 0 || list.flow === true)) {
      return [source.insertItem(list, list.items.length - 1, step)]
    }
    const workflow = mapOf(fieldOf(root, "workflow"))
    return [
      workflow === undefined
        ? source.setField(root, "workflow", [step])
        : source.setField(workflow, "steps", [step]),
    ]
  }
  const node = nodeOf({ source, ...outline }, edit.node)
  if (node === undefined) return unknown(edit.node)
  if (place === "after") {
    if (node.list === undefined) return `${node.id} is the only step of its map. Write steps instead of step.`
    return [source.insertItem(node.list, node.list.items.indexOf(node.item), step)]
  }
  const field = place === "inside" ? "steps" : place
  const isPossible =
    place === "inside" ? node.type === "parallel" || node.type === "map" : node.type === "condition"
  if (!isPossible) return `${node.id} has no ${place === "inside" ? "steps inside" : "branches"}.`
  const list = listOf(fieldOf(node.item, field))
  if (list === undefined || (list.items.length === 0 && list.flow !== true)) {
    return [source.setField(node.item, field, [step])]
  }
  return [source.insertItem(list, place === "inside" ? list.items.length - 1 : -1, step)]
}

function connect(outline: Outline, { from, to }: Extract<Edit, { kind: "connect" }>): Made {
  const [a, b] = [nodeOf(outline, from), nodeOf(outline, to)]
  if (a === undefined) return unknown(from)
  if (b === undefined) return unknown(to)
  const { source } = outline
  const jump = { goto: localId(b.id) }
  if (a.type === "condition") {
    for (const branch of ["true", "false"] as const) {
      const list = listOf(fieldOf(a.item, branch))
      if (list === undefined || list.items.length === 0) return [source.setField(a.item, branch, [jump])]
    }
    return `Both branches of ${a.id} have steps. Connect the last step of a branch instead.`
  }
  if (a.list === undefined) return `${a.id} runs once for each item of its map; nothing can follow it there.`
  const index = a.list.items.indexOf(a.item)
  const next = a.list.items[index + 1]
  if (next === undefined) return [source.insertItem(a.list, index, jump)]
  if (isGoto(next)) return [source.setField(next as YAMLMap, "goto", jump.goto)]
  if (next === b.item) return `${b.id} follows ${a.id} already: it is the next step.`
  return `${a.id} continues with the step after it. Add a condition after ${a.id} to choose between two ways.`
}

function disconnect(outline: Outline, { from, to }: Extract<Edit, { kind: "disconnect" }>): Made {
  const [a, b] = [nodeOf(outline, from), nodeOf(outline, to)]
  if (a === undefined || b === undefined) return "The start and the end follow from the order of the steps."
  const { source } = outline
  const lists: readonly (readonly [YAMLSeq | undefined, number])[] =
    a.type === "condition"
      ? [
          [listOf(fieldOf(a.item, "true")), 0],
          [listOf(fieldOf(a.item, "false")), 0],
        ]
      : [[a.list, (a.list?.items.indexOf(a.item) ?? -2) + 1]]
  for (const [list, index] of lists) {
    const item = list?.items[index]
    if (list !== undefined && isGoto(item) && String(gotoOf(item as YAMLMap)) === localId(b.id)) {
      return [source.removeItem(list, index)]
    }
  }
  return `Steps run in their order: ${b.id} follows ${a.id} because it comes next. Delete or add a step instead.`
}

function rename(outline: Outline, { node: id, to }: Extract<Edit, { kind: "rename" }>): Made {
  const node = nodeOf(outline, id)
  if (node === undefined) return unknown(id)
  const { source } = outline
  const old = localId(node.id)
  const own = fieldOf(node.item, "id")
  const first: Splice =
    own === undefined ? source.insertField(node.item, "id", to, "first") : source.replace(own, to)
  return [first, ...references(outline, own, old, to)]
}

/** What names the step: gotos, and templates anywhere in the file. */
function references({ source, nodes }: Outline, own: unknown, old: string, to: string): readonly Splice[] {
  const gotos = nodes.flatMap(({ item }) => {
    const target = fieldOf(item, "goto")
    return isScalar(target) && target.value === old ? [source.replace(target, to)] : []
  })
  const done = new Set(gotos.map(({ from }) => from))
  const word = old.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const pattern = new RegExp(
    `(\\$steps\\.|\\.outputs\\.)${word}(?![\\w-])|(\\$steps\\[["'])${word}(?=["']\\])`,
    "g",
  )
  const isName = /^[A-Za-z_][\w-]*$/.test(to)
  const inText = [...scalarsIn(source.root)].flatMap((scalar) => {
    const from = source.start(scalar)
    if (scalar === own || done.has(from)) return []
    const end = source.end(scalar)
    const written = source.text.slice(from, end)
    return [...written.matchAll(pattern)].map((match): Splice => {
      const at = from + match.index
      const head = match[1] ?? match[2] ?? ""
      // A name that is no word is written in brackets.
      const insert = isName || match[2] !== undefined ? head + to : `${head.slice(0, -1)}['${to}']`
      return { from: at, to: at + match[0].length, insert }
    })
  })
  return [...gotos, ...inText]
}

function remove(outline: Outline, id: string): Made {
  const node = nodeOf(outline, id)
  if (node === undefined) return unknown(id)
  const { source, nodes } = outline
  if (node.list === undefined) return `${node.id} is the only step of its map. Delete the map instead.`
  const items = [{ list: node.list, item: node.item }]
  for (const { item, list, type } of nodes) {
    const isInside = source.start(item) >= node.from && source.end(item) <= node.to
    if (type === "goto" && list !== undefined && !isInside && gotoOf(item) === localId(node.id)) {
      items.push({ list, item })
    }
  }
  return removals(outline, items)
}

function removals(
  { source }: Outline,
  items: readonly { readonly list: YAMLSeq; readonly item: YAMLMap }[],
): Made {
  const byList = new Map<YAMLSeq, YAMLMap[]>()
  for (const { list, item } of items) byList.set(list, [...(byList.get(list) ?? []), item])
  return [...byList].flatMap(([list, gone]): readonly Splice[] => {
    if (gone.length === list.items.length && gone.length > 1) return [source.replace(list, [])]
    return gone.map((item) => source.removeItem(list, list.items.indexOf(item)))
  })
}

function isGoto(item: unknown): boolean {
  return (
    mapOf(item) !== undefined &&
    fieldOf(item, "goto") !== undefined &&
    (textOf(item, "type") ?? "goto") === "goto"
  )
}

function gotoOf(item: YAMLMap): unknown {
  const target = fieldOf(item, "goto")
  return isScalar(target) ? target.value : undefined
}

/** The id as the file has it, without those of the blocks around it. */
function localId(id: string): OutlineNode["id"] {
  return id.slice(id.lastIndexOf("/") + 1)
}

function unknown(id: string): string {
  return `${id} is not in the text. Fix the problems of the text first.`
}
