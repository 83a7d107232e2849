/**
 * Parses source text to a document (its data, and the source range of each part), or reports why it cannot; and prints
 * data as source text.
 */

import { createScanner, type Node, type ParseError, parseTree, printParseErrorCode } from "jsonc-parser"
import { Scalar, visit, Document as YamlDocument } from "yaml"
import type { Json } from "../core/index.ts"
import { nearest } from "../text/index.ts"
import {
  type Diagnostic,
  Lines,
  type Part,
  type Path,
  type SourceRange,
  SourceReport,
  withoutMark,
} from "./diagnostic.ts"
import { readYaml } from "./read-yaml.ts"
import {
  dataOf,
  insideString,
  MAX_DEPTH,
  MAX_VALUES,
  type Range,
  type ReadResult,
  throughAlias,
  type Written,
  type WrittenEntry,
  writtenList,
  writtenMap,
} from "./written.ts"

/** The source of a definition: its data, and the position of each part. */
export interface Document {
  readonly file: string
  /** Without a byte order mark. */
  readonly text: string
  readonly format: "yaml" | "json"
  readonly data: Json
  /**
   * The source range of a value, of its key, or of characters in a string. Something missing, such as a field, has the
   * range of the value it is missing from.
   */
  place(path: Path, part?: Part): SourceRange
}

export interface ParsedDocument {
  /**
   * Undefined if the structure is broken. Defined in spite of errors that leave the rest intact (a duplicate key, an
   * unknown tag), so that further checks can report other problems.
   */
  readonly document?: Document
  readonly diagnostics: readonly Diagnostic[]
}

/** In bytes of UTF-8. */
export const MAX_FILE_SIZE = 10 * 1024 * 1024

