/**
 * Characters as people count them, or nearly: one outside the basic plane (💡) is one, though JavaScript counts two.
 * All positions that expressions see are counted so.
 */
const OUTSIDE_BASIC_PLANE = /[\uD800-\uDBFF][\uDC00-\uDFFF]/

export function countCharacters(text: string): number {
  let count = text.length
  for (let i = 0; i < text.length - 1; i++) {
    const isPair = (text.charCodeAt(i) & 0xfc00) === 0xd800 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    if (isPair) count--
  }
  return count
}

/** The offset in a string of the character with this position; the end of the string when there are fewer. */
export function offsetOf(text: string, position: number): number {
  if (!OUTSIDE_BASIC_PLANE.test(text)) return Math.min(position, text.length)
  let offset = 0
  for (let i = 0; i < position && offset < text.length; i++) {
    offset += (text.codePointAt(offset) as number) > 0xffff ? 2 : 1
  }
  return offset
}
