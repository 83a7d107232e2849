/** The smallest parts of JSON: white space, comments that should not be there, texts, numbers, words. */

export interface Slip {
  readonly start: number
  readonly end: number
  readonly message: string
  readonly suggestion?: string
  /** Nothing after it can be understood. */
  readonly last?: true
}

/** Reads on from an offset. What is wrong but can be understood is read, and told to `slip`. */
export class JsonText {
  readonly text: string
  at = 0
  readonly #slip: (slip: Slip) => void

  constructor(text: string, slip: (slip: Slip) => void) {
    this.text = text
    this.#slip = slip
  }

  peek(): string | undefined {
    return this.text[this.at]
  }

  skipSpace(): void {
    for (;;) {
      this.at = this.#endOf(/[ \t\r\n]*/y)
      const start = this.at
      if (this.text.startsWith("//", start) || this.peek() === "#") this.at = this.#endOf(/[^\r\n]*/y)
      else if (this.text.startsWith("/*", start)) {
        const close = this.text.indexOf("*/", start + 2)
        this.at = close === -1 ? this.text.length : close + 2
      } else return
      this.slip(start, this.at, "JSON has no comments. Remove it, or write YAML in a .yaml file.")
    }
  }

  slip(start: number, end: number, message: string, suggestion?: string): void {
    this.#slip({ start, end, message, ...(suggestion !== undefined && { suggestion }) })
  }

  /** A text in quotes, at its first quote. */
  readString(): string {
    const start = this.at
    const quote = this.text[start] ?? '"'
    let value = ""
    this.at++
    if (quote !== '"') this.slip(start, this.at, "JSON puts texts in double quotes.")
    for (;;) {
      const from = this.at
      this.at = this.#endOf(quote === '"' ? IN_DOUBLE : IN_SINGLE)
      value += this.text.slice(from, this.at)
      const sign = this.peek()
      if (sign === quote) {
        this.at++
        return value
      }
      if (sign === undefined || sign === "\n" || sign === "\r") {
        const message = "This text has no closing quote. Write a line break in it as \\n."
        this.#slip({ start, end: this.at, message, last: true })
        this.at = this.text.length
        return value
      }
      value += sign === "\\" ? this.#readEscape() : this.#readControl(sign)
    }
  }

  #readControl(sign: string): string {
    const name = sign === "\t" ? "a tab in a text as \\t" : "a control character in a text as \\u00…"
    this.slip(this.at, this.at + 1, `JSON writes ${name}.`)
    this.at++
    return sign
  }

  #readEscape(): string {
    const start = this.at
    const end = this.#endOf(/\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y)
    if (end > start) {
      this.at = end
      return JSON.parse(`"${this.text.slice(start, end)}"`) as string
    }
    const next = this.text[start + 1]
    const lineEnds = next === undefined || next === "\n" || next === "\r"
    this.at = start + (lineEnds ? 1 : 2)
    const message =
      next === "u"
        ? "A \\u escape has four hexadecimal digits."
        : "JSON does not know this escape. Write a \\ as \\\\."
    this.slip(start, this.at, message)
    return lineEnds ? "" : next
  }

  /** A number, true, false, null; or undefined when it is no value at all. */
  readPlain(): { readonly value: number | boolean | null } | undefined {
    const start = this.at
    const end = this.#endOf(/[\p{L}\p{N}_$.+-]+/uy)
    if (end === start) return undefined
    const word = this.text.slice(start, end)
    if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(word)) {
      this.at = end
      return { value: Number(word) }
    }
    const value = WORDS.get(word)
    if (value === undefined) return undefined
    this.at = end
    return { value }
  }

  /** A word that is no JSON, for the message about it. */
  readWord(): string {
    const start = this.at
    this.at = this.#endOf(/[\p{L}\p{N}_$.+-]+/uy)
    return this.text.slice(start, this.at)
  }

  #endOf(pattern: RegExp): number {
    pattern.lastIndex = this.at
    return pattern.test(this.text) ? pattern.lastIndex : this.at
  }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them in texts
const IN_DOUBLE = /[^"\\\x00-\x1F]*/y
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const IN_SINGLE = /[^'\\\x00-\x1F]*/y

const WORDS = new Map<string, boolean | null>([
  ["true", true],
  ["false", false],
  ["null", null],
])
