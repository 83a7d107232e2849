/** Long lines in pieces that fit, by whatever measure a drawing has. */
import { graphemes } from "../text/index.ts"

/** Breaks after spaces and the signs inside names, and anywhere where there is none. */
export function wrap(line: string, most: number, measure: (text: string) => number): string[] {
  const lines: string[] = []
  let current = ""
  for (const piece of line.split(/(?<=[\s\-_/.:,])/u).flatMap((word) => split(word, most, measure))) {
    if (current !== "" && measure((current + piece).trimEnd()) > most) {
      lines.push(current.trimEnd())
      current = ""
    }
    current += piece
  }
  return [...lines, current.trimEnd()]
}

function split(word: string, most: number, measure: (text: string) => number): string[] {
  if (measure(word.trimEnd()) <= most) return [word]
  const pieces: string[] = []
  let current = ""
  for (const sign of graphemes(word)) {
    if (current !== "" && measure(current + sign) > most) {
      pieces.push(current)
      current = ""
    }
    current += sign
  }
  return [...pieces, current]
}
