/**
 * Reads the patterns of `matches()`: what regular expressions have in common. Text, `.`, `[a-z]`, `\d \w \s \b`,
 * `( )`, `(?: )`, `|`, `* + ? {n,m}` (also lazy: it makes no difference to whether a text matches), `^ $`, and
 * `(?i)` at the start. Not there: look-around and back-references, which cannot be matched in linear time.
 */
import { MAX_NESTING } from "./work.ts"

export interface CharacterNode {
  readonly kind: "character"
  readonly accepts: (code: number) => boolean
  /** How many tests `accepts` makes. */
  readonly cost: number
}

export type PatternNode =
  | CharacterNode
  | { readonly kind: "start" | "end" | "boundary" | "inside" }
  | { readonly kind: "sequence"; readonly nodes: readonly PatternNode[] }
  | { readonly kind: "either"; readonly nodes: readonly PatternNode[] }
  | {
      readonly kind: "repeat"
      readonly node: PatternNode
      readonly least: number
      readonly most: number
    }

/** What is wrong with a pattern. */
export class PatternError extends Error {}

const NOTHING: PatternNode = { kind: "sequence", nodes: [] }
const character = (accepts: (code: number) => boolean, cost = 1): PatternNode => ({
  kind: "character",
  accepts,
  cost,
})
const isDigit = (code: number) => code >= 48 && code <= 57
export const isWord = (code: number): boolean =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const isSpace = (code: number) => /\s/.test(String.fromCodePoint(code))
const SETS: Readonly<Record<string, (code: number) => boolean>> = {
  d: isDigit,
  D: (code) => !isDigit(code),
  w: isWord,
  W: (code) => !isWord(code),
  s: isSpace,
  S: (code) => !isSpace(code),
}
const CONTROLS: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t", f: "\f", v: "\v" }

export class PatternReader {
  readonly #characters: readonly string[]
  readonly #ignoresCase: boolean
  #at = 0
  #depth = 0

  constructor(pattern: string) {
    this.#ignoresCase = pattern.startsWith("(?i)")
    this.#characters = [...(this.#ignoresCase ? pattern.slice(4) : pattern)]
  }

