/**
 * Converts the nodes of the yaml package to data with offsets. Anchors, aliases and merge keys are resolved here, in the
 * order of the text, and limited by the size that they add. The package counts uses instead, and searches the whole
 * document for each.
 */
import {
  type Alias,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  type Pair,
  type Scalar,
  type YAMLMap,
  type YAMLSeq,
} from "yaml"
import { nearest } from "../text/index.ts"
import type { SourceReport } from "./diagnostic.ts"
import {
  CHARACTERS_PER_VALUE,
  depthOf,
  MAX_DEPTH,
  type Range,
  type ReadResult,
  sizeOf,
  throughAlias,
  type Written,
  type WrittenAlias,
  type WrittenEntry,
  type WrittenList,
  type WrittenMap,
  type WrittenScalar,
  writtenList,
  writtenMap,
} from "./written.ts"
import { composeYaml } from "./yaml-syntax.ts"

/** Maximum values that aliases and merge keys may add to the written ones. */
const MAX_ALIASED = 100_000

export function readYaml(text: string, report: SourceReport): ReadResult {
  const { document, sound } = composeYaml(text, report)
  const contents = document?.contents ?? undefined
  if (contents === undefined || isEmpty(contents)) return { root: undefined, sound }
  const reader = new YamlReader(text, report)
  const root = reader.read(contents)
  return { root, sound: sound && reader.isWhole }
}

/** Whether there is only white space and comments. */
function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.value === null && (node.source ?? "") === "" && node.tag === undefined
}

class YamlReader {
  /** False if something was omitted because of its size. */
  isWhole = true
  readonly #text: string
  readonly #report: SourceReport
  readonly #anchors = new Map<string, WrittenAlias["target"]>()
  /** Anchors whose value is being read: an alias to one of them would be recursive. */
  readonly #open = new Set<string>()
  #aliased = 0
  #depth = 0

  constructor(text: string, report: SourceReport) {
    this.#text = text
    this.#report = report
  }

  read(node: unknown): Written {
    if (isAlias(node)) return this.#alias(node)
    const anchor = isScalar(node) || isMap(node) || isSeq(node) ? node.anchor : undefined
    if (anchor !== undefined) this.#open.add(anchor)
    const written = this.#value(node)
    if (anchor !== undefined) {
      this.#open.delete(anchor)
      this.#anchors.set(anchor, written)
    }
    return written
  }

