/** Data as the content of a file, which reads back as the same data. */
import { Document, Scalar, visit } from "yaml"
import type { Json } from "../core/index.ts"

/** Characters that no text file contains as they are: all controls but tab and line breaks; U+FFFD is what other encodings decode to. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
export const NOT_TEXT = /[\x00-\x08\x0B\x0C\x0E-\x1F\x7F\uFFFD]/

/** Ends with a line break. */
export function documentText(data: Json, format: "yaml" | "json"): string {
  const text = format === "json" ? `${JSON.stringify(data, null, 2)}\n` : yamlText(data)
  // They stand in double quotes only, where escapes are known.
  return text.replace(
    new RegExp(NOT_TEXT, "g"),
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}

function yamlText(data: Json): string {
  // Equal parts are written each time: people edit them apart.
  const document = new Document(data, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar
      if (typeof value === "string" && mustBeQuoted(value)) scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  // Long strings stay on their lines.
  return document.toString({ lineWidth: 0 })
}

/** A block of nothing but blanks loses those of its first line; a bare `<<` would merge. */
function mustBeQuoted(text: string): boolean {
  return NOT_TEXT.test(text) || text.trim() === "" || text === "<<"
}
