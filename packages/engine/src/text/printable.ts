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
