/**
 * A text that comes in pieces, told without secrets. What could be the beginning of a secret is held back until more has
 * come, and nothing else is.
 */
import { MASK } from "../text/index.ts"

export class MaskedText {
  #held = ""
  #told = ""

  /** All that was told. */
  get told(): string {
    return this.#told
  }

  /** What can be told now that another piece has come. */
  take(piece: string, secrets: readonly string[]): string {
    const text = this.#held + piece
    let out = ""
    let from = 0
    let at = 0
    while (at < text.length) {
      const rest = text.length - at
      // Also when a secret is there already: it may be the beginning of a longer one.
      if (secrets.some((secret) => secret.length > rest && secret.startsWith(text.slice(at)))) break
      const found = longest(secrets, text, at)
      if (found === 0) {
        at++
        continue
      }
      out += text.slice(from, at) + MASK
      at += found
      from = at
    }
    out += text.slice(from, at)
    this.#held = text.slice(at)
    this.#told += out
    return out
  }
}

/** How long the longest secret is that begins here. */
function longest(secrets: readonly string[], text: string, at: number): number {
  let length = 0
  for (const secret of secrets) {
    if (secret.length > length && text.startsWith(secret, at)) length = secret.length
  }
  return length
}
