/** Converts the parts of a stream to a reply, and a reply to the parts of a stream. */
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
  SharedV3Warning,
} from "@ai-sdk/provider"
import { type Json, jsonProblem } from "../../core/index.ts"
import { omitUndefined } from "../../core/internal.ts"
import {
  type FinishReason,
  type Model,
  type ModelCall,
  type ModelReply,
  modelName,
  type ReplyDelta,
  type ReplyPart,
} from "../model.ts"
import type { PriceTable } from "../prices.ts"
import { usageOf } from "../usage.ts"
import { providerError } from "./call-failure.ts"

type Finish = Extract<LanguageModelV3StreamPart, { type: "finish" }>
type Tool = NonNullable<ReplyDelta["tool"]>

/** Text or reasoning that is still arriving. */
interface Block {
  type: "text" | "reasoning"
  text: string
  providerMetadata?: SharedV3ProviderMetadata
}

interface OpenBlock {
  readonly id: string
  readonly block: Block
}

type BlockPart = Extract<LanguageModelV3StreamPart, { type: `${"text" | "reasoning"}-${string}` }>

/**
 * Assembles a reply from a stream, and sends each piece to `onDelta`. A stream that ends without a finish reason was
 * interrupted: no part of it may become a reply.
 */
export class StreamedReply {
  readonly #onDelta: ((delta: ReplyDelta) => void) | undefined
  readonly #content: LanguageModelV3Content[] = []
  /** Text and reasoning that has not ended, by its kind and id: few at the same time. */
  readonly #open: OpenBlock[] = []
  #tools: Map<string, Tool & { sent: number }> | undefined
  readonly #sent = { text: 0, reasoning: 0 }
  #received = ""
  #warnings: readonly SharedV3Warning[] = []
  #finish: Finish | undefined
  #id: string | undefined

  constructor(onDelta: ((delta: ReplyDelta) => void) | undefined) {
    this.#onDelta = onDelta
  }

  /** Everything received, of every kind. */
  get received(): string {
    return this.#received
  }

  /** The usage that the provider reports at the end. */
  get usage(): Finish["usage"] | undefined {
    return this.#finish?.usage
  }

  /** The provider's id of the response. */
  get id(): string | undefined {
    return this.#id
  }

