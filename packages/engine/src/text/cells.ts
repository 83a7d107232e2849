/** Terminal cells: splits a string into graphemes, measures its width, and wraps it into lines. */

/** Created on first use: creating it takes longer than the rest of the import. */
let segmenter: Intl.Segmenter | undefined

/** Characters that are one grapheme each, which most strings consist of. */
const SINGLE = /^[ -~\u00a0-\u00ac\u00ae-\u02ff\u2190-\u25ff]*$/

/** What a reader sees as one character each: a letter with its accent, a family as one emoji. */
export function graphemes(text: string): string[] {
  if (SINGLE.test(text)) return Array.from(text)
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Characters that are one grapheme and one cell each. */
const NARROW = /^[ -~\u00a0-\u00ac\u00ae-\u02ff\u2026\u2190-\u2199\u2500-\u25fc\u2713\u2717]*$/

// East Asian Wide and Fullwidth, in blocks, and emoji.
const WIDE =
  /^(?:[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{16fe0}-\u{18cff}\u{1b000}-\u{1b2ff}\u{1f200}-\u{1f265}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}|\p{Emoji}\ufe0f)/u
const NO_CELL = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

export function cellsOf(grapheme: string): 0 | 1 | 2 {
  if (NO_CELL.test(grapheme)) return 0
  return WIDE.test(grapheme) ? 2 : 1
}

/** Terminal cells: one per grapheme, two for wide ones. */
export function cellWidth(text: string): number {
  if (NARROW.test(text)) return text.length
  return graphemes(text).reduce((sum, one) => sum + cellsOf(one), 0)
}

/**
 * Breaks at spaces. Line breaks stay, and the lines of an indented paragraph keep its indent. A word wider than a line is
 * broken between graphemes. Every line takes at least one grapheme, so this ends at any width.
 */
export function wrapText(text: string, width: number): string[] {
  const room = Number.isFinite(width) ? Math.max(1, Math.floor(width)) : Number.MAX_SAFE_INTEGER
  return text.split("\n").flatMap((paragraph) => wrapParagraph(paragraph, room))
}

function wrapParagraph(paragraph: string, width: number): string[] {
  const indent = /^ */.exec(paragraph)?.[0].slice(0, Math.floor(width / 2)) ?? ""
  const room = width - indent.length
  const lines: string[] = []
  let line = ""
  for (const word of paragraph.trim().split(/\s+/)) {
    if (line !== "" && cellWidth(line) + 1 + cellWidth(word) > room) {
      lines.push(line)
      line = ""
    }
    line += line === "" ? word : ` ${word}`
    while (cellWidth(line) > room) {
      const head = leadingPart(line, room)
      if (head === line) break
      lines.push(head)
      line = line.slice(head.length)
    }
  }
  return [...lines, line].map((one) => indent + one)
}

/** As many graphemes as fit, and at least one. */
function leadingPart(text: string, width: number): string {
  let kept = ""
  let used = 0
  for (const grapheme of graphemes(text)) {
    used += cellsOf(grapheme)
    if (used > width && kept !== "") break
    kept += grapheme
  }
  return kept
}

/**
 * Makes untrusted strings safe: for databases, which reject some characters, and for terminals, which interpret some.
 * Cuts strings without splitting a surrogate pair, because providers reject a request with half a character.
 */
/** Whether every database keeps the string as it is: no NUL, no lone surrogate. */
export function isPlainText(text: string): boolean {
  return !text.includes("\u0000") && !/\p{Surrogate}/u.test(text)
}

/** Replaces NUL and lone surrogates, which some databases reject. */
export function plainText(text: string): string {
  return text.replaceAll("\u0000", "").replace(/\p{Surrogate}/gu, "\uFFFD")
}

// Control and format characters that move the cursor, change colors or the direction of writing; line separators; lone
// surrogates. Joiners and variation selectors inside emoji stay.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu

/**
 * Replaces the characters that would control a terminal, except those in `kept`: control characters by their symbols (␛),
 * others by the replacement character.
 */
export function printable(text: string, kept = ""): string {
  return text.replace(UNSAFE, (character) => {
    if (kept.includes(character)) return character
    const code = character.charCodeAt(0)
    if (code === 0x7f) return "\u2421"
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd"
  })
}

/** At most `max` characters from the beginning. */
export function cutText(text: string, max: number): string {
  const end = text.length > max && isInPair(text, max) ? max - 1 : max
  return text.slice(0, Math.max(0, end))
}

/** The same, followed by … if anything was cut. */
export function clipped(text: string, max: number): string {
  return text.length <= max ? text : `${cutText(text, max)}…`
}

/** Whether a cut at this index would split a surrogate pair. */
export function isInPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}
