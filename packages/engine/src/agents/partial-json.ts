/** Parses JSON that is still being written. */
import type { Json } from "../core/index.ts"

/**
 * The value of the beginning of a JSON text, or undefined where there is none yet. A string that is not finished counts as
 * far as it goes; a number, a word or a key does not, until it is. Text around it, such as a code fence, is ignored.
 */
export function partialJson(text: string): Json | undefined {
  const start = text.search(/[[{]/)
  if (start < 0) return undefined
  const closers: string[] = []
  /** Up to here, everything is complete: what closes it gives a value. */
  let complete = { at: start, closers: "" }
  let at = start
  const isComplete = (end: number) => {
    complete = { at: end, closers: [...closers].reverse().join("") }
  }
  while (at < text.length) {
    const char = text[at] as string
    if (char === "{" || char === "[") {
      closers.push(char === "{" ? "}" : "]")
      isComplete(++at)
    } else if (char === "}" || char === "]") {
      if (closers.pop() !== char) break
      isComplete(++at)
      if (closers.length === 0) break
    } else if (char === '"') {
      const end = stringEnd(text, at)
      const isKey = closers.at(-1) === "}" && isBeforeKey(text, at)
      if (end === undefined) {
        if (isKey) break
        return parsed(`${withoutEscape(text)}"${[...closers].reverse().join("")}`, start)
      }
      at = end
      if (!isKey) isComplete(at)
    } else if (/[-\dtfn]/.test(char)) {
      const end = at + (/^[-+.\deE]+|^[a-z]+/.exec(text.slice(at, at + 40))?.[0].length ?? 1)
      // A number may continue: only what comes after it ends it.
      if (end >= text.length) break
      at = end
      isComplete(at)
    } else at++
  }
  return parsed(text.slice(0, complete.at) + complete.closers, start)
}

function parsed(text: string, start: number): Json | undefined {
  try {
    return JSON.parse(text.slice(start)) as Json
  } catch {
    return undefined
  }
}

/** After the closing quote; undefined where there is none. */
function stringEnd(text: string, start: number): number | undefined {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++
    else if (text[at] === '"') return at + 1
  }
  return undefined
}

function isBeforeKey(text: string, quote: number): boolean {
  let before = quote - 1
  while (before >= 0 && /\s/.test(text[before] as string)) before--
  return text[before] === "{" || text[before] === ","
}

/** An escape that is cut in two would make the string invalid. */
function withoutEscape(text: string): string {
  return text.replace(/\\(?:u[\da-fA-F]{0,3})?$/, (cut, offset: number) => {
    const backslashes = /\\*$/.exec(text.slice(0, offset))?.[0].length ?? 0
    return backslashes % 2 === 0 ? "" : cut
  })
}

/** Sends the data of an answer as it arrives. The longer the text, the rarer: reading it all costs its length. */
export class PartialAnswer {
  readonly #send: (value: Json) => void
  #text = ""
  #readAt = 0
  #last = ""

  constructor(send: (value: Json) => void) {
    this.#send = send
  }

  take(text: string, offset: number): void {
    this.#text = this.#text.slice(0, offset) + text
    if (offset === 0) this.#readAt = 0
    if (this.#text.length < this.#readAt + 1 + this.#readAt / 50) return
    this.#readAt = this.#text.length
    const value = partialJson(this.#text)
    const written = JSON.stringify(value)
    if (value === undefined || written === this.#last) return
    this.#last = written
    this.#send(value)
  }
}
