/** Wraps text into lines of at most `width` terminal cells. */
import { cellsOf, cellWidth, graphemes } from "./cells.ts"

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
