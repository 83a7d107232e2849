/** Refuses what the provider of an address would refuse, in the words and the form of that provider. */
import { AnthropicRules } from "./anthropic-rules.ts"
import { checkChat } from "./openai-chat-rules.ts"
import { ResponsesRules } from "./openai-responses-rules.ts"
import { type Data, isData, Refusal } from "./refusal.ts"

/** The rules of a server that is asked at different addresses. */
export class ProviderRules {
  readonly #responses = new ResponsesRules()
  readonly #anthropic = new AnthropicRules()

  /** What the provider answers instead of a reply, or undefined. */
  refusal(path: string, body: Data): { readonly status: number; readonly body: unknown } | undefined {
    try {
      if (path.endsWith("/chat/completions")) checkChat(body)
      if (path.endsWith("/responses")) this.#responses.check(body)
      if (path.endsWith("/messages")) this.#anthropic.check(body)
      return undefined
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { status, message, param } = error
      const type = "invalid_request_error"
      return path.endsWith("/messages")
        ? { status, body: { type: "error", error: { type, message } } }
        : { status, body: { error: { message, type, param, code: null } } }
    }
  }

  /** Remembers what was answered: JSON, or the events of a stream. */
  answered(path: string, body: Data, written: string): void {
    if (path.endsWith("/responses")) {
      const answer = wholeOf(written)
      if (answer !== undefined) this.#responses.answered(body, answer)
    }
    if (path.endsWith("/messages")) this.#anthropic.answered(body, wholeOf(written) ?? messageOf(written))
  }
}

/** The answer of a request without a stream, or the response that a stream of Responses ends with. */
function wholeOf(written: string): Data | undefined {
  if (!written.startsWith("event:") && !written.startsWith("data:")) return parsed(written)
  const ended = eventsOf(written).findLast(({ response }) => isData(response))
  return ended?.response as Data | undefined
}

/** Anthropic streams a message block by block. */
function messageOf(written: string): Data {
  const content: Record<string, unknown>[] = []
  for (const { type, index, content_block, delta } of eventsOf(written)) {
    if (type === "content_block_start") content[Number(index)] = { ...(content_block as Data) }
    const block = content[Number(index)]
    if (type !== "content_block_delta" || block === undefined || !isData(delta)) continue
    for (const key of ["text", "thinking", "signature"]) {
      if (typeof delta[key] === "string") block[key] = String(block[key] ?? "") + delta[key]
    }
  }
  return { content }
}

function eventsOf(written: string): Data[] {
  return written
    .split("\n")
    .filter((line) => line.startsWith("data:"))
    .map((line) => parsed(line.slice(5)))
    .filter((event) => event !== undefined)
}

function parsed(text: string): Data | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isData(value) ? value : undefined
  } catch {
    return undefined
  }
}
