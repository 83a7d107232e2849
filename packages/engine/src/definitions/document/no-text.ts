/** Signs that stand in no file as they are: most likely it is not a text, or not in UTF-8. They are written as escapes. */

/** All control characters but tab, line feed and carriage return; U+FFFD is what other encodings decode to. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
export const NO_TEXT = /[\x00-\x08\x0B\x0C\x0E-\x1F\x7F\uFFFD]/

/** For a text in which they stand in double quotes only. */
export function escapedNoText(text: string): string {
  return text.replace(
    new RegExp(NO_TEXT, "g"),
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
}
