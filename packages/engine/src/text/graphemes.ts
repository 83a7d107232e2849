/** Made when it is needed: that takes longer than all the rest of an import. */
let segmenter: Intl.Segmenter | undefined

/** Text of signs that each stand alone, most text: no need to look closer. */
const SIMPLE = /^[ -~\u00a0-\u00ac\u00ae-\u02ff\u2190-\u25ff]*$/

/** What a reader sees as one character each: an accent with its letter, a family as one emoji. */
export function graphemes(text: string): string[] {
  if (SIMPLE.test(text)) return Array.from(text)
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" })
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}
