/** Tokens by length, for when a provider does not tell and for what is decided before a call. An estimate, and marked so. */
import type { ModelCall } from "./model.ts"

const CHARACTERS_PER_TOKEN = 4
/** Scripts in which a character is about a token: Chinese, Japanese, Korean. */
const DENSE = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/g
/** What a message costs beside its text: its role and its borders. */
const PER_MESSAGE = 4
/** A picture or document: its size says little, so it counts as one page. */
const PER_FILE = 1_000

export function estimateTokens(text: string): number {
  const dense = text.match(DENSE)?.length ?? 0
  return dense + Math.ceil((text.length - dense) / CHARACTERS_PER_TOKEN)
}

/** What a model will read: the prompt and the tools it is offered. */
export function estimateInput(call: Pick<ModelCall, "prompt" | "tools">): number {
  let tokens = 0
  for (const { content } of call.prompt) {
    tokens += PER_MESSAGE
    if (typeof content === "string") {
      tokens += estimateTokens(content)
      continue
    }
    for (const part of content) {
      if (part.type === "text" || part.type === "reasoning") tokens += estimateTokens(part.text)
      else if (part.type === "file") tokens += PER_FILE
      else tokens += estimateTokens(JSON.stringify(part))
    }
  }
  return call.tools === undefined ? tokens : tokens + estimateTokens(JSON.stringify(call.tools))
}
