/**
 * What it may cost to parse Markdown. The parser takes the square of the number of brackets in a paragraph, and of the
 * number of quotes and lists that are nested in one line. Text that would take too long keeps its words and loses its markup.
 */

/** Estimates in microseconds, measured on hostile texts: about a second. */
const MAX_COST = 800_000
const PER_CHARACTER = 2.4
const PER_LINE = 40
const PER_BRACKET_AND_CHARACTER = 0.01
const PER_MARKER_PAIR = 0.02

const MARKERS = /^[ \t]*(?:(?:[>*+-]|\d{1,9}[.)])[ \t]*)+/
/** A line that starts a block of its own. */
const OWN_BLOCK = /^(?: {0,3}[*+-] \S|#|\s*$)/

export function isCheapMarkdown(text: string): boolean {
  let cost = text.length * PER_CHARACTER
  let [length, brackets] = [0, 0]
  for (const line of text.split("\n")) {
    const marks = MARKERS.exec(line)?.[0].length ?? 0
    cost += PER_LINE + marks * marks * PER_MARKER_PAIR
    if (OWN_BLOCK.test(line)) [length, brackets] = [0, 0]
    const more = count(line, "[") + count(line, "]")
    // What a paragraph costs with this line, less what it cost without.
    cost += ((length + line.length) * (brackets + more) - length * brackets) * PER_BRACKET_AND_CHARACTER
    length += line.length
    brackets += more
    if (cost > MAX_COST) return false
  }
  return true
}

function count(text: string, character: string): number {
  let found = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) found++
  return found
}

const LOOK_ALIKES: Readonly<Record<string, string>> = {
  "[": "(",
  "]": ")",
  "<": "‹",
  ">": "›",
  "`": "'",
  "~": "∼",
  "\\": "∖",
  "&": "＆",
  "@": "＠",
  "|": "¦",
}

/** Plain text that no parser finds links, HTML or code in, by construction. */
export function withoutMarkup(text: string): string {
  return text
    .replace(/[[\]<>`~\\&@|]/g, (character) => LOOK_ALIKES[character] ?? "")
    .replace(/\/\//g, "⁄⁄")
    .replace(/www\./gi, "www ")
    .split(/\r\n?|\n/)
    .map((line) => line.replace(MARKERS, "").trimStart())
    .join("\n")
}
