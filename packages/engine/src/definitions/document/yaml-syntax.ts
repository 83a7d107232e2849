/**
 * YAML text → the nodes of the yaml package, or the reasons why not. The text is fed to the package lexeme by
 * lexeme: what would exhaust the stack or the memory is refused before the nodes are made.
 */
import { Composer, type CST, type Document, Lexer, Parser, type YAMLError } from "yaml"
import type { SourceReport } from "./source-report.ts"
import { MAX_DEPTH, MAX_VALUES } from "./written.ts"
import { BAD_ESCAPE, inPlainWords } from "./yaml-errors.ts"

/** The package makes an error of each, and an error is slow to make: of more than this, one is told. */
const MOST_ESCAPES = 1_000
const ESCAPE = /\\(?:[0abefnrtvNLP_ "\\/\t\r\n]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})|\\/g

export interface ComposedYaml {
  readonly document: Document.Parsed | undefined
  readonly sound: boolean
}

export function composeYaml(text: string, report: SourceReport): ComposedYaml {
  const tokens = tokensOf(text, report)
  if (tokens === undefined) return { document: undefined, sound: false }
  const openings = new Openings()
  for (const token of tokens) {
    const deep = openings.read(token)
    if (deep !== undefined) {
      const message = `Lists and mappings are nested deeper than ${MAX_DEPTH} levels here.`
      report.error("TOO_DEEP", message, deep, deep + 1)
      return { document: undefined, sound: false }
    }
    const [start = 0] = openings.badEscapes
    if (openings.badEscapes.length > MOST_ESCAPES) {
      report.error("YAML_SYNTAX", BAD_ESCAPE, start, start + 2)
      return { document: undefined, sound: false }
    }
  }
  const composer = new Composer({
    schema: "core",
    merge: false,
    // The package compares every key with every other; ours are checked in one go.
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
  })
  const [document, second] = [...composer.compose(tokens, true, text.length)]
  if (document === undefined) return { document: undefined, sound: true }
  let sound = tell([...document.errors, ...document.warnings], openings, report)
  if (second !== undefined) {
    sound = false
    const start = startOf(second, text)
    const message = "A second document begins here. A file holds one: split it into several files."
    report.error("SEVERAL_DOCUMENTS", message, start, start + 3)
  }
  return { document, sound }
}

function tokensOf(text: string, report: SourceReport): CST.Token[] | undefined {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  let count = 0
  for (const lexeme of new Lexer().lex(text)) {
    if (++count > MAX_VALUES) {
      const message = `The file holds more than ${MAX_VALUES} signs, words and line breaks of YAML. Split it.`
      report.error("FILE_TOO_LARGE", message, 0, 1)
      return undefined
    }
    for (const token of parser.next(lexeme)) tokens.push(token)
  }
  for (const token of parser.end()) tokens.push(token)
  return tokens
}

/** The `---` that opens a document; the package's range begins behind it. */
function startOf(document: Document.Parsed, text: string): number {
  const content = document.range[0]
  const marker = text.lastIndexOf("---", content)
  return marker === -1 ? content : marker
}

/** One mistake often makes several errors on its line: the first is told. */
function tell(errors: readonly YAMLError[], openings: Openings, report: SourceReport): boolean {
  let sound = true
  const lines = new Set<number>()
  for (const error of errors) {
    if (error.name === "YAMLWarning" && error.code !== "TAG_RESOLVE_FAILED") continue
    const start = openings.of(error) ?? error.pos[0]
    const end = start === error.pos[0] ? error.pos[1] : start + 1
    // A tag that is not known leaves the structure whole.
    if (error.code !== "TAG_RESOLVE_FAILED") sound = false
    const line = report.lineOf(start)
    if (lines.has(line)) continue
    lines.add(line)
    const { code, message } = inPlainWords(error)
    report.error(code, message, start, end)
  }
  return sound
}

/** The quotes and brackets that nobody closed: the package tells where it gave up looking for the end. */
class Openings {
  /** Of texts in quotes: end → start. */
  readonly #quotes = new Map<number, number>()
  readonly #brackets: number[] = []
  /** Offsets of what YAML does not know behind a backslash. */
  readonly badEscapes: number[] = []
  #isSorted = false

  /** Looks through a document's tokens, without recursion; gives the offset of what is nested too deep. */
  read(root: CST.Token): number | undefined {
    const open: { readonly token: CST.Token; readonly depth: number }[] = [{ token: root, depth: 0 }]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { token, depth } = next
      if (token.type === "single-quoted-scalar" || token.type === "double-quoted-scalar") {
        this.#quotes.set(token.offset + token.source.length, token.offset)
        if (token.type === "double-quoted-scalar") this.#readEscapes(token)
      } else if (token.type === "document") {
        if (token.value !== undefined) open.push({ token: token.value, depth })
      } else if ("items" in token) {
        if (depth >= MAX_DEPTH) return token.offset
        if (token.type === "flow-collection" && !token.end.some(isClosing))
          this.#brackets.push(token.start.offset)
        for (const { key, value } of token.items) {
          if (value !== undefined) open.push({ token: value, depth: depth + 1 })
          if (key !== undefined && key !== null) open.push({ token: key, depth: depth + 1 })
        }
      }
    }
    return undefined
  }

  #readEscapes({ source, offset }: CST.FlowScalar): void {
    for (const { 0: found, index } of source.matchAll(ESCAPE)) {
      if (found.length > 1) continue
      this.badEscapes.push(offset + index)
      if (this.badEscapes.length > MOST_ESCAPES) return
    }
  }

  of(error: YAMLError): number | undefined {
    const at = error.pos[0]
    if (/^Missing closing .quote/.test(error.message)) return this.#quotes.get(at)
    if (!/ end with a [\]}]$/.test(error.message)) return undefined
    return this.#lastBracket(at)
  }

  #lastBracket(offset: number): number | undefined {
    if (!this.#isSorted) this.#brackets.sort((a, b) => a - b)
    this.#isSorted = true
    let low = 0
    let high = this.#brackets.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.#brackets[middle] as number) <= offset) low = middle + 1
      else high = middle
    }
    return this.#brackets[low - 1]
  }
}

function isClosing(token: CST.SourceToken): boolean {
  return token.type === "flow-map-end" || token.type === "flow-seq-end"
}