  /** Returns whether the part is content of the reply. */
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
        this.#open.splice(this.#openAt(part), 1)
        return false
      case "tool-input-start":
        if (part.providerExecuted !== true) {
          this.#addTool(part.id, part.toolName)
        }
        return true
      case "tool-input-delta":
        this.#sendTool(part.id, part.delta)
        return true
      case "tool-call":
        this.#call(part)
        return true
      case "file":
      case "source":
      case "tool-result":
        this.#content.push(part)
        return true
      case "stream-start":
        this.#warnings = part.warnings
        return false
      case "response-metadata":
        this.#id = part.id
        return false
      case "finish":
        this.#finish = part
        return false
      case "error":
        // Not always an Error: call-failure.ts recognizes it by its fields.
        throw part.error
      default:
        return false
    }
  }

  answer(): Answer {
    const finish = this.#finish
    // A provider package that does not notice an interrupted stream reports "other", without the server's reason.
    if (
      finish === undefined ||
      (finish.finishReason.unified === "other" && finish.finishReason.raw === undefined)
    ) {
      const message = "The stream was interrupted: it ended without a finish reason."
      throw providerError({ message, retryable: true }, "")
    }
    const { finishReason, usage, providerMetadata } = finish
    return { content: this.#content, finishReason, usage, providerMetadata, warnings: this.#warnings }
  }

  /** Retracts the deltas that were sent: the reply starts over, or is discarded. */
  retract(): void {
    if (this.#sent.text > 0) this.#onDelta?.({ kind: "text", text: "", offset: 0 })
    if (this.#sent.reasoning > 0) this.#onDelta?.({ kind: "reasoning", text: "", offset: 0 })
    for (const { id, name, sent } of this.#tools?.values() ?? []) {
      if (sent > 0) this.#onDelta?.({ kind: "tool", text: "", offset: 0, tool: { id, name } })
    }
  }

  /** The block that the part belongs to; merges the part's metadata into it. */
  #block(part: BlockPart): Block {
    let block = this.#open[this.#openAt(part)]?.block
    if (block === undefined) {
      block = { type: kindOf(part), text: "" }
      this.#open.push({ id: part.id, block })
      this.#content.push(block)
    }
    if (part.providerMetadata !== undefined) {
      block.providerMetadata = merged(block.providerMetadata, part.providerMetadata)
    }
    return block
  }

  /** -1 if there is none. */
  #openAt(part: BlockPart): number {
    const kind = kindOf(part)
    return this.#open.findIndex(({ id, block }) => id === part.id && block.type === kind)
  }

  #addTool(id: string, name: string): void {
    this.#tools ??= new Map()
    this.#tools.set(id, { id, name, sent: 0 })
  }

  #grow(part: Extract<LanguageModelV3StreamPart, { type: "text-delta" | "reasoning-delta" }>): void {
    const block = this.#block(part)
    if (part.delta === "") return
    block.text += part.delta
    this.#received += part.delta
    const offset = this.#sent[block.type]
    this.#sent[block.type] = offset + part.delta.length
    this.#onDelta?.({ kind: block.type, text: part.delta, offset })
  }

  #sendTool(id: string, text: string): void {
    const tool = this.#tools?.get(id)
    if (tool === undefined || text === "") return
    const offset = tool.sent
    tool.sent += text.length
    this.#received += text
    this.#onDelta?.({ kind: "tool", text, offset, tool: { id, name: tool.name } })
  }

  #call(part: Extract<LanguageModelV3StreamPart, { type: "tool-call" }>): void {
    this.#content.push(part)
    if (part.providerExecuted === true) return
    const known = this.#tools?.get(part.toolCallId)
    if (known === undefined) this.#addTool(part.toolCallId, part.toolName)
    // Some providers send the arguments only when they are complete.
    if (known === undefined || known.sent === 0) this.#sendTool(part.toolCallId, part.input)
  }
}

function kindOf({ type }: BlockPart): Block["type"] {
  return type.startsWith("text") ? "text" : "reasoning"
}

/** Signatures and ids arrive in pieces, each under the provider's name. */
function merged(
  before: SharedV3ProviderMetadata | undefined,
  more: SharedV3ProviderMetadata,
): SharedV3ProviderMetadata {
  const all = { ...before }
  for (const [provider, values] of Object.entries(more)) all[provider] = { ...all[provider], ...values }
  return all
}

/** The maximum length of a piece, so that text without spaces is streamed in pieces too. */
const MAX_PIECE_LENGTH = 24

/** A complete reply as the parts of a stream: text word by word, the arguments of tool calls in pieces. */
export function partsOf(result: LanguageModelV3GenerateResult): LanguageModelV3StreamPart[] {
  const parts: LanguageModelV3StreamPart[] = [{ type: "stream-start", warnings: result.warnings }]
  if (result.response !== undefined) {
    const { id, timestamp, modelId } = result.response
    parts.push({ type: "response-metadata", ...omitUndefined({ id, timestamp, modelId }) })
  }
  for (const [index, content] of result.content.entries())
    parts.push(...partsOfContent(content, String(index)))
  const { finishReason, usage, providerMetadata } = result
  parts.push({ type: "finish", finishReason, usage, ...(providerMetadata ? { providerMetadata } : {}) })
  return parts
}

