/**
 * Strict JSON with places. JSON.parse tells one problem, without a line; this tells what people and programs
 * write for JSON (comments, commas at the end, single quotes, bare keys), goes on, and tells the next.
 */
import { JsonText } from "./json-text.ts"
import { nearest } from "./nearest.ts"
import type { ReadResult, SourceReport } from "./source-report.ts"
import { MAX_DEPTH, MAX_VALUES, type Written, type WrittenEntry, writtenList, writtenMap } from "./written.ts"

export function readJson(text: string, report: SourceReport): ReadResult {
  const reader = new JsonReader(text, report)
  const root = reader.read()
  return { root, sound: reader.sound }
}

class JsonReader {
  /** Whether all of the text was understood. */
  sound = true
  readonly #text: JsonText
  readonly #report: SourceReport
  #depth = 0
  #values = 0
  #stopped = false

  constructor(text: string, report: SourceReport) {
    this.#report = report
    this.#text = new JsonText(text, ({ start, end, message, suggestion, last }) => {
      if (this.#stopped) return
      this.sound = false
      report.error("JSON_SYNTAX", message, start, end, suggestion)
      if (last) this.#stopped = true
    })
  }

  read(): Written | undefined {
    this.#text.skipSpace()
    if (this.#text.peek() === undefined) return undefined
    const root = this.#value()
    this.#text.skipSpace()
    if (this.#text.peek() !== undefined) {
      this.#stop("There is more text after the end of the value. A JSON file holds one value.")
    }
    return root
  }

  #value(): Written {
    const text = this.#text
    const start = text.at
    if (++this.#values > MAX_VALUES) {
      this.#stop(`The file holds more than ${MAX_VALUES} values. Split it.`, "FILE_TOO_LARGE")
    }
    switch (text.peek()) {
      case "{":
        return this.#nested(() => this.#map())
      case "[":
        return this.#nested(() => this.#list())
      case '"':
      case "'":
        return { kind: "scalar", style: "double", value: text.readString(), start, end: text.at }
    }
    const plain = text.readPlain()
    if (plain === undefined) return this.#noValue()
    const { value } = plain
    if (typeof value === "number") {
      this.#report.checkNumber(value, text.text.slice(start, text.at), start, text.at)
    }
    const kept = typeof value === "number" && !Number.isFinite(value) ? null : value
    return { kind: "scalar", style: "plain", value: kept, start, end: text.at }
  }

  #noValue(): Written {
    const text = this.#text
    const start = text.at
    const word = text.readWord()
    if (word === "") this.#stop(`A value is missing here${this.#found()}.`)
    else if (/^[+.\d-]/.test(word)) text.slip(start, text.at, `${word} is not a number in JSON.`)
    else {
      const meant = WORDS_OF_OTHERS.get(word) ?? nearest(word, ["true", "false", "null"])
      text.slip(
        start,
        text.at,
        "A text in JSON is in double quotes; bare are only true, false and null.",
        meant,
      )
    }
    return { kind: "scalar", style: "plain", value: null, start, end: text.at }
  }

  #nested(read: () => Written): Written {
    if (++this.#depth > MAX_DEPTH) {
      this.#stop(`Lists and mappings are nested deeper than ${MAX_DEPTH} levels here.`, "TOO_DEEP")
    }
    const written = read()
    this.#depth--
    return written
  }

  #list(): Written {
    const start = this.#text.at
    const items: Written[] = []
    this.#items("]", () => items.push(this.#value()))
    return writtenList(start, this.#text.at, items)
  }

  #map(): Written {
    const start = this.#text.at
    const entries = new Map<string, WrittenEntry>()
    this.#items("}", () => {
      const keyStart = this.#text.at
      const name = this.#key()
      const key = { start: keyStart, end: this.#text.at }
      this.#text.skipSpace()
      if (this.#text.peek() === ":") this.#text.at++
      else if (!this.#stopped) this.#text.slip(key.start, key.end, "A key is followed by `:` and a value.")
      this.#text.skipSpace()
      const value = this.#value()
      const first = entries.get(name)
      if (first === undefined) entries.set(name, { key, value })
      else if (!this.#stopped) this.#report.duplicateKey(name, key, first.key)
    })
    return writtenMap(start, this.#text.at, entries)
  }

  #key(): string {
    const text = this.#text
    const start = text.at
    if (text.peek() === '"' || text.peek() === "'") return text.readString()
    const word = text.readWord()
    if (word === "") this.#stop(`A key in double quotes is missing here${this.#found()}.`)
    else text.slip(start, text.at, "JSON puts keys in double quotes.", JSON.stringify(word))
    return word
  }

  /** What stands between the brackets, the reader being at the opening one. */
  #items(close: "]" | "}", readItem: () => void): void {
    const text = this.#text
    const open = text.at
    text.at++
    for (;;) {
      text.skipSpace()
      if (text.peek() === close) break
      if (text.peek() === undefined) return this.#neverClosed(open)
      readItem()
      text.skipSpace()
      const comma = text.at
      if (text.peek() === ",") {
        text.at++
        text.skipSpace()
        if (text.peek() === close) text.slip(comma, comma + 1, "JSON has no comma after the last item.")
      } else if (text.peek() !== close) {
        if (text.peek() === undefined) return this.#neverClosed(open)
        if (!/["'{[\p{L}\p{N}-]/u.test(text.peek() ?? "")) {
          return this.#stop(`Here should be a comma or ${close}${this.#found()}.`)
        }
        text.slip(text.at, text.at + 1, "A comma is missing before this.")
      }
    }
    text.at++
  }

  #found(): string {
    const sign = this.#text.peek()
    return sign === undefined ? ", at the end of the file" : `, not ${sign}`
  }

  #neverClosed(open: number): void {
    this.#text.slip(open, open + 1, `This ${this.#text.text[open]} is never closed.`)
    this.#end()
  }

  /** Tells what cannot be read past, and reads no further. */
  #stop(message: string, code = "JSON_SYNTAX"): void {
    if (!this.#stopped) this.#report.error(code, message, this.#text.at, this.#text.at + 1)
    this.#end()
  }

  #end(): void {
    this.sound = false
    this.#stopped = true
    this.#text.at = this.#text.text.length
  }
}

const WORDS_OF_OTHERS = new Map([
  ["None", "null"],
  ["nil", "null"],
  ["undefined", "null"],
  ["NaN", "null"],
  ["yes", "true"],
  ["no", "false"],
  ["on", "true"],
  ["off", "false"],
])
