/**
 * Sends a model's reply to watchers as it arrives, without secrets. Calls with secret arguments are not sent, and the
 * values of these arguments are masked in the text around them. If a secret arrived before its call, the text is
 * retracted and sent again, so that watchers end up with the recorded reply.
 */

import type { Json } from "../core/index.ts"
import type { ModelReply, ReplyDelta } from "../models/index.ts"
import { MASK } from "../text/index.ts"
import type { Tool } from "../tools/index.ts"
import type { Masking } from "../tools/internal.ts"
import { maskingOf, type Secrets, secretNames } from "./secrets.ts"

type TextKind = "text" | "reasoning"

export class LiveReply {
  readonly #send: (delta: ReplyDelta) => void
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #secrets: Secrets
  readonly #masked = new Map<TextKind, MaskedText>()
  /** The arguments received so far of calls with secrets. */
  readonly #calls = new Map<string, { readonly names: readonly string[]; args: string }>()
  #texts: readonly string[] | undefined

  constructor(send: (delta: ReplyDelta) => void, tools: ReadonlyMap<string, Tool>, secrets: Secrets) {
    this.#send = send
    this.#tools = tools
    this.#secrets = secrets
  }

  take(delta: ReplyDelta): void {
    if (delta.kind !== "tool") return this.#sendText(delta.kind, delta)
    const { id, name } = delta.tool ?? { id: "", name: "" }
    const names = secretNames(this.#tools, name)
    if (names.length === 0) return this.#send(delta)
    const before = delta.offset === 0 ? "" : (this.#calls.get(id)?.args ?? "")
    this.#calls.set(id, { names, args: before + delta.text })
    this.#texts = undefined
  }

  /** Ends the reply. `reply` is its recorded form. */
  end(reply: ModelReply): void {
    for (const [kind, { sent }] of this.#masked) {
      const parts = reply.content.map((part) => (part.type === kind ? part.text : ""))
      const whole = parts.join("")
      if (whole === sent) continue
      const offset = sameLength(sent, whole)
      this.#send({ kind, text: whole.slice(offset), offset })
    }
  }

  #sendText(kind: TextKind, { text, offset }: ReplyDelta): void {
    let masked = this.#masked.get(kind)
    if (masked === undefined || offset === 0) {
      const isVoid = masked !== undefined && masked.sent !== ""
      masked = new MaskedText()
      this.#masked.set(kind, masked)
      if (isVoid) this.#send({ kind, text: "", offset: 0 })
    }
    const before = masked.sent.length
    const piece = masked.take(text, this.#secretTexts())
    if (piece !== "") this.#send({ kind, text: piece, offset: before })
  }

  #secretTexts(): readonly string[] {
    this.#texts ??= this.#secrets.texts(
      [...this.#calls.values()]
        .map(({ args, names }) => maskingOf(args, names))
        .filter((masking): masking is Masking => masking !== undefined),
    )
    return this.#texts
  }
}

/** The length of the common prefix. */
function sameLength(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}

/** Masks secrets in text that arrives in pieces. Holds back only what could be the beginning of a secret. */
export class MaskedText {
  #held = ""
  #sent = ""

  /** Everything sent so far. */
  get sent(): string {
    return this.#sent
  }

  /** Adds a piece, and returns the text that can be sent now. */
  take(piece: string, secrets: readonly string[]): string {
    const text = this.#held + piece
    let out = ""
    let from = 0
    let at = 0
    while (at < text.length) {
      const rest = text.length - at
      // A complete secret is held back too: it may be the beginning of a longer one.
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
    this.#sent += out
    return out
  }
}

/** The length of the longest secret that begins here. */
function longest(secrets: readonly string[], text: string, at: number): number {
  let length = 0
  for (const secret of secrets) {
    if (secret.length > length && text.startsWith(secret, at)) length = secret.length
  }
  return length
}

// Structured output as it arrives: parses JSON that is still being written.

/**
 * The value of an incomplete JSON text, or undefined if it has none yet. An incomplete string is included; an incomplete
 * number, literal or key is not. Text around the JSON, such as a code fence, is ignored.
 */
export function partialJson(text: string): Json | undefined {
  const start = text.search(/[[{]/)
  if (start < 0) return undefined
  const closers: string[] = []
  /** The end of the complete part, and the brackets that close it. */
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
      // A number may continue: only the character after it ends it.
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

/** The index after the closing quote; undefined if there is none. */
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

/** Removes an incomplete escape at the end, which would make the string invalid. */
function withoutEscape(text: string): string {
  return text.replace(/\\(?:u[\da-fA-F]{0,3})?$/, (cut, offset: number) => {
    const backslashes = /\\*$/.exec(text.slice(0, offset))?.[0].length ?? 0
    return backslashes % 2 === 0 ? "" : cut
  })
}

/**
 * Sends the data of an answer as it arrives. Parsing costs the length of the text, so longer texts are parsed less often.
 */
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
