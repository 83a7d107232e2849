/** Names are any text; a label is one or more lines of what can be shown. */

const LINE_BREAK = /\r\n|[\n\r\u2028\u2029]/
/** Control characters and halves of surrogate pairs: no picture's text may hold them. */
const NOT_TEXT = /[\p{Cc}\p{Cs}]/gu

/** The lines of a label, white space run together as a drawing would do it. Empty when there is nothing to show. */
export function labelLines(label: string): string[] {
  return label
    .split(LINE_BREAK)
    .map((line) => line.replace(/\s+/g, " ").trim().replace(NOT_TEXT, "\uFFFD"))
    .filter((line) => line !== "")
}
