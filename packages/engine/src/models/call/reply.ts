/** The recorded form of a reply: plain data, converted from a provider's answer. */
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3Usage,
  SharedV3Warning,
} from "@ai-sdk/provider"
import { type Json, jsonProblem } from "../../core/index.ts"
import {
  type FinishReason,
  type Model,
  type ModelCall,
  type ModelReply,
  modelName,
  type ReplyPart,
} from "../model.ts"
import type { PriceTable } from "../prices.ts"
import { usageOf } from "../usage.ts"

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
  return {
    content,
    finish: finishOf(answer.finishReason, content),
    model: name,
    usage: usageOf(name, call, content, answer.usage, prices),
    ...(metadata === undefined ? {} : { metadata }),
  }
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
  return content.flatMap((part) => replyPart(part, ids) ?? [])
}

/** Undefined for empty text, and for preliminary results. */
function replyPart(part: LanguageModelV3Content, ids: Set<string>): ReplyPart | undefined {
  switch (part.type) {
    case "text":
      return part.text === "" ? undefined : { type: "text", text: part.text, ...providerMetadata(part) }
    case "reasoning": {
      // Empty reasoning may have metadata that the provider expects back.
      if (part.text === "" && part.providerMetadata === undefined) return undefined
      return { type: "reasoning", text: part.text, ...providerMetadata(part) }
    }
    case "tool-call": {
      if (part.providerExecuted === true) {
        const { toolCallId, toolName, input } = part
        return {
          type: "provider-call",
          id: toolCallId,
          name: toolName,
          args: input,
          ...providerMetadata(part),
        }
      }
      const id = freshId(part.toolCallId, ids)
      // Some providers send an empty string for a call without arguments.
      const args = part.input.trim() === "" ? "{}" : part.input
      return { type: "tool-call", id, name: part.toolName, args, ...providerMetadata(part) }
    }
    case "tool-result": {
      if (part.preliminary === true) return undefined
      const { toolCallId, toolName, isError } = part
      return {
        type: "provider-result",
        id: toolCallId,
        name: toolName,
        result: plain(part.result) ?? null,
        ...(isError === true && { isError }),
        ...providerMetadata(part),
      }
    }
    case "file":
      return { type: "file", mediaType: part.mediaType, data: base64(part.data) }
    case "source":
      return {
        type: "source",
        id: part.id,
        ...(part.title === undefined ? {} : { title: part.title }),
        ...(part.sourceType === "url" ? { url: part.url } : {}),
        ...providerMetadata(part),
      }
    default:
      return undefined
  }
}

function providerMetadata(part: { readonly providerMetadata?: unknown }): { providerMetadata?: Json } {
  const data = plain(part.providerMetadata)
  return data === undefined ? {} : { providerMetadata: data }
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
