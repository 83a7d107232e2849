// Control and format characters that move the cursor, change colours or turn the direction of writing; line
// separators; halves of surrogate pairs. Joiners and selectors inside emoji stay.
const UNSAFE = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu

/** Takes from foreign text what would steer a terminal, but for the signs to keep: control characters become their
 * pictures (␛), others the replacement character. */
export function printable(text: string, kept = ""): string {
  return text.replace(UNSAFE, (sign) => {
    if (kept.includes(sign)) return sign
    const code = sign.charCodeAt(0)
    if (code === 0x7f) return "\u2421"
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : "\ufffd"
  })
}
