/**
 * Parses regular expressions that can be matched in linear time: characters, `.`, `[a-z]`, `\d \w \s \b \p{L} \u00e9`, `( )`,
 * `(?: )`, `(?<name> )`, `|`, `* + ? {n,m}` (lazy or not makes no difference to whether a string matches), `^ $`, `(?i)` at the
 * start, and look-ahead directly after a leading `^`, as in `^(?=.*\d)(?!.*\s).{8,}$`. They mean what they mean in
 * ECMAScript with the flag `u`. Rejected: other look-around and back-references, which have no linear algorithm.
 */
type Accepts = (code: number) => boolean

export interface CharacterNode {
  readonly kind: "character"
  readonly accepts: Accepts
  /** How many tests `accepts` makes. */
  readonly cost: number
}

export type PatternNode =
  | CharacterNode
  | { readonly kind: "start" | "end" | "boundary" | "inside" }
  | { readonly kind: "sequence"; readonly nodes: readonly PatternNode[] }
  | { readonly kind: "either"; readonly nodes: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly node: PatternNode; readonly min: number; readonly max: number }

export interface ReadPattern {
  readonly node: PatternNode
  /** Look-ahead at the start of the string: each must match there, or must not. */
  readonly conditions: readonly { readonly node: PatternNode; readonly isNegated: boolean }[]
}

/** An invalid pattern. */
export class PatternError extends Error {}

const MAX_NESTING = 64

const START: PatternNode = { kind: "start" }
const character = (accepts: Accepts, cost = 1): PatternNode => ({ kind: "character", accepts, cost })

const isDigit: Accepts = (code) => code >= 48 && code <= 57
export const isWord: Accepts = (code) =>
  isDigit(code) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122) || code === 95
const SETS: Readonly<Record<string, Accepts>> = {
  d: isDigit,
  D: (code) => !isDigit(code),
  w: isWord,
  W: (code) => !isWord(code),
}

const TIMES = /([*+?])|\{(\d{1,4})(,?)(\d{0,4})\}/y
const UNBOUNDED = Number.POSITIVE_INFINITY
const QUANTIFIERS: Readonly<Record<string, { min: number; max: number }>> = {
  "*": { min: 0, max: UNBOUNDED },
  "+": { min: 1, max: UNBOUNDED },
  "?": { min: 0, max: 1 },
}

/** After a backslash: a set of characters. */
const SET_ESCAPE = /[dDwWsS]|[pP]\{\w{1,62}(?:=\w{1,62})?\}/y
/** After a backslash: a surrogate pair, `\u{1f375}`, `\u00e9` or `\x41`, `\cA`, `\0`, `\n`, or the character itself. */
const ESCAPE =
  /u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})|u\{([\da-fA-F]{1,6})\}|(?:u([\da-fA-F]{4})|x([\da-fA-F]{2}))|c([A-Za-z])|(0)(?!\d)|([nrtfv])|([^A-Za-z0-9])/uy
const CONTROLS: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11 }

export class PatternReader {
  readonly #source: string
  readonly #ignoresCase: boolean
  #at = 0
  #depth = 0

  constructor(pattern: string) {
    this.#source = pattern
    this.#ignoresCase = this.#match(/\(\?i\)/y) !== null
  }

