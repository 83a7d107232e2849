/** Long lines in pieces that fit, by whatever measure a drawing has. */

/** Made when it is needed: that takes longer than all the rest of an import. */
let segmenter: Intl.Segmenter | undefined

/** Text of signs that each stand alone, most text: no need to look closer. */
const SIMPLE = /^[ -~\u00a0-\u00ac\u00ae-\u02ff\u2190-\u25ff]*$/

/** What a reader sees as one character each. */
export function graphemes(text: string): string[] {
  if (SIMPLE.test(text)) return Array.from(text)
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

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
