/** A reply as it is recorded: from what a provider gave, plain data that the journal takes. */
import type {
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3Usage,
  SharedV3Warning,
} from "@ai-sdk/provider"
import { type Json, jsonProblem } from "../core/index.ts"
import { freshId } from "./fresh-id.ts"
import type { Model, ModelCall, ModelReply, ReplyPart } from "./model.ts"
import { modelName } from "./model-name.ts"
import type { PriceTable } from "./prices.ts"
import { usageOf } from "./usage.ts"

/** What a model gave, by `doGenerate` or put together from a stream. */
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
    finish: answer.finishReason.unified,
    model: name,
    usage: usageOf(name, call, content, answer.usage, prices),
    ...(metadata === undefined ? {} : { metadata }),
  }
}

function replyParts(content: readonly LanguageModelV3Content[]): ReplyPart[] {
  const parts: ReplyPart[] = []
  const ids = new Set<string>()
  for (const given of content) {
    const part = replyPart(given, ids)
    if (part !== undefined) parts.push(part)
  }
  return parts
}

/** Undefined for what the provider did by itself, which is not for the agent to do, and for empty text. */
function replyPart(part: LanguageModelV3Content, ids: Set<string>): ReplyPart | undefined {
  switch (part.type) {
    case "text":
      return part.text === "" ? undefined : { type: "text", text: part.text, ...providerMetadata(part) }
    case "reasoning": {
      // Without text it may still carry what the provider wants to see again.
      if (part.text === "" && part.providerMetadata === undefined) return undefined
      return { type: "reasoning", text: part.text, ...providerMetadata(part) }
    }
    case "tool-call": {
      if (part.providerExecuted === true) return undefined
      const id = freshId(part.toolCallId, ids)
      // A call without arguments comes as an empty text from some.
      const args = part.input.trim() === "" ? "{}" : part.input
      return { type: "tool-call", id, name: part.toolName, args, ...providerMetadata(part) }
    }
    case "file":
      return { type: "file", mediaType: part.mediaType, data: base64(part.data) }
    case "source":
      return {
        type: "source",
        id: part.id,
        ...(part.title === undefined ? {} : { title: part.title }),
        ...(part.sourceType === "url" ? { url: part.url } : {}),
      }
    default:
      return undefined
  }
}

function providerMetadata(part: { readonly providerMetadata?: unknown }): { providerMetadata?: Json } {
  const data = plain(part.providerMetadata)
  return data === undefined ? {} : { providerMetadata: data }
}

function metadataOf({ providerMetadata: given, warnings }: Answer): Json | undefined {
  const data = plain(given)
  const told = warnings === undefined || warnings.length === 0 ? undefined : plain(warnings)
  if (told === undefined) return data
  return { ...(data as Record<string, Json> | undefined), warnings: told }
}

/** As JSON holds it; undefined where it cannot. */
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
