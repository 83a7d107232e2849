/**
 * Tells those who watch what a model says, as it comes, and keeps out what is secret. Of a call with secret arguments
 * nothing is told; what they say is masked in the text around it. A secret that was said before its call came is taken
 * back at the end: what stays on the screen is what stays on record.
 */
import type { ModelReply, ReplyDelta } from "../models/index.ts"
import type { Tool } from "../tools/index.ts"
import type { Masking } from "../tools/secrets.ts"
import { MaskedText } from "./masked-text.ts"
import { maskingOf, type Secrets, secretNames } from "./secrets.ts"

type Said = "text" | "reasoning"

export class LiveReply {
  readonly #tell: (delta: ReplyDelta) => void
  readonly #tools: ReadonlyMap<string, Tool>
  readonly #secrets: Secrets
  readonly #said = new Map<Said, MaskedText>()
  /** The arguments of calls with secrets, as far as they have come. */
  readonly #calls = new Map<string, { readonly names: readonly string[]; args: string }>()
  #texts: readonly string[] | undefined

  constructor(tell: (delta: ReplyDelta) => void, tools: ReadonlyMap<string, Tool>, secrets: Secrets) {
    this.#tell = tell
    this.#tools = tools
    this.#secrets = secrets
  }

  take(delta: ReplyDelta): void {
    if (delta.kind !== "tool") return this.#say(delta.kind, delta)
    const { id, name } = delta.tool ?? { id: "", name: "" }
    const names = secretNames(this.#tools, name)
    if (names.length === 0) return this.#tell(delta)
    const before = delta.offset === 0 ? "" : (this.#calls.get(id)?.args ?? "")
    this.#calls.set(id, { names, args: before + delta.text })
    this.#texts = undefined
  }

  /** The reply has come whole, and this is how it is recorded. */
  end(reply: ModelReply): void {
    for (const [kind, { told }] of this.#said) {
      const parts = reply.content.map((part) => (part.type === kind ? part.text : ""))
      const whole = parts.join("")
      if (whole === told) continue
      const offset = sameLength(told, whole)
      this.#tell({ kind, text: whole.slice(offset), offset })
    }
  }

  #say(kind: Said, { text, offset }: ReplyDelta): void {
    let said = this.#said.get(kind)
    if (said === undefined || offset === 0) {
      const isVoid = said !== undefined && said.told !== ""
      said = new MaskedText()
      this.#said.set(kind, said)
      if (isVoid) this.#tell({ kind, text: "", offset: 0 })
    }
    const before = said.told.length
    const masked = said.take(text, this.#toKeepOut())
    if (masked !== "") this.#tell({ kind, text: masked, offset: before })
  }

  #toKeepOut(): readonly string[] {
    this.#texts ??= this.#secrets.texts(
      [...this.#calls.values()]
        .map(({ args, names }) => maskingOf(args, names))
        .filter((masking): masking is Masking => masking !== undefined),
    )
    return this.#texts
  }
}

/** How much of the two is the same from the start. */
function sameLength(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return length
}
