/** Text as a terminal shows it: what may be printed, and how many columns it takes. */

const TAB = 4

export interface Cell {
  /** Safe to print, and never a tab. */
  readonly shown: string
  readonly width: number
  /** Offset of its first UTF-16 unit in the line, and of the one behind its last. */
  readonly start: number
  readonly end: number
}

/** Made when it is needed: that takes longer than all the rest of an import. */
let segmenter: Intl.Segmenter | undefined

function graphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })
  return segmenter.segment(text)
}

/** The characters of a line as people see them: an accent with its letter, a family as one emoji. */
export function cellsOf(line: string): Cell[] {
  const cells: Cell[] = []
  let column = 0
  for (const { segment, index } of graphemes(line)) {
    const shown = segment === "\t" ? " ".repeat(TAB - (column % TAB)) : printable(segment)
    const width = segment === "\t" ? shown.length : widthOfGrapheme(shown)
    cells.push({ shown, width, start: index, end: index + segment.length })
    column += width
  }
  return cells
}

export function widthOf(text: string): number {
  let width = 0
  for (const { segment } of graphemes(text)) width += widthOfGrapheme(segment)
  return width
}

// Control and format characters that move the cursor, change colours or turn the direction of writing; line
// separators; halves of surrogate pairs. Joiners and selectors inside emoji stay.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\uFEFF]/gu

/** Control characters become their pictures (␛), other unsafe ones the replacement character. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (sign) => {
    const code = sign.charCodeAt(0)
    if (code === 0x7f) return "\u2421"
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\uFFFD"
  })
}

// East Asian Wide and Fullwidth, in blocks.
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97C\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6\u{16FE0}-\u{18CFF}\u{1B000}-\u{1B2FF}\u{1F200}-\u{1F265}\u{20000}-\u{3FFFD}]/u
const EMOJI = /^\p{Emoji_Presentation}|^\p{Emoji}\uFE0F/u
const NO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u

function widthOfGrapheme(grapheme: string): number {
  if (/^[\x20-\x7E]$/.test(grapheme)) return 1
  if (NO_WIDTH.test(grapheme)) return 0
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1
}
