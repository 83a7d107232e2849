/**
 * Parses source text to a document (its data, and the source range of each part), or reports why it cannot; and prints
 * data as source text.
 */

import { Scalar, visit, Document as YamlDocument } from "yaml"
import type { Json } from "../core/index.ts"
import {
  type Diagnostic,
  Lines,
  type Part,
  type Path,
  type SourceRange,
  SourceReport,
  withoutMark,
} from "./diagnostic.ts"
import { readJson } from "./read-json.ts"
import { readYaml } from "./read-yaml.ts"
import { dataOf, insideString, throughAlias, type Written, type WrittenEntry } from "./written.ts"

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
