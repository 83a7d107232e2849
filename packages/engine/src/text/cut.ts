/** Texts that are cut where it does no harm: half of a character is one that providers refuse the whole request for. */

/** At most so many characters from the beginning. */
export function cutText(text: string, most: number): string {
  const end = text.length > most && isInPair(text, most) ? most - 1 : most
  return text.slice(0, Math.max(0, end))
}

/** The same, and a … where there was more. */
export function clipped(text: string, most: number): string {
  return text.length <= most ? text : `${cutText(text, most)}…`
}

/** Whether a cut there goes through a character. */
export function isInPair(text: string, at: number): boolean {
  return /^[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(text.slice(Math.max(0, at - 1), at + 1))
}
