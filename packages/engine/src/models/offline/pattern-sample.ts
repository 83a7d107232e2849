/**
 * A text that fits a regular expression: parsed, then written out with the fewest repeats, or more of them when it must
 * be longer. Look-around and back references are passed over; whoever asks checks the result.
 */

/** Up to `most` samples, shorter first. Empty when the pattern cannot be read. */
export function patternSamples(pattern: string, least = 0, most = 24): string[] {
  let root: Part
  try {
    root = new PatternParser(pattern).parse()
  } catch {
    return []
  }
  const samples = new Set<string>()
  for (let extra = 0; extra < most; extra++) samples.add(write(root, extra, extra))
  // One that repeats far enough to be as long as it has to be.
  for (let extra = most; extra <= least + most; extra += Math.max(1, Math.floor(least / 8)))
    samples.add(write(root, extra, 0))
  return [...samples]
}

type Part =
  | { readonly kind: "text"; readonly choices: readonly string[] }
  | { readonly kind: "all"; readonly parts: readonly Part[] }
  | { readonly kind: "any"; readonly parts: readonly Part[] }
  | { readonly kind: "times"; readonly part: Part; readonly least: number; readonly most: number }

const LONGEST = 10_000

function write(part: Part, extra: number, turn: number): string {
  switch (part.kind) {
    case "text":
      return part.choices[turn % Math.max(1, part.choices.length)] ?? ""
    case "all":
      return part.parts.map((inner) => write(inner, extra, turn)).join("")
    case "any": {
      const chosen = part.parts[turn % part.parts.length]
      return chosen === undefined ? "" : write(chosen, extra, Math.floor(turn / part.parts.length))
    }
    case "times": {
      const times = Math.min(part.most, part.least + extra)
      let text = ""
      for (let i = 0; i < times && text.length < LONGEST; i++) {
        const more = write(part.part, extra, turn + i)
        if (more === "") break
        text += more
      }
      return text
    }
  }
}

const DIGITS = "0123456789"
const LETTERS = "abcdefghijklmnopqrstuvwxyz"
const CLASSES: Readonly<Record<string, string>> = {
  d: DIGITS,
  w: `${LETTERS}${LETTERS.toUpperCase()}${DIGITS}_`,
  s: " ",
  D: LETTERS,
  W: " -.",
  S: `${LETTERS}${DIGITS}`,
}
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r", f: "\f", v: "\v", "0": "\0" }
const PRINTABLE = Array.from({ length: 95 }, (_, index) => String.fromCharCode(index + 32))

class PatternParser {
  private at = 0
  private readonly pattern: string

  constructor(pattern: string) {
    this.pattern = pattern
  }

  parse(): Part {
    const part = this.any()
    if (this.at < this.pattern.length) throw new Error("unbalanced")
    return part
  }

  private any(): Part {
    const parts = [this.all()]
    while (this.peek() === "|") {
      this.at++
      parts.push(this.all())
    }
    return { kind: "any", parts }
  }

  private all(): Part {
    const parts: Part[] = []
    while (this.at < this.pattern.length && this.peek() !== "|" && this.peek() !== ")")
      parts.push(this.repeated(this.one()))
    return { kind: "all", parts }
  }

  private one(): Part {
    const char = this.next()
    if (char === "^" || char === "$") return text("")
    if (char === ".") return text(...LETTERS)
    if (char === "[") return text(...this.set())
    if (char === "(") return this.group()
    if (char === "\\") return text(...this.escaped())
    return text(char)
  }

  private group(): Part {
    const isLook = /^\?(?:<?[=!])/.test(this.pattern.slice(this.at))
    const intro = /^\?(?::|<?[=!]|<[^>]+>)/.exec(this.pattern.slice(this.at))
    this.at += intro?.[0].length ?? 0
    const inner = this.any()
    if (this.next() !== ")") throw new Error("unbalanced")
    return isLook ? text("") : inner
  }

  private repeated(part: Part): Part {
    const rest = this.pattern.slice(this.at)
    const counted = /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(rest)
    if (counted === null) return part
    this.at += counted[0].length
    const [, sign, from, comma, to] = counted
    if (sign !== undefined) {
      return {
        kind: "times",
        part,
        least: sign === "+" ? 1 : 0,
        most: sign === "?" ? 1 : Number.POSITIVE_INFINITY,
      }
    }
    const least = Number(from)
    const most = comma === "" ? least : to === "" ? Number.POSITIVE_INFINITY : Number(to)
    return { kind: "times", part, least, most }
  }

  /** What a `[…]` allows, its opening bracket read already. */
  private set(): string[] {
    const isNot = this.peek() === "^"
    if (isNot) this.at++
    const chars: string[] = []
    while (this.peek() !== "]") {
      const found = this.setItem()
      const isRange = this.peek() === "-" && this.pattern[this.at + 1] !== "]" && found.length === 1
      if (!isRange) {
        chars.push(...found)
        continue
      }
      this.at++
      const [last = ""] = this.setItem()
      chars.push(...range(found[0] ?? "", last))
    }
    this.at++
    return isNot ? [...LETTERS, ...PRINTABLE].filter((char) => !chars.includes(char)) : chars
  }

  private setItem(): string[] {
    const char = this.next()
    return char === "\\" ? this.escaped() : [char]
  }

  private escaped(): string[] {
    const char = this.next()
    if (char === "b" || char === "B" || /[1-9]/.test(char)) return [""]
    if (char === "x") return [this.code(2)]
    if (char === "u") return [this.peek() === "{" ? this.braced() : this.code(4)]
    if (char === "p" || char === "P") {
      const name = this.braced(true)
      return /^N|Nd/.test(name)
        ? [...DIGITS]
        : /Lu|Upper/.test(name)
          ? [...LETTERS.toUpperCase()]
          : [...LETTERS]
    }
    return [...(CLASSES[char] ?? ESCAPES[char] ?? char)]
  }

  private code(digits: number): string {
    const hex = this.pattern.slice(this.at, this.at + digits)
    this.at += digits
    return String.fromCodePoint(Number.parseInt(hex, 16))
  }

  private braced(isName = false): string {
    const end = this.pattern.indexOf("}", this.at)
    if (end < 0) throw new Error("unbalanced")
    const inside = this.pattern.slice(this.at + 1, end)
    this.at = end + 1
    return isName ? inside : String.fromCodePoint(Number.parseInt(inside, 16))
  }

  private peek(): string | undefined {
    return this.pattern[this.at]
  }

  private next(): string {
    const char = this.pattern[this.at++]
    if (char === undefined) throw new Error("unbalanced")
    return char
  }
}

function text(...choices: string[]): Part {
  return { kind: "text", choices }
}

function range(from: string, to: string): string[] {
  const start = from.codePointAt(0) ?? 0
  const length = Math.min(200, Math.max(1, (to.codePointAt(0) ?? start) - start + 1))
  return Array.from({ length }, (_, index) => String.fromCodePoint(start + index))
}