  read(): ReadPattern {
    const conditions = this.#conditions()
    const node = conditions.length === 0 ? this.#either() : this.#afterConditions()
    if (this.#at < this.#source.length) throw this.#error(`")" closes nothing`)
    return { node, conditions }
  }

  /** `^(?=…)(?!…)`: all of them look at the start, so each is a pattern by itself. */
  #conditions(): ReadPattern["conditions"] {
    const conditions: { node: PatternNode; isNegated: boolean }[] = []
    if (this.#match(/\^(?=\(\?[=!])/y) === null) return conditions
    for (let open = this.#match(/\(\?([=!])/y); open !== null; open = this.#match(/\(\?([=!])/y)) {
      const node: PatternNode = { kind: "sequence", nodes: [START, this.#toBracket()] }
      conditions.push({ node, isNegated: open[1] === "!" })
    }
    return conditions
  }

  #afterConditions(): PatternNode {
    const node = this.#sequence()
    if (this.#next() === "|") throw this.#error('put alternatives after a look-ahead in a group: "(?:a|b)"')
    return { kind: "sequence", nodes: [START, node] }
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
    while (!["", "|", ")"].includes(this.#next())) nodes.push(this.#repeated(this.#atom()))
    return { kind: "sequence", nodes }
  }

  #repeated(node: PatternNode): PatternNode {
    const times = this.#times()
    if (times === undefined) return node
    this.#takes("?")
    if (this.#times() !== undefined) throw this.#error("two repetitions in a row: use parentheses")
    return { kind: "repeat", node, ...times }
  }

  #times(): { min: number; max: number } | undefined {
    const found = this.#match(TIMES)
    if (found === null) {
      if (this.#next() !== "{") return undefined
      throw this.#error(`"{" starts a number of times, like {2} or {2,4}; \\{ is the character`)
    }
    const [, sign, from, comma, to] = found
    if (sign !== undefined) return QUANTIFIERS[sign]
    const min = Number(from)
    const max = comma === "" ? min : to === "" ? UNBOUNDED : Number(to)
    if (max < min) throw this.#error("the numbers in { } are in the wrong order")
    return { min, max }
  }

  #atom(): PatternNode {
    const char = this.#take()
    switch (char) {
      case "(":
        return this.#brackets()
      case "[":
        return this.#set()
      case ".":
        return character((code) => code !== 10 && code !== 13 && code !== 0x2028 && code !== 0x2029)
      case "^":
        return START
      case "$":
        return { kind: "end" }
      case "\\": {
        if (this.#takes("b")) return { kind: "boundary" }
        if (this.#takes("B")) return { kind: "inside" }
        const escaped = this.#escaped()
        return character(typeof escaped === "number" ? this.#exactly(escaped) : escaped)
      }
      default:
        if ("*+?{".includes(char)) throw this.#error(`"${char}" repeats nothing`)
        return character(this.#exactly(codeOf(char)))
    }
  }

  #brackets(): PatternNode {
    if (this.#takes("?") && !this.#takes(":") && this.#match(/<[\p{L}_$][\p{L}\p{N}_$]{0,61}>/uy) === null) {
      throw this.#error(
        "look-around (except look-ahead right after a leading ^) and flags inside a pattern are not supported, as they cannot be matched in linear time",
      )
    }
    return this.#toBracket()
  }

  #toBracket(): PatternNode {
    const node = this.#either()
    if (!this.#takes(")")) throw this.#error(`"(" is never closed`)
    return node
  }

  #set(): PatternNode {
    const isNegated = this.#takes("^")
    const parts: Accepts[] = []
    // A leading "]" is the character itself.
    do parts.push(this.#setPart())
    while (!this.#takes("]"))
    return character((code) => parts.some((accepts) => accepts(code)) !== isNegated, parts.length)
  }

  #setPart(): Accepts {
    const low = this.#setElement()
    if (typeof low !== "number") return low
    if (this.#match(/-(?=[^\]])/y) === null) return this.#exactly(low)
    const high = this.#setElement()
    if (typeof high === "number" && low <= high) {
      return this.#inAnyCase((code) => code >= low && code <= high)
    }
    throw this.#error("a range goes from a character to a later one, like a-z")
  }

  #setElement(): number | Accepts {
    if (this.#next() === "") throw this.#error(`"[" is never closed`)
    if (!this.#takes("\\")) return codeOf(this.#take())
    // In brackets `\b` is the backspace.
    return this.#takes("b") ? 8 : this.#escaped()
  }

  #escaped(): number | Accepts {
    const set = this.#match(SET_ESCAPE)?.[0]
    if (set !== undefined) return SETS[set] ?? this.#nativeSet(set)
    const found = this.#match(ESCAPE)
    if (found === null) throw this.#badEscape(this.#take())
    const [, high, low, braces, four, two, control, zero, letter, char = ""] = found
    if (high !== undefined) return codeOf(String.fromCharCode(Number(`0x${high}`), Number(`0x${low}`)))
    const hex = braces ?? four ?? two
    const code = Number.parseInt(hex ?? "0", 16)
    if (code > 0x10ffff) throw this.#error("no character has this code")
    if (hex !== undefined || zero !== undefined) return code
    if (control !== undefined) return codeOf(control) % 32
    return letter === undefined ? codeOf(char) : (CONTROLS[letter] ?? 0)
  }

  /** `\s` or `\p{L}`, by the tables of the runtime: one character is tested at a time. */
  #nativeSet(name: string): Accepts {
    try {
      const pattern = new RegExp(`^\\${name}$`, "u")
      return (code) => pattern.test(String.fromCodePoint(code))
    } catch {
      throw this.#badEscape("p")
    }
  }

  #badEscape(char: string): PatternError {
    if (/[pP]/.test(char)) {
      return this.#error("\\p is followed by the name of a Unicode property, such as \\p{L}")
    }
    if (/[ux]/.test(char)) return this.#error(`"\\${char}" is followed by the number of a character`)
    if (/[1-9k]/.test(char)) {
      return this.#error("back-references are not supported, as they cannot be matched in linear time")
    }
    return this.#error(`"\\${char}" is not supported`)
  }

  #exactly(wanted: number): Accepts {
    return this.#inAnyCase((code) => code === wanted)
  }

  #inAnyCase(accepts: Accepts): Accepts {
    if (!this.#ignoresCase) return accepts
    return (code) => {
      const char = String.fromCodePoint(code)
      return accepts(code) || accepts(codeOf(char.toLowerCase())) || accepts(codeOf(char.toUpperCase()))
    }
  }

  #error(reason: string): PatternError {
    const { length } = [...this.#source.slice(0, this.#at)]
    return new PatternError(`${reason} (at character ${length + 1})`)
  }

  /** Reads what a sticky expression matches here. */
  #match(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at
    const found = expression.exec(this.#source)
    this.#at += found?.[0].length ?? 0
    return found
  }

  /** The next character; empty at the end. */
  #next(): string {
    const code = this.#source.codePointAt(this.#at)
    return code === undefined ? "" : String.fromCodePoint(code)
  }

  #take(): string {
    const char = this.#next()
    this.#at += char.length
    return char
  }

  #takes(char: string): boolean {
    if (this.#next() !== char) return false
    this.#at += char.length
    return true
  }
}

function codeOf(char: string): number {
  return char.codePointAt(0) ?? 0
}