function partsOfContent(content: LanguageModelV3Content, id: string): LanguageModelV3StreamPart[] {
  if (content.type === "text" || content.type === "reasoning") {
    const { type, text, providerMetadata } = content
    return [
      { type: `${type}-start`, id },
      ...pieces(text).map((delta): LanguageModelV3StreamPart => ({ type: `${type}-delta`, id, delta })),
      { type: `${type}-end`, id, ...(providerMetadata ? { providerMetadata } : {}) },
    ]
  }
  if (content.type !== "tool-call") return [content]
  const { toolCallId, toolName, input, providerExecuted } = content
  return [
    { type: "tool-input-start", id: toolCallId, toolName, ...(providerExecuted && { providerExecuted }) },
    ...pieces(input).map(
      (delta): LanguageModelV3StreamPart => ({ type: "tool-input-delta", id: toolCallId, delta }),
    ),
    { type: "tool-input-end", id: toolCallId },
    content,
  ]
}

/** At least two pieces if possible; never splits a character. */
function pieces(text: string): string[] {
  const found = (text.match(/\S+\s*|\s+/g) ?? []).flatMap((word) => cut(word, MAX_PIECE_LENGTH))
  return found.length === 1 ? cut(text, Math.ceil([...text].length / 2)) : found
}

function cut(text: string, length: number): string[] {
  if (text.length <= length) return [text]
  const characters = [...text]
  const found: string[] = []
  for (let at = 0; at < characters.length; at += length)
    found.push(characters.slice(at, at + length).join(""))
  return found
}

/** The usage of a stand-in for a model. */
export function standInUsage(input?: number, output?: number): LanguageModelV3Usage {
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: undefined },
  }
}

/** One part per pull. `broken` is the error with which the stream ends; an abort ends it at once. */
export function streamOf(
  parts: readonly LanguageModelV3StreamPart[],
  { signal, broken }: { signal?: AbortSignal | undefined; broken?: unknown } = {},
): ReadableStream<LanguageModelV3StreamPart> {
  let next = 0
  return new ReadableStream(
    {
      pull(controller) {
        const part = parts[next++]
        if (signal?.aborted) controller.error(signal.reason)
        else if (part !== undefined) controller.enqueue(part)
        else if (broken !== undefined) controller.error(broken)
        else controller.close()
      },
    },
    { highWaterMark: 0 },
  )
}

/**
 * The same stream, observed part by part. It reads only when it is read. `onEnd` receives the error of an interrupted
 * stream.
 */
