/** Source text → a document, or the reasons why it is none: the text itself first, then its syntax. */
import type { Diagnostic } from "./diagnostic.ts"
import { type Document, documentOf } from "./document.ts"
import { NO_TEXT } from "./no-text.ts"
import { Lines, withoutMark } from "./place.ts"
import { readJson } from "./read-json.ts"
import { readYaml } from "./read-yaml.ts"
import { SourceReport } from "./source-report.ts"

export interface ParsedDocument {
  /**
   * Nothing when the structure cannot be trusted. There is one next to errors that leave the rest as it is
   * (a key written twice, a tag that is not known), so that further checks can tell what else is wrong.
   */
  readonly document?: Document
  readonly diagnostics: readonly Diagnostic[]
}

/** In bytes of UTF-8. */
export const MAX_FILE_SIZE = 10 * 1024 * 1024

/** Never throws. The name says whether it is JSON (`.json`) or YAML (`.yaml`, `.yml`); else the text does. */
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
  // YAML may begin with a bracket, too. If it is neither, it was meant as JSON.
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
    report.error("FILE_TOO_LARGE", `The file has ${size} MB; a definition has at most 10 MB.`, 0, 1)
    return false
  }
  const found = NO_TEXT.exec(text)
  if (found === null) return true
  const code = found[0].charCodeAt(0)
  const message =
    code === 0xfffd
      ? 'The file is not UTF-8 text here. Save it as UTF-8; if you mean the sign U+FFFD, write "\\uFFFD".'
      : `The file holds the control character U+${code.toString(16).toUpperCase().padStart(4, "0")}. ` +
        "If it is a text file, remove it, or write it as an escape in double quotes."
  report.error("NOT_TEXT", message, found.index, found.index + 1)
  return false
}
