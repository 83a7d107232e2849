/**
 * Reads regular expressions that can be matched in linear time: text, `.`, `[a-z]`, `\d \w \s \b \p{L} \u00e9`, `( )`,
 * `(?: )`, `(?<name> )`, `|`, `* + ? {n,m}` (lazy or not makes no difference to whether a text matches), `^ $`, `(?i)` at the
 * start, and look-ahead directly after a leading `^`, as in `^(?=.*\d)(?!.*\s).{8,}$`. They mean what they mean in
 * ECMAScript with the flag `u`. Refused: other look-around and back-references, which have no linear algorithm.
 */
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

export interface ReadPattern {
  readonly node: PatternNode
  /** Look-ahead at the start of the text: each must match there, or must not. */
  readonly conditions: readonly { readonly node: PatternNode; readonly isNegated: boolean }[]
}

/** What is wrong with a pattern. */
export class PatternError extends Error {}

const MAX_NESTING = 64

const NOTHING: PatternNode = { kind: "sequence", nodes: [] }
const START: PatternNode = { kind: "start" }
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

const MAX_NAME = 64
const CODE_POINT =
  /^(?:([dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{4}))/

function propertyTest(name: string): RegExp | undefined {
  try {
    return new RegExp(`^\\p${name}$`, "u")
  } catch {
    return undefined
  }
}

export class PatternReader {
  readonly #characters: readonly string[]
  readonly #ignoresCase: boolean
  #at = 0
  #depth = 0

  constructor(pattern: string) {
    this.#characters = [...pattern]
    this.#ignoresCase = pattern.startsWith("(?i)")
    if (this.#ignoresCase) this.#at = 4
  }

  read(): ReadPattern {
    const conditions = this.#conditions()
    const node = conditions.length === 0 ? this.#either() : this.#afterConditions()
    if (this.#at < this.#characters.length) throw this.#error(`")" closes nothing`)
    return { node, conditions }
  }

  /** `^(?=…)(?!…)`: all of them look at the same place, so each is a pattern by itself. */
  #conditions(): ReadPattern["conditions"] {
    const conditions: { node: PatternNode; isNegated: boolean }[] = []
    const start = this.#at
    if (!this.#takes("^")) return conditions
    for (let sign = this.#lookAhead(); sign !== undefined; sign = this.#lookAhead()) {
      this.#at += 3
      const node = this.#either()
      if (!this.#takes(")")) throw this.#error(`"(" is never closed`)
      conditions.push({ node: { kind: "sequence", nodes: [START, node] }, isNegated: sign === "!" })
    }
    if (conditions.length === 0) this.#at = start
    return conditions
  }

  #lookAhead(): string | undefined {
    const [open, question, sign] = this.#characters.slice(this.#at, this.#at + 3)
    return open === "(" && question === "?" && (sign === "=" || sign === "!") ? sign : undefined
  }

  #afterConditions(): PatternNode {
    const node = this.#sequence()
    if (this.#next() === "|") throw this.#error('put alternatives after a look-ahead in a group: "(?:a|b)"')
    return { kind: "sequence", nodes: [START, node] }
  }

  #error(reason: string): PatternError {
    return new PatternError(`${reason} (at character ${Math.min(this.#at, this.#characters.length) + 1})`)
  }

  #either(): PatternNode {
    if (++this.#depth > MAX_NESTING) throw this.#error("the pattern is nested too deep")
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
    if (this.#times() !== undefined) throw this.#error("two repetitions in a row: use brackets")
    return { kind: "repeat", node, ...times }
  }

  #times(): { least: number; most: number } | undefined {
    if (this.#takes("*")) return { least: 0, most: Number.POSITIVE_INFINITY }
    if (this.#takes("+")) return { least: 1, most: Number.POSITIVE_INFINITY }
    if (this.#takes("?")) return { least: 0, most: 1 }
    if (this.#next() !== "{") return undefined
    const end = this.#characters.indexOf("}", this.#at)
    const range = /^\{(\d{1,4})(,?)(\d{0,4})\}$/.exec(this.#characters.slice(this.#at, end + 1).join(""))
    if (range === null) throw this.#error(`"{" starts a number of times, like {2} or {2,4}; \\{ is the sign`)
    this.#at = end + 1
    const least = Number(range[1])
    const most = range[2] === "" ? least : range[3] === "" ? Number.POSITIVE_INFINITY : Number(range[3])
    if (most < least) throw this.#error("the numbers in { } are in the wrong order")
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
        return character((code) => code !== 10 && code !== 13 && code !== 0x2028 && code !== 0x2029)
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
        throw this.#error(`"${sign}" repeats nothing`)
      default:
        return character(this.#exactly(sign))
    }
  }

  #brackets(): PatternNode {
    if (this.#takes("?") && !this.#takes(":")) this.#groupName()
    const node = this.#either()
    if (!this.#takes(")")) throw this.#error(`"(" is never closed`)
    return node
  }

  #groupName(): void {
    const rest = this.#characters.slice(this.#at, this.#at + MAX_NAME).join("")
    const name = /^<[\p{L}_$][\p{L}\p{N}_$]*>/u.exec(rest)?.[0]
    if (name === undefined) {
      throw this.#error(
        "look-around (but for look-ahead right after a leading ^) and flags inside a pattern are not supported, as they cannot be matched in linear time",
      )
    }
    this.#at += [...name].length
  }

  #escape(): PatternNode {
    if (this.#next() === "b" || this.#next() === "B") {
      return { kind: this.#take() === "b" ? "boundary" : "inside" }
    }
    return character(this.#escaped())
  }

  #escaped(): (code: number) => boolean {
    const sign = this.#take()
    if (sign === "p" || sign === "P") return this.#property(sign === "P")
    const set = Object.hasOwn(SETS, sign) ? SETS[sign] : undefined
    return set ?? this.#exactly(this.#escapedSign(sign))
  }

  /** `\p{L}`, by the tables of the runtime: one character is tested at a time. */
  #property(isNegated: boolean): (code: number) => boolean {
    const rest = this.#characters.slice(this.#at, this.#at + MAX_NAME).join("")
    const name = /^\{[A-Za-z0-9_=]+\}/.exec(rest)?.[0]
    const test = name === undefined ? undefined : propertyTest(name)
    if (name === undefined || test === undefined) {
      throw this.#error("\\p is followed by the name of a Unicode property, such as \\p{L}")
    }
    this.#at += name.length
    return (code) => test.test(String.fromCodePoint(code)) !== isNegated
  }

  #escapedSign(sign: string): string {
    if (Object.hasOwn(CONTROLS, sign)) return CONTROLS[sign] as string
    if (sign === "u" || sign === "x") return this.#codePoint(sign)
    if (sign === "0" && !/[0-9]/.test(this.#next())) return "\0"
    if (sign === "c" && /[A-Za-z]/.test(this.#next()))
      return String.fromCharCode(this.#take().charCodeAt(0) % 32)
    if (/[1-9k]/.test(sign)) {
      throw this.#error("back-references are not supported, as they cannot be matched in linear time")
    }
    if (sign === "" || /[A-Za-z0-9]/.test(sign)) throw this.#error(`"\\${sign}" is not supported`)
    return sign
  }

  /** `\x41`, `\u00e9`, `\u{1f375}`, or a surrogate pair. */
  #codePoint(sign: "u" | "x"): string {
    const rest = this.#characters.slice(this.#at, this.#at + 12).join("")
    const form = sign === "x" ? /^([0-9a-fA-F]{2})/ : CODE_POINT
    const [written, pair, braces, four] = form.exec(rest) ?? []
    if (written === undefined) throw this.#error(`"\\${sign}" is followed by the number of a character`)
    this.#at += written.length
    if (sign === "u" && pair !== undefined) {
      return String.fromCharCode(...pair.split("\\u").map((part) => Number.parseInt(part, 16)))
    }
    const code = Number.parseInt((sign === "x" ? pair : (braces ?? four)) ?? "", 16)
    if (code > 0x10ffff) throw this.#error("there is no character with this number")
    return String.fromCodePoint(code)
  }

  #set(): PatternNode {
    const isNegated = this.#takes("^")
    const parts: ((code: number) => boolean)[] = []
    while (this.#next() !== "]" || parts.length === 0) {
      if (this.#next() === "") throw this.#error(`"[" is never closed`)
      parts.push(this.#setPart())
    }
    this.#take()
    return character((code) => parts.some((accepts) => accepts(code)) !== isNegated, parts.length)
  }

  #setPart(): (code: number) => boolean {
    const sign = this.#take()
    if (sign === "\\" && (Object.hasOwn(SETS, this.#next()) || /[pP]/.test(this.#next())))
      return this.#escaped()
    const first = sign === "\\" ? this.#signInSet() : sign
    const isRange = this.#next() === "-" && (this.#characters[this.#at + 1] ?? "]") !== "]"
    if (!isRange) return this.#exactly(first)
    this.#take()
    const end = this.#take()
    const last = end === "\\" ? this.#signInSet() : end
    const [low, high] = [first.codePointAt(0) ?? 0, last.codePointAt(0) ?? 0]
    if (low > high) throw this.#error(`the range ${first}-${last} is in the wrong order`)
    return this.#inAnyCase((code) => code >= low && code <= high)
  }

  /** In brackets `\b` is the backspace. */
  #signInSet(): string {
    return this.#takes("b") ? "\b" : this.#escapedSign(this.#take())
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
