/** Cuts strings without splitting a surrogate pair: providers reject a whole request for half a character. */

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
