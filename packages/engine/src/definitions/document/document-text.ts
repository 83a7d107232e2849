/** Data as the text of a file, which reads back as the same data. */
import { Document, Scalar, visit } from "yaml"
import type { Json } from "../../core/index.ts"
import { escapedNoText, NO_TEXT } from "./no-text.ts"

/** Ends with a line break. */
export function documentText(data: Json, format: "yaml" | "json"): string {
  return escapedNoText(format === "json" ? `${JSON.stringify(data, null, 2)}\n` : yamlText(data))
}

function yamlText(data: Json): string {
  // Equal parts are written each time: people edit them apart.
  const document = new Document(data, { aliasDuplicateObjects: false })
  visit(document, {
    Scalar(_, scalar) {
      const { value } = scalar
      if (typeof value === "string" && isToBeQuoted(value)) scalar.type = Scalar.QUOTE_DOUBLE
    },
  })
  // Long texts stay on their lines.
  return document.toString({ lineWidth: 0 })
}

/** A block of nothing but blanks loses those of its first line; a bare `<<` would merge. */
function isToBeQuoted(text: string): boolean {
  return NO_TEXT.test(text) || text.trim() === "" || text === "<<"
}
