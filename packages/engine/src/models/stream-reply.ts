/**
 * Puts a reply together from a stream, and tells each piece as it comes. A stream that ends without saying why was cut
 * off: nothing of it may become a reply. `retract` tells those who watch that what came is void.
 */
import type {
  LanguageModelV3Content,
  LanguageModelV3StreamPart,
  SharedV3ProviderMetadata,
  SharedV3Warning,
} from "@ai-sdk/provider"
import type { ReplyDelta } from "./model.ts"
import { providerError } from "./provider-error.ts"
import type { Answer } from "./reply.ts"

type Finish = Extract<LanguageModelV3StreamPart, { type: "finish" }>
type Tool = NonNullable<ReplyDelta["tool"]>

/** Text or reasoning that is still growing. */
interface Block {
  type: "text" | "reasoning"
  text: string
  providerMetadata?: SharedV3ProviderMetadata
}

export class StreamedReply {
  readonly #onDelta: ((delta: ReplyDelta) => void) | undefined
  readonly #content: LanguageModelV3Content[] = []
  readonly #blocks = new Map<string, Block>()
  readonly #tools = new Map<string, Tool & { told: number }>()
  readonly #told = { text: 0, reasoning: 0 }
  #said = ""
  #warnings: readonly SharedV3Warning[] = []
  #finish: Finish | undefined

  constructor(onDelta: ((delta: ReplyDelta) => void) | undefined) {
    this.#onDelta = onDelta
  }

  /** Everything that came, of every kind. */
  get said(): string {
    return this.#said
  }

  /** What the provider told, which it does at the end. */
  get usage(): Finish["usage"] | undefined {
    return this.#finish?.usage
  }

  /** True when the part is something the model says. */
  take(part: LanguageModelV3StreamPart): boolean {
    switch (part.type) {
      case "text-start":
      case "reasoning-start":
        this.#block(part)
        return false
      case "text-delta":
      case "reasoning-delta":
        this.#grow(part)
        return true
      case "text-end":
      case "reasoning-end":
        this.#block(part)
        this.#blocks.delete(keyOf(part))
        return false
      case "tool-input-start":
        if (part.providerExecuted !== true) {
          this.#tools.set(part.id, { id: part.id, name: part.toolName, told: 0 })
        }
        return true
      case "tool-input-delta":
        this.#tellTool(part.id, part.delta)
        return true
      case "tool-call":
        this.#call(part)
        return true
      case "file":
      case "source":
        this.#content.push(part)
        return true
      case "stream-start":
        this.#warnings = part.warnings
        return false
      case "finish":
        this.#finish = part
        return false
      case "error":
        // Whatever it is: call-failure.ts reads it by its looks.
        throw part.error
      default:
        return false
    }
  }

  answer(): Answer {
    const finish = this.#finish
    // Providers that do not notice a stream that was cut off say "other", and have no reason of the server's to show.
    if (
      finish === undefined ||
      (finish.finishReason.unified === "other" && finish.finishReason.raw === undefined)
    ) {
      throw providerError(
        { message: "The stream broke off: it ended without a reason.", retryable: true },
        "",
      )
    }
    const { finishReason, usage, providerMetadata } = finish
    return { content: this.#content, finishReason, usage, providerMetadata, warnings: this.#warnings }
  }

  /** What was told starts over, or is no more. */
  retract(): void {
    if (this.#told.text > 0) this.#onDelta?.({ kind: "text", text: "", offset: 0 })
    if (this.#told.reasoning > 0) this.#onDelta?.({ kind: "reasoning", text: "", offset: 0 })
    for (const { id, name, told } of this.#tools.values()) {
      if (told > 0) this.#onDelta?.({ kind: "tool", text: "", offset: 0, tool: { id, name } })
    }
  }

  /** The block that the part belongs to, with what the part adds to its metadata. */
  #block(part: Extract<LanguageModelV3StreamPart, { type: `${"text" | "reasoning"}-${string}` }>): Block {
    const key = keyOf(part)
    let block = this.#blocks.get(key)
    if (block === undefined) {
      block = { type: part.type.startsWith("text") ? "text" : "reasoning", text: "" }
      this.#blocks.set(key, block)
      this.#content.push(block)
    }
    if (part.providerMetadata !== undefined) {
      block.providerMetadata = merged(block.providerMetadata, part.providerMetadata)
    }
    return block
  }

  #grow(part: Extract<LanguageModelV3StreamPart, { type: "text-delta" | "reasoning-delta" }>): void {
    const block = this.#block(part)
    if (part.delta === "") return
    block.text += part.delta
    this.#said += part.delta
    const offset = this.#told[block.type]
    this.#told[block.type] = offset + part.delta.length
    this.#onDelta?.({ kind: block.type, text: part.delta, offset })
  }

  #tellTool(id: string, text: string): void {
    const tool = this.#tools.get(id)
    if (tool === undefined || text === "") return
    const offset = tool.told
    tool.told += text.length
    this.#said += text
    this.#onDelta?.({ kind: "tool", text, offset, tool: { id, name: tool.name } })
  }

  #call(part: Extract<LanguageModelV3StreamPart, { type: "tool-call" }>): void {
    this.#content.push(part)
    if (part.providerExecuted === true) return
    const known = this.#tools.get(part.toolCallId)
    if (known === undefined)
      this.#tools.set(part.toolCallId, { id: part.toolCallId, name: part.toolName, told: 0 })
    // Some give the arguments only when they are whole.
    if (known === undefined || known.told === 0) this.#tellTool(part.toolCallId, part.input)
  }
}

function keyOf({ type, id }: { readonly type: string; readonly id: string }): string {
  return `${type.startsWith("text") ? "text" : "reasoning"}:${id}`
}

/** Signatures and ids come in pieces, each under the provider's name. */
function merged(
  before: SharedV3ProviderMetadata | undefined,
  more: SharedV3ProviderMetadata,
): SharedV3ProviderMetadata {
  const all = { ...before }
  for (const [provider, values] of Object.entries(more)) all[provider] = { ...all[provider], ...values }
  return all
}
