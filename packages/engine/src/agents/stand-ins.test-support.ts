/** Models for tests. */
import type { LanguageModelV3CallOptions, LanguageModelV3GenerateResult } from "@ai-sdk/provider"
import { partsOf, streamOf } from "../models/call/reply-stream.ts"
import type { Model, Prompt } from "../models/index.ts"

/** The prompt of a model's n-th call, one line per message. */
export function shown(
  model: { readonly calls: readonly { readonly prompt: Prompt }[] },
  n: number,
): string[] {
  return (model.calls[n]?.prompt ?? []).map(({ role, content }) => {
    if (typeof content === "string") return `${role}: ${content}`
    return `${role}: ${content
      .map((part) => {
        if (part.type === "text") return part.text
        if (part.type === "tool-call") return `${part.toolName}${JSON.stringify(part.input)}`
        if (part.type === "tool-result") return JSON.stringify((part.output as { value?: unknown }).value)
        return part.type
      })
      .join(" | ")}`
  })
}

export interface Said {
  readonly text?: string
  readonly calls?: readonly { readonly name: string; readonly args?: unknown; readonly id?: string }[]
}

/**
 * A model whose reply depends only on its prompt, as crash tests need: `answer` receives the last message and the number
 * of earlier replies.
 */
export function pureModel(answer: (last: string, turn: number, agent: string) => string | Said) {
  const calls: LanguageModelV3CallOptions[] = []
  const reply = (options: LanguageModelV3CallOptions): LanguageModelV3GenerateResult => {
    options.abortSignal?.throwIfAborted()
    calls.push(options)
    const turn = options.prompt.filter(({ role }) => role === "assistant").length
    const agent = String(options.providerOptions?.superstep?.agent)
    const last = shown({ calls: [options] }, 0).at(-1) ?? ""
    const said = answer(last, turn, agent)
    const { text, calls: made = [] } = typeof said === "string" ? { text: said } : said
    return {
      content: [
        ...(text === undefined ? [] : [{ type: "text" as const, text }]),
        ...made.map(({ name, args = {}, id }, i) => ({
          type: "tool-call" as const,
          toolCallId: id ?? `${agent}-${turn}-${i}`,
          toolName: name,
          input: typeof args === "string" ? args : JSON.stringify(args),
        })),
      ],
      finishReason: { unified: made.length > 0 ? "tool-calls" : "stop", raw: undefined },
      usage: {
        inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 5, text: undefined, reasoning: undefined },
      },
      warnings: [],
    }
  }
  const model: Model = {
    specificationVersion: "v3",
    provider: "pure",
    modelId: "model",
    supportedUrls: {},
    doGenerate: async (options) => reply(options),
    doStream: async (options) => ({ stream: streamOf(partsOf(reply(options))) }),
  }
  return Object.assign(model, { calls })
}