  read(): PatternNode {
    const node = this.#either()
    if (this.#at < this.#characters.length) throw new PatternError(`")" closes nothing`)
    return node
  }

  #either(): PatternNode {
    if (++this.#depth > MAX_NESTING) throw new PatternError("the pattern is nested too deep")
    const nodes = [this.#sequence()]
    while (this.#takes("|")) nodes.push(this.#sequence())
    this.#depth--
    return nodes.length === 1 ? (nodes[0] as PatternNode) : { kind: "either", nodes }
  }

  #sequence(): PatternNode {
    const nodes: PatternNode[] = []
    while (this.#at < this.#characters.length && this.#next() !== "|" && this.#next() !== ")") {
      nodes.push(this.#repeated(this.#atom()))
    }
    return nodes.length === 0 ? NOTHING : { kind: "sequence", nodes }
  }

  #repeated(node: PatternNode): PatternNode {
    const times = this.#times()
    if (times === undefined) return node
    this.#takes("?")
    if (this.#times() !== undefined) throw new PatternError("two repetitions in a row: use brackets")
    return { kind: "repeat", node, ...times }
  }

  #times(): { least: number; most: number } | undefined {
    if (this.#takes("*")) return { least: 0, most: Number.POSITIVE_INFINITY }
    if (this.#takes("+")) return { least: 1, most: Number.POSITIVE_INFINITY }
    if (this.#takes("?")) return { least: 0, most: 1 }
    if (this.#next() !== "{") return undefined
    const end = this.#characters.indexOf("}", this.#at)
    const range = /^\{(\d{1,4})(,?)(\d{0,4})\}$/.exec(this.#characters.slice(this.#at, end + 1).join(""))
    if (range === null)
      throw new PatternError(`"{" starts a number of times, like {2} or {2,4}; \\{ is the sign`)
    this.#at = end + 1
    const least = Number(range[1])
    const most = range[2] === "" ? least : range[3] === "" ? Number.POSITIVE_INFINITY : Number(range[3])
    if (most < least) throw new PatternError("the numbers in { } are in the wrong order")
    return { least, most }
  }

  #atom(): PatternNode {
    const sign = this.#take()
    switch (sign) {
      case "(":
        return this.#brackets()
      case "[":
        return this.#set()
      case ".":
        return character((code) => code !== 10 && code !== 13)
      case "^":
        return { kind: "start" }
      case "$":
        return { kind: "end" }
      case "\\":
        return this.#escape()
      case "*":
      case "+":
      case "?":
      case "{":
        throw new PatternError(`"${sign}" repeats nothing`)
      default:
        return character(this.#exactly(sign))
    }
  }

  #brackets(): PatternNode {
    if (this.#takes("?") && !this.#takes(":")) {
      throw new PatternError("look-around, named groups and flags inside a pattern are not supported")
    }
    const node = this.#either()
    if (!this.#takes(")")) throw new PatternError(`"(" is never closed`)
    return node
  }

  #escape(): PatternNode {
    if (this.#next() === "b" || this.#next() === "B") {
      return { kind: this.#take() === "b" ? "boundary" : "inside" }
    }
    return character(this.#escaped())
  }

  #escaped(): (code: number) => boolean {
    const sign = this.#take()
    const set = Object.hasOwn(SETS, sign) ? SETS[sign] : undefined
    return set ?? this.#exactly(this.#escapedSign(sign))
  }

  #escapedSign(sign: string): string {
    if (Object.hasOwn(CONTROLS, sign)) return CONTROLS[sign] as string
    if (sign === "" || /[A-Za-z0-9]/.test(sign)) throw new PatternError(`"\\${sign}" is not supported`)
    return sign
  }

  #set(): PatternNode {
    const isNegated = this.#takes("^")
    const parts: ((code: number) => boolean)[] = []
    while (this.#next() !== "]" || parts.length === 0) {
      if (this.#next() === "") throw new PatternError(`"[" is never closed`)
      parts.push(this.#setPart())
    }
    this.#take()
    return character((code) => parts.some((accepts) => accepts(code)) !== isNegated, parts.length)
  }

  #setPart(): (code: number) => boolean {
    const sign = this.#take()
    if (sign === "\\" && Object.hasOwn(SETS, this.#next())) return this.#escaped()
    const first = sign === "\\" ? this.#escapedSign(this.#take()) : sign
    const isRange = this.#next() === "-" && (this.#characters[this.#at + 1] ?? "]") !== "]"
    if (!isRange) return this.#exactly(first)
    this.#take()
    const end = this.#take()
    const last = end === "\\" ? this.#escapedSign(this.#take()) : end
    const [low, high] = [first.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0]
    if (low > high) throw new PatternError(`the range ${first}-${last} is in the wrong order`)
    return this.#inAnyCase((code) => code >= low && code <= high)
  }

  #exactly(sign: string): (code: number) => boolean {
    const wanted = sign.codePointAt(0)
    return this.#inAnyCase((code) => code === wanted)
  }

  #inAnyCase(accepts: (code: number) => boolean): (code: number) => boolean {
    if (!this.#ignoresCase) return accepts
    return (code) => {
      const character = String.fromCodePoint(code)
      return [code, character.toLowerCase().codePointAt(0), character.toUpperCase().codePointAt(0)].some(
        (variant) => variant !== undefined && accepts(variant),
      )
    }
  }

  #next(): string {
    return this.#characters[this.#at] ?? ""
  }

  #take(): string {
    const sign = this.#next()
    this.#at++
    return sign
  }

  #takes(sign: string): boolean {
    if (this.#next() !== sign) return false
    this.#at++
    return true
  }
}