/** Never throws. The format follows from the extension (`.json`, `.yaml`, `.yml`), otherwise from the text. */
export function parseDocument(text: string, file: string): ParsedDocument {
  const source = withoutMark(text)
  const lines = new Lines(file, source)
  const report = new SourceReport(lines)
  if (!isReadable(source, report)) return { diagnostics: report.diagnostics }

  const ending = /\.(json|ya?ml)$/i.exec(file)?.[1]?.toLowerCase()
  if (ending !== undefined) return parseAs(ending === "json" ? "json" : "yaml", source, file, lines)
  if (!/^\s*[{[]/.test(source)) return parseAs("yaml", source, file, lines)
  const json = parseAs("json", source, file, lines)
  if (json.document !== undefined) return json
  // YAML may begin with a bracket too. If it is neither, it was probably meant to be JSON.
  const yaml = parseAs("yaml", source, file, lines)
  return yaml.document === undefined ? json : yaml
}

function parseAs(format: "yaml" | "json", text: string, file: string, lines: Lines): ParsedDocument {
  const report = new SourceReport(lines)
  const { root, sound } = (format === "json" ? readJson : readYaml)(text, report)
  if (root === undefined && sound) report.error("FILE_EMPTY", "The file is empty.", 0, 1)
  const { diagnostics } = report
  if (root === undefined || !sound) return { diagnostics }
  return { document: documentOf({ file, text, format }, root, lines), diagnostics }
}

function isReadable(text: string, report: SourceReport): boolean {
  if (text.length > MAX_FILE_SIZE || Buffer.byteLength(text) > MAX_FILE_SIZE) {
    const size = (Buffer.byteLength(text) / 1024 / 1024).toFixed(1)
    report.error("FILE_TOO_LARGE", `The file is ${size} MB; a definition can be at most 10 MB.`, 0, 1)
    return false
  }
  const found = NOT_TEXT.exec(text)
  if (found === null) return true
  const code = found[0].charCodeAt(0)
  const message =
    code === 0xfffd
      ? 'The file is not UTF-8 text here. Save it as UTF-8; if you mean the character U+FFFD, write "\\uFFFD".'
      : `The file holds the control character U+${code.toString(16).toUpperCase().padStart(4, "0")}. ` +
        "If the file is text, remove the character, or write it as an escape in double quotes."
  report.error("NOT_TEXT", message, found.index, found.index + 1)
  return false
}

function documentOf(
  source: { readonly file: string; readonly text: string; readonly format: "yaml" | "json" },
  root: Written,
  lines: Lines,
): Document {
  const { file, text, format } = source
  return {
    file,
    text,
    format,
    data: dataOf(root),
    place(path, part = "value") {
      const found = find(root, path)
      const { entry, value } = found
      if (entry !== undefined && (part === "key" || !found.whole)) {
        return lines.place(entry.key.start, entry.key.end)
      }
      if (typeof part === "object" && found.whole) {
        const scalar = throughAlias(value)
        const range = scalar.kind === "scalar" ? insideString(text, scalar, part.from, part.to) : undefined
        if (range !== undefined) return lines.place(range.start, range.end)
      }
      return lines.place(value.start, value.end)
    },
  }
}

interface Found {
  readonly value: Written
  /** The mapping entry of this value. Undefined in a list and at the root. */
  readonly entry: WrittenEntry | undefined
  /** False if the path goes beyond the written values. */
  readonly whole: boolean
}

function find(root: Written, path: Path): Found {
  let value = root
  let entry: WrittenEntry | undefined
  for (const part of path) {
    const inside = throughAlias(value)
    if (inside.kind === "map") {
      const next = inside.entries.get(String(part))
      if (next === undefined) return { value, entry, whole: false }
      entry = next
      value = next.value
    } else {
      const item = inside.kind === "list" ? inside.items[Number(part)] : undefined
      if (item === undefined) return { value, entry, whole: false }
      entry = undefined
      value = item
    }
  }
  return { value, entry, whole: true }
}

// Prints data as YAML or JSON that parses to the same data.

/**
 * Characters that text files do not contain unescaped: all control characters except tab and line breaks, and U+FFFD,
 * which other encodings decode to.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const NOT_TEXT = /[\x00-\x08\x0B\x0C\x0E-\x1F\x7F\uFFFD]/

/** Ends with a line break. */
export function documentText(data: Json, format: "yaml" | "json"): string {
  const text = format === "json" ? `${JSON.stringify(data, null, 2)}\n` : yamlText(data)
  // Such strings are in double quotes, where escapes are possible.
  return text.replace(
    new RegExp(NOT_TEXT, "g"),
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

function yamlText(data: Json): string {
  // Equal parts are written out each time, because people edit them separately.
  const document = new YamlDocument(data, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar
      if (typeof value === "string" && mustBeQuoted(value)) scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  // Long strings are not wrapped.
  return document.toString({ lineWidth: 0 })
}

/** A block scalar with only blanks loses those of its first line; a bare `<<` would merge. */
function mustBeQuoted(text: string): boolean {
  return NOT_TEXT.test(text) || text.trim() === "" || text === "<<"
}

// Reads strict JSON with source ranges. jsonc-parser recovers from mistakes, so that one report lists them all; this file
// converts its errors to messages with advice, and its nodes to data with offsets.

function readJson(text: string, report: SourceReport): ReadResult {
  const open = bracketsOf(text, report)
  if (open === undefined) return { root: undefined, sound: false }
  const errors: ParseError[] = []
  const tree = parseTree(text, errors, { disallowComments: true, allowEmptyContent: true })
  reportErrors(text, errors, open.at(-1), report)
  return { root: tree && writtenFrom(tree, text, report), sound: errors.length === 0 }
}

const CLOSING: Readonly<Record<string, string>> = { "{": "}", "[": "]" }

/**
 * The offsets of unclosed brackets, or undefined after an error. Input that would exhaust the stack or the memory is
 * refused before the recursive parser sees it. A bracket that does not match closes nothing here, so the parser never
 * nests deeper than this count.
 */
function bracketsOf(text: string, report: SourceReport): number[] | undefined {
  const scanner = createScanner(text, true)
  const open: number[] = []
  let values = 0
  let tokens = 0
  for (scanner.scan(); scanner.getTokenOffset() < text.length; scanner.scan()) {
    const offset = scanner.getTokenOffset()
    const first = text[offset] as string
    if (first in CLOSING) open.push(offset)
    else if (first === CLOSING[text[open.at(-1) ?? -1] ?? ""]) open.pop()
    if (open.length > MAX_DEPTH) {
      const message = `Lists and mappings are nested deeper than ${MAX_DEPTH} levels here.`
      report.error("TOO_DEEP", message, offset, offset + 1)
      return undefined
    }
    // A token before a colon is a key. No value needs more than five tokens: `"key": {},`.
    if (!/[,\]}]/.test(first)) values += first === ":" ? -1 : 1
    if (values > MAX_VALUES || ++tokens > 5 * MAX_VALUES) {
      const message = `The file holds more than ${MAX_VALUES} values. Split it.`
      report.error("FILE_TOO_LARGE", message, offset, offset + 1)
      return undefined
    }
  }
  return open
}

function writtenFrom(node: Node, text: string, report: SourceReport): Written {
  const { type, children = [], value } = node
  const { start, end } = rangeOf(node)
  if (type === "array") {
    const items = children.map((item) => writtenFrom(item, text, report))
    return writtenList(start, end, items)
  }
  if (type !== "object") {
    const isNumber = typeof value === "number"
    if (isNumber) report.checkNumber(value, text.slice(start, end), start, end)
    const kept = isNumber && !Number.isFinite(value) ? null : value
    return { kind: "scalar", style: type === "string" ? "double" : "plain", value: kept, start, end }
  }
  const entries = new Map<string, WrittenEntry>()
  for (const { children: [name, item] = [] } of children) {
    // The value is missing only after a mistake.
    if (name === undefined || item === undefined) continue
    const key = rangeOf(name)
    const first = entries.get(name.value)
    const written = writtenFrom(item, text, report)
    if (first === undefined) entries.set(name.value, { key, value: written })
    else report.duplicateKey(name.value, key, first.key)
  }
  return writtenMap(start, end, entries)
}

function rangeOf({ offset, length }: { readonly offset: number; readonly length: number }): Range {
  return { start: offset, end: offset + length }
}

interface Mistake extends Range {
  readonly message: string
  readonly suggestion?: string | undefined
  /** Nothing after it can be parsed. */
  readonly last?: boolean
}

/**
 * One mistake causes several errors up to the next comma: only the first is reported. Comments are not mistakes of this
 * kind.
 */
function reportErrors(
  text: string,
  errors: readonly ParseError[],
  open: number | undefined,
  report: SourceReport,
): void {
  let next = 0
  let commentEnd = 0
  for (const error of errors) {
    const { offset } = error
    const code = printParseErrorCode(error.error)
    if (offset < commentEnd) continue
    const isHash = code === "InvalidSymbol" && text[offset] === "#"
    if (isHash || code === "InvalidCommentToken") {
      commentEnd = offset + (isHash ? (/.*/.exec(text.slice(offset))?.[0].length ?? 1) : error.length)
      const message = "JSON has no comments. Remove it, or write YAML in a .yaml file."
      report.error("JSON_SYNTAX", message, offset, commentEnd)
      continue
    }
    if (offset < next) continue
    const { start, end, message, suggestion, last } = mistakeOf(text, code, rangeOf(error), open)
    report.error("JSON_SYNTAX", message, start, end, suggestion)
    const comma = text.indexOf(",", offset)
    if (last || comma === -1 || report.isFull) return
    next = comma + 1
  }
}

function mistakeOf(text: string, code: string, { start, end }: Range, open: number | undefined): Mistake {
  const found = text[start]
  const at = (message: string, offset = start) => ({ start: offset, end: offset + 1, message })
  if (code === "UnexpectedEndOfString") {
    const message = "This string has no closing quote. Write a line break in it as \\n."
    return { start, end, message, last: true }
  }
  if (/^Invalid(?:Character|EscapeCharacter|Unicode)$/.test(code)) return wrongCharacter(text, start, end)
  if (code === "EndOfFileExpected") {
    const message = "There is more text after the end of the value. A JSON file holds one value."
    return { ...at(message), last: true }
  }
  if (found === undefined) {
    if (open === undefined) return at("A value is missing here, at the end of the file.")
    return { ...at(`This ${text[open]} is never closed.`, open), last: true }
  }
  const comma = /,\s*$/.exec(text.slice(Math.max(0, start - 1_000), start))?.[0].length
  if (/[\]}]/.test(found) && comma !== undefined) {
    return at("JSON allows no comma after the last item.", start - comma)
  }
  if (found === "'") return at("JSON strings need double quotes.")
  if (code === "ColonExpected") return at("A key must be followed by `:` and a value.")
  const isWord = !/["[\]{}:,]/.test(found)
  if (code === "CommaExpected" && (!isWord || /[\s"\]}]/.test(text[start - 1] ?? ""))) {
    const isCloser = /[\]}:]/.test(found)
    return at(isCloser ? `Expected a comma, not ${found}.` : "A comma is missing before this.")
  }
  if (isWord) return wrongWord(text, start, code)
  const missing = code === "PropertyNameExpected" ? "key in double quotes" : "value"
  return at(`Expected a ${missing}, not ${found}.`)
}

/** A bare word or a malformed number, in full: `01` and `1x` begin like numbers. */
function wrongWord(text: string, offset: number, code: string): Mistake {
  const head = /[\p{L}\p{N}_$.+-]*$/u.exec(text.slice(Math.max(0, offset - 50), offset))?.[0] ?? ""
  const tail = /^[^\s"[\]{}:,/]+/.exec(text.slice(offset, offset + 1_000))?.[0] ?? text[offset] ?? ""
  const word = head + tail
  const [start, end] = [offset - head.length, offset + tail.length]
  if (code === "PropertyNameExpected" || /^\s*:/.test(text.slice(end, end + 1_000))) {
    return { start, end, message: "JSON keys need double quotes.", suggestion: JSON.stringify(word) }
  }
  if (/^[+.\d-]/.test(word)) return { start, end, message: `${word} is not a number in JSON.` }
  const suggestion = WORDS_OF_OTHERS.get(word) ?? nearest(word, ["true", "false", "null"])
  const message = "JSON strings need double quotes; only true, false and null go without."
  return { start, end, message, suggestion }
}

const WORDS_OF_OTHERS = new Map([
  ["None", "null"],
  ["nil", "null"],
  ["undefined", "null"],
  ["NaN", "null"],
  ["yes", "true"],
  ["no", "false"],
  ["on", "true"],
  ["off", "false"],
])

/** The first character of a string that JSON does not allow there. */
function wrongCharacter(text: string, start: number, end: number): Mistake {
  for (const { 0: found, index } of text
    .slice(start, end)
    .matchAll(/\t|\\(?:["\\/bfnrt]|u[\da-fA-F]{4})|\\.?/g)) {
    const at = { start: start + index, end: start + index + found.length }
    if (found === "\t") return { ...at, message: "In a JSON string, write a tab as \\t." }
    if (found === "\\u") return { ...at, message: "A \\u escape has four hexadecimal digits." }
    if (!/^\\["\\/bfnrtu]/.test(found)) {
      return { ...at, message: "JSON has no such escape. Write a \\ as \\\\." }
    }
  }
  return { start, end, message: "JSON does not allow this string." }
}
