/**
 * The text of a definition with the places of its parts, and changes of single parts. A change is a splice: everything outside
 * of it, comments and layout included, stays as it was written. YAML contains JSON, so one reader serves both.
 */
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Node,
  type Pair,
  parseDocument,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml"

export interface Splice {
  readonly from: number
  readonly to: number
  readonly insert: string
}

export type Fields = Readonly<Record<string, unknown>>

export class Source {
  readonly text: string
  readonly isJson: boolean
  readonly root: YAMLMap | undefined

  constructor(text: string) {
    this.text = text
    this.isJson = text.trimStart().startsWith("{")
    const document: Document.Parsed = parseDocument(text, { logLevel: "silent", uniqueKeys: false })
    this.root = isMap(document.contents) ? document.contents : undefined
  }

  lineOf(offset: number): number {
    return this.text.slice(0, offset).split("\n").length
  }

  #lineStart(offset: number): number {
    return this.text.lastIndexOf("\n", offset - 1) + 1
  }

  #lineEnd(offset: number): number {
    const end = this.text.indexOf("\n", offset)
    return end < 0 ? this.text.length : end
  }

  /** What is before the offset in its line, as white space: where a line below it begins. */
  #column(offset: number): string {
    return this.text.slice(this.#lineStart(offset), offset).replace(/[^\t]/g, " ")
  }

  /** After the last character of a value; its comment and the lines below it are not part of it. */
  end(node: Node): number {
    const [, end = 0] = node.range ?? []
    const last = this.text.slice(0, end).trimEnd().length
    return Math.max(last, node.range?.[0] ?? 0)
  }

  start(node: Node): number {
    return node.range?.[0] ?? 0
  }

  /** Adds an item after the one with that index; -1: before all. */
  insertItem(list: YAMLSeq, after: number, item: Fields): Splice {
    const items = list.items as Node[]
    const before = items[after]
    if (list.flow === true) return this.#insertInFlow(list, before, item)
    if (before === undefined) {
      const first = items[0] as Node
      const dash = this.#dash(first)
      const indent = this.#column(dash)
      return { from: dash, to: dash, insert: `- ${this.#block(item, first, `${indent}  `)}\n${indent}` }
    }
    const indent = this.#column(this.#dash(before))
    const at = this.#lineEnd(this.end(before))
    return { from: at, to: at, insert: `\n${indent}- ${this.#block(item, before, `${indent}  `)}` }
  }

  #insertInFlow(list: YAMLSeq, before: Node | undefined, item: Fields): Splice {
    const [first] = list.items as Node[]
    if (before === undefined) {
      const at = this.start(list) + 1
      if (first === undefined) return { from: at, to: at, insert: this.#flow(item) }
      return { from: this.start(first), to: this.start(first), insert: `${this.#flow(item)}, ` }
    }
    const at = this.end(before)
    const indent = this.#column(this.start(before))
    const isOwnLine =
      this.text.slice(this.#lineStart(this.start(before)), this.start(before)).trim() === "" && indent !== ""
    if (!isOwnLine) return { from: at, to: at, insert: `, ${this.#flow(item)}` }
    const isTall = this.isJson && this.text.slice(this.start(before), at).includes("\n")
    const written = isTall ? JSON.stringify(item, null, 2).replaceAll("\n", `\n${indent}`) : this.#flow(item)
    return { from: at, to: at, insert: `,\n${indent}${written}` }
  }

  removeItem(list: YAMLSeq, index: number): Splice {
    const items = list.items as Node[]
    const item = items[index] as Node
    if (items.length === 1) return this.#emptied(list)
    if (list.flow === true) {
      const next = items[index + 1]
      if (next !== undefined) return { from: this.start(item), to: this.start(next), insert: "" }
      return { from: this.end(items[index - 1] as Node), to: this.end(item), insert: "" }
    }
    const from = this.#lineStart(this.#dash(item))
    return { from, to: Math.min(this.text.length, this.#lineEnd(this.end(item)) + 1), insert: "" }
  }

  /** A list without items is written as such: an empty block would be null. */
  #emptied(list: YAMLSeq): Splice {
    const first = list.items[0] as Node
    if (list.flow === true) return { from: this.start(first), to: this.end(first), insert: "" }
    const before = this.text.slice(0, this.#dash(first)).trimEnd().length
    return { from: before, to: this.end(first), insert: " []" }
  }

  #dash(item: Node): number {
    return this.text.lastIndexOf("-", this.start(item))
  }

  /** Adds a field as the last one of a mapping, or as its first. */
  insertField(map: YAMLMap, key: string, value: unknown, where: "first" | "last" = "last"): Splice {
    const pairs = map.items as Pair<Node, Node | null>[]
    const pair = where === "first" ? pairs[0] : pairs.at(-1)
    if (map.flow === true) {
      const written = `${this.#scalar(key)}: ${this.#flow(value)}`
      if (pair === undefined) {
        return { from: this.start(map), to: map.range?.[1] ?? 0, insert: `{ ${written} }` }
      }
      if (where === "first")
        return { from: this.start(pair.key), to: this.start(pair.key), insert: `${written}, ` }
      const at = this.#pairEnd(pair)
      const key_ = this.start(pair.key)
      const isOwnLine = this.text.slice(this.#lineStart(key_), key_).trim() === ""
      if (!isOwnLine) return { from: at, to: at, insert: `, ${written}` }
      const indent = this.#column(key_)
      const tall = `${this.#scalar(key)}: ${JSON.stringify(value, null, 2).replaceAll("\n", `\n${indent}`)}`
      return { from: at, to: at, insert: `,\n${indent}${this.isJson ? tall : written}` }
    }
    const first = pairs[0] as Pair<Node, Node | null>
    const indent = this.#column(this.start(first.key))
    const written = this.#pair(key, value, indent)
    if (where === "first")
      return { from: this.start(first.key), to: this.start(first.key), insert: `${written}\n${indent}` }
    const at = this.#lineEnd(this.#pairEnd(pair as Pair<Node, Node | null>))
    return { from: at, to: at, insert: `\n${indent}${written}` }
  }

  #pairEnd(pair: Pair<Node, Node | null>): number {
    return pair.value === null ? this.end(pair.key) : this.end(pair.value)
  }

  removeField(map: YAMLMap, key: string): Splice | undefined {
    const pairs = map.items as Pair<Node, Node | null>[]
    const index = pairs.findIndex((pair) => keyOf(pair) === key)
    const pair = pairs[index]
    if (pair === undefined) return undefined
    const next = pairs[index + 1]
    if (map.flow === true) {
      if (next !== undefined) return { from: this.start(pair.key), to: this.start(next.key), insert: "" }
      const before = pairs[index - 1]
      const from = before === undefined ? this.start(pair.key) : this.#pairEnd(before)
      return { from, to: this.#pairEnd(pair), insert: "" }
    }
    const from = this.#lineStart(this.start(pair.key))
    return { from, to: Math.min(this.text.length, this.#lineEnd(this.#pairEnd(pair)) + 1), insert: "" }
  }

  /** Puts another value in the place of one. */
  replace(node: Node, value: unknown): Splice {
    return { from: this.start(node), to: this.end(node), insert: this.#flow(value) }
  }

  /** Sets a field, which may be missing or null. */
  setField(map: YAMLMap, key: string, value: unknown): Splice {
    const pair = (map.items as Pair<Node, Node | null>[]).find((one) => keyOf(one) === key)
    if (pair === undefined) return this.insertField(map, key, value)
    if (pair.value !== null && this.end(pair.value) > this.start(pair.value))
      return this.replace(pair.value, value)
    const colon = this.text.indexOf(":", this.end(pair.key)) + 1
    return { from: colon, to: colon, insert: ` ${this.#flow(value)}` }
  }

  /** In the style of a neighbour: `{ a: b }` next to such, lines otherwise. */
  #block(fields: Fields, neighbour: Node, indent: string): string {
    if (isMap(neighbour) && neighbour.flow === true) return this.#flow(fields)
    return Object.entries(fields)
      .map(([key, value]) => this.#pair(key, value, indent))
      .join(`\n${indent}`)
  }

  #pair(key: string, value: unknown, indent: string): string {
    const name = this.#scalar(key)
    if (typeof value !== "object" || value === null || Object.keys(value).length === 0) {
      return `${name}: ${this.#flow(value)}`
    }
    const deeper = `${indent}  `
    if (Array.isArray(value)) {
      if (value.every((one) => typeof one !== "object")) return `${name}: ${this.#flow(value)}`
      const items = value.map((one) => `${deeper}- ${this.#lines(one as Fields, `${deeper}  `)}`)
      return `${name}:\n${items.join("\n")}`
    }
    return `${name}:\n${deeper}${this.#lines(value as Fields, deeper)}`
  }

  #lines(fields: Fields, indent: string): string {
    return Object.entries(fields)
      .map(([key, value]) => this.#pair(key, value, indent))
      .join(`\n${indent}`)
  }

  #flow(value: unknown): string {
    if (Array.isArray(value)) return `[${value.map((one) => this.#flow(one)).join(", ")}]`
    if (typeof value === "object" && value !== null) {
      const fields = Object.entries(value).map(([key, one]) => `${this.#scalar(key)}: ${this.#flow(one)}`)
      return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`
    }
    return typeof value === "string" ? this.#scalar(value) : JSON.stringify(value)
  }

  #scalar(text: string): string {
    // `true` and `false` are fields of a condition, and are written plainly as keys by everybody.
    const isPlain = !this.isJson && /^[A-Za-z_][\w.-]*(?: [\w.-]+)*$/.test(text) && !RESERVED.test(text)
    return isPlain || (!this.isJson && /^(?:true|false)$/.test(text)) ? text : JSON.stringify(text)
  }
}

const RESERVED = /^(?:null|yes|no|on|off|y|n)$/i

/** The text after all splices, which do not overlap; those at one place are in their order. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let changed = text
  for (const { from, to, insert } of splices.toReversed().sort((a, b) => b.from - a.from)) {
    changed = changed.slice(0, from) + insert + changed.slice(to)
  }
  return changed
}

function keyOf({ key }: Pair): string {
  return isScalar(key) ? String(key.value) : ""
}

export function fieldOf(node: unknown, key: string): Node | undefined {
  if (!isMap(node)) return undefined
  const pair = (node.items as Pair<Node, Node | null>[]).find((one) => keyOf(one) === key)
  return pair?.value ?? undefined
}

export function listOf(node: unknown): YAMLSeq | undefined {
  return isSeq(node) ? node : undefined
}

export function mapOf(node: unknown): YAMLMap | undefined {
  return isMap(node) ? node : undefined
}

/** The mappings of a list. */
export function rowsOf(node: unknown): readonly YAMLMap[] {
  return isSeq(node) ? node.items.filter((one): one is YAMLMap => isMap(one)) : []
}

export function textOf(node: unknown, key: string): string | undefined {
  const value = fieldOf(node, key)
  return isScalar(value) && typeof value.value === "string" ? value.value : undefined
}

export function namesOf(map: YAMLMap | undefined): readonly string[] {
  return map === undefined ? [] : map.items.map(keyOf)
}

/** All strings below a node, in order. */
export function* scalarsIn(node: unknown): Generator<Scalar<string>> {
  if (isScalar(node)) {
    if (typeof node.value === "string") yield node as Scalar<string>
  } else if (isPair(node)) yield* scalarsIn(node.value)
  else if (!isAlias(node) && (isMap(node) || isSeq(node))) {
    for (const one of node.items) yield* scalarsIn(one)
  }
}
