/**
 * Parses YAML text to the nodes of the yaml package, or reports the errors. The text is passed to the package lexeme by
 * lexeme: input that would exhaust the stack or the memory is refused before the nodes are created.
 */
import { Composer, type CST, type Document, type ErrorCode, Lexer, Parser, type YAMLError } from "yaml"
import type { SourceReport } from "./diagnostic.ts"
import { MAX_DEPTH, MAX_VALUES } from "./written.ts"

/** The package creates a slow error object for each. Beyond this number, only one is reported. */
const MAX_ESCAPES = 1_000
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
    if (openings.badEscapes.length > MAX_ESCAPES) {
      report.error("YAML_SYNTAX", BAD_ESCAPE, start, start + 2)
      return { document: undefined, sound: false }
    }
  }
  const composer = new Composer({
    schema: "core",
    merge: false,
    // The package compares every key with every other. Here keys are checked in linear time.
    uniqueKeys: false,
    resolveKnownTags: false,
    prettyErrors: false,
  })
  const [document, second] = [...composer.compose(tokens, true, text.length)]
  if (document === undefined) return { document: undefined, sound: true }
  let sound = reportErrors([...document.errors, ...document.warnings], openings, report)
  if (second !== undefined) {
    sound = false
    const start = startOf(second, text)
    const message = "A second document begins here. A file holds one document: split it into several files."
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
      const message = `The file holds more than ${MAX_VALUES} tokens of YAML. Split it.`
      report.error("FILE_TOO_LARGE", message, 0, 1)
      return undefined
    }
    for (const token of parser.next(lexeme)) tokens.push(token)
  }
  for (const token of parser.end()) tokens.push(token)
  return tokens
}

/** The `---` that opens a document. The package's range begins after it. */
function startOf(document: Document.Parsed, text: string): number {
  const content = document.range[0]
  const marker = text.lastIndexOf("---", content)
  return marker === -1 ? content : marker
}

/** One mistake often causes several errors on its line: only the first is reported. */
function reportErrors(errors: readonly YAMLError[], openings: Openings, report: SourceReport): boolean {
  let sound = true
  const lines = new Set<number>()
  for (const error of errors) {
    if (error.name === "YAMLWarning" && error.code !== "TAG_RESOLVE_FAILED") continue
    const start = openings.of(error) ?? error.pos[0]
    const end = start === error.pos[0] ? error.pos[1] : start + 1
    // An unknown tag leaves the structure intact.
    if (error.code !== "TAG_RESOLVE_FAILED") sound = false
    const line = report.lineOf(start)
    if (lines.has(line)) continue
    lines.add(line)
    const { code, message } = inPlainWords(error)
    report.error(code, message, start, end)
  }
  return sound
}

/** Unclosed quotes and brackets: the package only reports where it stopped looking for the end. */
class Openings {
  /** Of quoted strings: end → start. */
  readonly #quotes = new Map<number, number>()
  readonly #brackets: number[] = []
  /** Offsets of invalid escapes. */
  readonly badEscapes: number[] = []
  #isSorted = false

  /** Reads a document's tokens, without recursion. Returns the offset at which the nesting is too deep. */
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
      if (this.badEscapes.length > MAX_ESCAPES) return
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

/** Translates the yaml package's errors to messages with advice. */
function inPlainWords(error: YAMLError): { readonly code: string; readonly message: string } {
  if (error.code === "TAG_RESOLVE_FAILED") {
    const tag = /^Unresolved tag: (.*)$/.exec(error.message)?.[1]?.replace(/^tag:yaml\.org,2002:/, "!!")
    if (tag === undefined) return { code: "YAML_SYNTAX", message: sentence(error.message) }
    return CORE_TAGS.has(tag)
      ? { code: "YAML_SYNTAX", message: `The value does not match its tag ${tag}.` }
      : {
          code: "UNKNOWN_TAG",
          message: `Unknown tag ${tag}. Remove it: definitions hold plain data.`,
        }
  }
  const [, plain] = BY_MESSAGE.find(([pattern]) => pattern.test(error.message)) ?? []
  return { code: "YAML_SYNTAX", message: plain ?? BY_CODE[error.code] ?? sentence(error.message) }
}

const CORE_TAGS = new Set(["!!bool", "!!float", "!!int", "!!map", "!!null", "!!seq", "!!str"])

const BY_MESSAGE: readonly (readonly [RegExp, string])[] = [
  [/^Missing closing .quote/, "This quote is never closed."],
  [/ end with a \]$/, "This [ is never closed, or its content is not indented."],
  [/ end with a \}$/, "This { is never closed, or its content is not indented."],
  [
    /^Nested mappings are not allowed/,
    "Put a value that contains `: ` in quotes. If this is a key, its line is indented too far.",
  ],
  [/^Implicit map keys need to be followed/, "A key must be followed by `:` and a value."],
  [/must start at the same column$/, "The indentation does not match that of the lines above."],
  [/^Sequence item without/, "Every item of the list must begin with `- `, at the same column."],
  [/^A block sequence may not be used/, "A list must start on its own line, below its key."],
  [/^Missing , between/, "A comma is missing before this."],
  [/^Missing , or : between/, "A comma or colon is missing before this."],
  [/^Comments must be separated/, "A comment needs a space before #."],
  [/^Plain value cannot start with/, "Put a value that begins with this character in quotes."],
  [/at node end$/, "There is more text here after the end of the value."],
  [/^Block scalar header includes/, "Start the text on the line after | or >."],
  [/^Missing directives-end/, "Directives (%) must be followed by a line of ---."],
]

const BAD_ESCAPE = "Unknown escape in double quotes. Write a \\ as \\\\, or use single quotes."

const BY_CODE: Partial<Record<ErrorCode, string>> = {
  TAB_AS_INDENT: "Tabs cannot indent YAML. Use spaces.",
  BAD_INDENT: "The indentation does not match that of the lines above.",
  BAD_DQ_ESCAPE: BAD_ESCAPE,
  BLOCK_IN_FLOW: "Inside { } and [ ], separate items with commas, not with line breaks and dashes.",
  MULTILINE_IMPLICIT_KEY: "This line has no `:` after its key, or a quote or the indentation is wrong.",
  KEY_OVER_1024_CHARS: "A key can have at most 1024 characters.",
  MULTIPLE_ANCHORS: "A value can have at most one anchor (&name).",
  MULTIPLE_TAGS: "A value can have at most one tag (!name).",
  ALIAS_PROPS: "An alias (*name) cannot have its own anchor or tag.",
  BAD_ALIAS: "An anchor (&) or alias (*) needs a name. If this is a string, put it in quotes.",
  UNEXPECTED_TOKEN:
    "This character is not expected here. If it belongs to a string, put the string in quotes.",
}

function sentence(message: string): string {
  return /[.?!]$/.test(message) ? message : `${message}.`
}
