/**
 * Sends a model's reply to watchers as it arrives, without secrets. Nothing of a call with secret arguments is sent, and
 * their values are masked in the text around it. A secret that arrived before its call is withdrawn at the end: the screen
 * shows what the record has.
 */
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
  /** The arguments of calls with secrets, as far as they have arrived. */
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

  /** The reply is complete; it is recorded like this. */
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

/** Masks secrets in text that arrives in pieces. Only what could be the beginning of a secret is held back. */
export class MaskedText {
  #held = ""
  #sent = ""

  /** All that was sent. */
  get sent(): string {
    return this.#sent
  }

  /** What can be sent now that another piece has arrived. */
  take(piece: string, secrets: readonly string[]): string {
    const text = this.#held + piece
    let out = ""
    let from = 0
    let at = 0
    while (at < text.length) {
      const rest = text.length - at
      // Also for a whole secret: it may be the beginning of a longer one.
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

/** How long the longest secret is that begins here. */
function longest(secrets: readonly string[], text: string, at: number): number {
  let length = 0
  for (const secret of secrets) {
    if (secret.length > length && text.startsWith(secret, at)) length = secret.length
  }
  return length
}