  #value(node: unknown): WrittenAlias["target"] {
    if (isMap(node) || isSeq(node)) {
      this.#depth++
      const written = isMap(node) ? this.#map(node) : this.#list(node)
      this.#depth--
      return written
    }
    if (isScalar(node)) return this.#scalar(node)
    // The package omits a value only after errors.
    return nothing({ start: 0, end: 0 })
  }

  #scalar(node: Scalar): WrittenScalar {
    const { start, end } = rangeOf(node)
    const { value } = node
    if (typeof value === "number") {
      this.#report.checkNumber(value, node.source ?? String(value), start, end)
      return { start, end, kind: "scalar", style: "plain", value: Number.isFinite(value) ? value : null }
    }
    if (typeof value === "string")
      return { start, end, kind: "scalar", style: STYLES.get(node.type) ?? "plain", value }
    return { start, end, kind: "scalar", style: "plain", value: typeof value === "boolean" ? value : null }
  }

  #list(node: YAMLSeq): WrittenList {
    const { start, end } = rangeOf(node)
    const items = node.items.map((item) => (isPair(item) ? this.#lonePair(item) : this.read(item)))
    return writtenList(start, end, items)
  }

  /** `[a: 1]`: a mapping with one entry. */
  #lonePair(pair: Pair): Written {
    const entries = new Map<string, WrittenEntry>()
    this.#entry(pair, entries)
    const [entry] = entries.values()
    return writtenMap(entry?.key.start ?? 0, entry?.value.end ?? 0, entries)
  }

  #map(node: YAMLMap): WrittenMap {
    const { start, end } = rangeOf(node)
    const entries = new Map<string, WrittenEntry>()
    const merges: { readonly key: Range; readonly value: Written }[] = []
    for (const pair of node.items) {
      if (isMergeKey(pair.key)) merges.push({ key: rangeOf(pair.key), value: this.read(pair.value) })
      else this.#entry(pair, entries)
    }
    // Written entries take precedence over merged ones, wherever the merge key is.
    for (const { key, value } of merges) this.#merge(entries, key, value)
    return writtenMap(start, end, entries)
  }

  #entry(pair: Pair, entries: Map<string, WrittenEntry>): void {
    const key = rangeOf(pair.key)
    const name = this.#keyName(pair.key, key)
    const value = this.#valueOf(pair, key)
    if (name === undefined) return
    const first = entries.get(name)
    if (first === undefined) entries.set(name, { key, value })
    else this.#report.duplicateKey(name, key, first.key)
  }

  /** An empty value has the position of its key, because there is nothing after the colon. */
  #valueOf(pair: Pair, key: Range): Written {
    const value = this.read(pair.value)
    return value.kind === "scalar" && value.value === null && value.start >= value.end ? nothing(key) : value
  }

  /** The key as written: `1`, `yes` and `null` are names, too. */
  #keyName(key: unknown, range: Range): string | undefined {
    const written = this.read(key)
    const scalar = throughAlias(written)
    if (scalar.kind !== "scalar") {
      const template =
        this.#text.startsWith("{{", range.start - 1) || this.#text.startsWith("{{", range.start)
      const message = template
        ? "YAML reads {{ as the start of a mapping. Put the template in quotes."
        : "A key must be a string; this is a list or a mapping."
      this.#report.error("KEY_NOT_TEXT", message, range.start, range.end)
      return undefined
    }
    if (typeof scalar.value === "string") return scalar.value
    const source = this.#text.slice(scalar.start, scalar.end)
    if (source !== "") return source
    this.#report.error("KEY_NOT_TEXT", "A key is missing before the colon.", range.start, range.end)
    return undefined
  }

  #alias(node: Alias): Written {
    const range = rangeOf(node)
    const target = this.#anchors.get(node.source)
    if (this.#open.has(node.source)) {
      const message = `*${node.source} is inside &${node.source}: the value would contain itself.`
      this.#report.error("ALIAS_CYCLE", message, range.start, range.end)
      return nothing(range)
    }
    if (target === undefined) {
      const message = `There is no anchor &${node.source} above. If this is a string, put it in quotes.`
      const meant = this.#report.isFull ? undefined : nearest(node.source, this.#anchors.keys())
      const suggestion = meant === undefined ? undefined : `*${meant}`
      this.#report.error("UNKNOWN_ANCHOR", message, range.start, range.end, suggestion)
      return nothing(range)
    }
    return this.#mayAdd(target, range) ? { ...range, kind: "alias", target } : nothing(range)
  }

  #merge(entries: Map<string, WrittenEntry>, key: Range, value: Written): void {
    const source = throughAlias(value)
    const sources = source.kind === "list" ? source.items.map(throughAlias) : [source]
    for (const one of sources) {
      if (one.kind !== "map") {
        this.#report.error("YAML_SYNTAX", "`<<` takes a mapping, or a list of mappings.", key.start, key.end)
        return
      }
      for (const [name, entry] of one.entries) {
        if (!entries.has(name) && this.#mayAdd(entry.value, key)) entries.set(name, entry)
      }
    }
  }

  #mayAdd(value: Written, range: Range): boolean {
    this.#aliased += sizeOf(value)
    if (this.#aliased > MAX_ALIASED) {
      this.isWhole = false
      // Reported once, because every later alias is refused as well.
      if (this.#aliased - sizeOf(value) <= MAX_ALIASED) {
        const most = `${MAX_ALIASED} values, or ${(MAX_ALIASED * CHARACTERS_PER_VALUE) / 1_000_000} MB of text`
        const message = `Aliases expand to more than ${most}. Use fewer aliases or smaller anchors.`
        this.#report.error("ALIAS_LIMIT", message, range.start, range.end)
      }
      return false
    }
    if (this.#depth + depthOf(value) <= MAX_DEPTH) return true
    this.isWhole = false
    const message = `With this merge, lists and mappings are nested deeper than ${MAX_DEPTH} levels.`
    this.#report.error("TOO_DEEP", message, range.start, range.end)
    return false
  }
}

function nothing(range: Range): WrittenScalar {
  return { ...range, kind: "scalar", style: "plain", value: null }
}

function rangeOf(node: unknown): Range {
  const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : undefined
  return { start: range?.[0] ?? 0, end: range?.[1] ?? 0 }
}

function isMergeKey(key: unknown): boolean {
  return isScalar(key) && key.value === "<<" && key.type === "PLAIN"
}

const STYLES = new Map<unknown, WrittenScalar["style"]>([
  ["BLOCK_FOLDED", "block"],
  ["BLOCK_LITERAL", "block"],
  ["QUOTE_SINGLE", "single"],
  ["QUOTE_DOUBLE", "double"],
])
