/** Cleans strings from outside: for databases, which keep only some characters, and for terminals, which obey some. */

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
