/** Text broken into lines at spaces; words wider than a line are broken where they must. */
import { cellWidth } from "../../text/index.ts"
import { lineCells } from "./line-cells.ts"

export function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ""
  let used = 0
  for (const word of text.split(/\s+/).flatMap((one) => pieces(one, width))) {
    const needed = cellWidth(word)
    if (line !== "" && used + 1 + needed > width) {
      lines.push(line)
      line = ""
      used = 0
    }
    line += line === "" ? word : ` ${word}`
    used = cellWidth(line)
  }
  if (line !== "") lines.push(line)
  return lines
}

function pieces(word: string, width: number): string[] {
  if (cellWidth(word) <= width) return [word]
  const parts: string[] = []
  let part = ""
  let used = 0
  for (const cell of lineCells(word)) {
    if (used + cell.width > width) {
      parts.push(part)
      part = ""
      used = 0
    }
    part += cell.shown
    used += cell.width
  }
  return [...parts, part]
}
