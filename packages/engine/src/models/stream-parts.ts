/** A whole reply as the parts of a stream: for models that have their reply before anyone asks how it is wanted. */
import type {
  LanguageModelV3Content,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider"

/** No piece is longer, so that text without spaces comes in pieces too. */
const LONGEST_PIECE = 24

/** Text word by word, the arguments of tool calls in pieces, as a provider would send them. */
export function partsOf(result: LanguageModelV3GenerateResult): LanguageModelV3StreamPart[] {
  const parts: LanguageModelV3StreamPart[] = [{ type: "stream-start", warnings: result.warnings }]
  if (result.response !== undefined) {
    const { id, timestamp, modelId } = result.response
    parts.push({
      type: "response-metadata",
      ...(id === undefined ? {} : { id }),
      ...(timestamp === undefined ? {} : { timestamp }),
      ...(modelId === undefined ? {} : { modelId }),
    })
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
  const { toolCallId, toolName, input } = content
  return [
    { type: "tool-input-start", id: toolCallId, toolName },
    ...pieces(input).map(
      (delta): LanguageModelV3StreamPart => ({ type: "tool-input-delta", id: toolCallId, delta }),
    ),
    { type: "tool-input-end", id: toolCallId },
    content,
  ]
}

/** At least two of what can be cut, never through the middle of a character. */
function pieces(text: string): string[] {
  const found = (text.match(/\S+\s*|\s+/g) ?? []).flatMap((word) => cut(word, LONGEST_PIECE))
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

/** One part each time it is asked for one. `broken` is what it breaks off with; an abort ends it at once. */
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