export function tapped(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  onPart: (part: LanguageModelV3StreamPart) => void,
  { onEnd, onCancel }: { onEnd?: (error?: unknown) => void; onCancel?: () => void } = {},
): ReadableStream<LanguageModelV3StreamPart> {
  const reader = stream.getReader()
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          onEnd?.(error ?? new Error("the stream was interrupted"))
          throw error
        })
        if (!done) {
          onPart(value)
          return controller.enqueue(value)
        }
        onEnd?.()
        controller.close()
      },
      cancel(reason) {
        onCancel?.()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

// The recorded form of a reply: plain data, converted from a provider's answer.

/** A model's answer, from `doGenerate` or assembled from a stream. */
export interface Answer {
  readonly content: readonly LanguageModelV3Content[]
  readonly finishReason: LanguageModelV3FinishReason
  readonly usage: LanguageModelV3Usage
  readonly providerMetadata?: unknown
  readonly warnings?: readonly SharedV3Warning[] | undefined
}

export function replyOf(model: Model, call: ModelCall, answer: Answer, prices: PriceTable): ModelReply {
  const name = modelName(model)
  const content = replyParts(answer.content)
  const metadata = metadataOf(answer)
  const finish = finishOf(answer.finishReason, content)
  const usage = usageOf(name, call, content, answer.usage, prices)
  const reply = { content, finish, model: name, usage }
  return metadata === undefined ? reply : { ...reply, metadata }
}

/** Providers share only a few finish reasons; the raw reason distinguishes the others. */
function finishOf(
  { unified, raw }: LanguageModelV3FinishReason,
  content: readonly ReplyPart[],
): FinishReason {
  if (raw === "pause_turn") return "pause"
  if (unified === "content-filter" && (raw === undefined || REFUSED.has(raw))) return "refusal"
  const isEmpty = content.every(({ type }) => type === "reasoning" || type === "source")
  return unified === "stop" && isEmpty ? "empty" : unified
}

/** Raw reasons of a reply in which the model itself refused. */
const REFUSED = new Set(["stop", "refusal", "end_turn"])

function replyParts(content: readonly LanguageModelV3Content[]): ReplyPart[] {
  const ids = new Set<string>()
  const parts: ReplyPart[] = []
  for (const part of content) {
    const made = replyPart(part, ids)
    if (made !== undefined) parts.push(made)
  }
  return parts
}

/** Undefined for empty text, and for preliminary results. */
function replyPart(part: LanguageModelV3Content, ids: Set<string>): ReplyPart | undefined {
  switch (part.type) {
    case "text":
      return part.text === "" ? undefined : withMetadata({ type: "text", text: part.text }, part)
    case "reasoning": {
      // Empty reasoning may have metadata that the provider expects back.
      if (part.text === "" && part.providerMetadata === undefined) return undefined
      return withMetadata({ type: "reasoning", text: part.text }, part)
    }
    case "tool-call": {
      if (part.providerExecuted === true) {
        const { toolCallId, toolName, input } = part
        return withMetadata({ type: "provider-call", id: toolCallId, name: toolName, args: input }, part)
      }
      const id = freshId(part.toolCallId, ids)
      // Some providers send an empty string for a call without arguments.
      const args = part.input.trim() === "" ? "{}" : part.input
      return withMetadata({ type: "tool-call", id, name: part.toolName, args }, part)
    }
    case "tool-result": {
      if (part.preliminary === true) return undefined
      const { toolCallId, toolName, isError } = part
      const result = plain(part.result) ?? null
      const made = { type: "provider-result", id: toolCallId, name: toolName, result } as const
      return withMetadata(isError === true ? { ...made, isError } : made, part)
    }
    case "file":
      return { type: "file", mediaType: part.mediaType, data: base64(part.data) }
    case "source":
      return withMetadata(
        {
          type: "source",
          id: part.id,
          ...(part.title === undefined ? {} : { title: part.title }),
          ...(part.sourceType === "url" ? { url: part.url } : {}),
        },
        part,
      )
    default:
      return undefined
  }
}

function withMetadata(
  made: Exclude<ReplyPart, { type: "file" }>,
  from: { readonly providerMetadata?: unknown },
): ReplyPart {
  const data = plain(from.providerMetadata)
  return data === undefined ? made : { ...made, providerMetadata: data }
}

function metadataOf({ providerMetadata, warnings }: Answer): Json | undefined {
  const data = plain(providerMetadata)
  const listed = warnings === undefined || warnings.length === 0 ? undefined : plain(warnings)
  if (listed === undefined) return data
  return { ...(data as Record<string, Json> | undefined), warnings: listed }
}

/** The value as JSON; undefined if that is impossible. */
function plain(value: unknown): Json | undefined {
  if (value === undefined || value === null) return undefined
  const problem = jsonProblem(value)
  if (problem === undefined) return value as Json
  if (problem.tooLarge !== undefined) return undefined
  try {
    return JSON.parse(JSON.stringify(value)) as Json
  } catch {
    return undefined
  }
}

function base64(data: string | Uint8Array): string {
  return typeof data === "string" ? data : Buffer.from(data).toString("base64")
}

/**
 * Returns a unique id with characters that every provider accepts, `wanted` if possible, and adds it to `taken`. Results
 * are matched with tool calls by id, and some models use an id twice.
 */
export function freshId(wanted: string, taken: Set<string>): string {
  const base = wanted === "" ? "call" : wanted
  let id = base
  for (let n = 2; taken.has(id); n++) id = `${base}_${n}`
  taken.add(id)
  return id
}
