/** Replies as Anthropic's Messages give them, whole and as streams. */
import type { ServedReply } from "./model-server.ts"
import { json } from "./openai-replies.ts"

type Block = Readonly<Record<string, unknown>>

const USAGE = { input_tokens: 100, output_tokens: 10 }

export const thinking = (text: string, signature: string): Block => ({
  type: "thinking",
  thinking: text,
  signature,
})
export const toolUse = (id: string, name: string, input: unknown): Block => ({
  type: "tool_use",
  id,
  name,
  input,
})

function message(content: readonly Block[], stop_reason: string | null) {
  return {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m1",
    content,
    stop_reason,
    stop_sequence: null,
    usage: USAGE,
  }
}

/** A whole message. */
export function claude(content: readonly Block[], stop_reason: string): ServedReply {
  return json(message(content, stop_reason))
}

/** The events of a stream; `blocks` are those between its start and its end. */
export function claudeStream(stop_reason: string, ...blocks: readonly Block[]): ServedReply {
  const events = [
    { type: "message_start", message: message([], null) },
    ...blocks,
    { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 10 } },
    { type: "message_stop" },
  ]
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const one of events) response.write(`event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`)
    response.end()
  }
}

/** The same blocks as a stream: text and inputs in pieces, results whole. */
export function claudeBlocks(blocks: readonly Block[], stop_reason: string): ServedReply {
  const events = blocks.flatMap((block, index): Block[] => {
    const stop = { type: "content_block_stop", index }
    const start = (content_block: Block): Block => ({ type: "content_block_start", index, content_block })
    const delta = (one: Block): Block => ({ type: "content_block_delta", index, delta: one })
    if (block.type === "text")
      return [start({ ...block, text: "" }), delta({ type: "text_delta", text: block.text }), stop]
    if (block.input === undefined) return [start(block), stop]
    const partial_json = JSON.stringify(block.input)
    return [start({ ...block, input: {} }), delta({ type: "input_json_delta", partial_json }), stop]
  })
  return claudeStream(stop_reason, ...events)
}
