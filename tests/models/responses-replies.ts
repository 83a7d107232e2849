/** Replies as OpenAI's Responses give them, whole and as streams. */
import type { ServedReply } from "./model-server.ts"

type Item = Readonly<Record<string, unknown>> & { readonly type: string }

export const reasoningItem = (id: string, summary = "", encrypted?: string): Item => ({
  type: "reasoning",
  id,
  summary: summary === "" ? [] : [{ type: "summary_text", text: summary }],
  ...(encrypted !== undefined && { encrypted_content: encrypted }),
})

/** Code that ran at the provider. */
export const codeItem = (id: string, code: string, outputs: readonly unknown[]): Item => ({
  type: "code_interpreter_call",
  id,
  status: "completed",
  container_id: "cntr_1",
  code,
  outputs,
})

export const messageItem = (id: string, text: string, annotations: readonly unknown[] = []): Item => ({
  type: "message",
  id,
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations }],
})

export const callItem = (id: string, callId: string, name: string, args: unknown): Item => ({
  type: "function_call",
  id,
  call_id: callId,
  name,
  arguments: JSON.stringify(args),
  status: "completed",
})

let answered = 0

/** An answer of these items; `more` changes the response, such as its status. */
export function responds(items: readonly Item[], more: Readonly<Record<string, unknown>> = {}): ServedReply {
  const response = {
    id: `resp_${++answered}`,
    object: "response",
    created_at: 1_750_000_000,
    model: "gpt-5",
    status: "completed",
    output: items,
    usage: { input_tokens: 100, output_tokens: 10 },
    ...more,
  }
  return (served, { body }) => {
    if (body.stream !== true) {
      served.writeHead(200, { "content-type": "application/json" })
      served.end(JSON.stringify(response))
      return
    }
    served.writeHead(200, { "content-type": "text/event-stream" })
    const events = [
      { type: "response.created", response: { ...response, output: [], status: "in_progress" } },
      ...items.flatMap(itemEvents),
      { type: `response.${String(response.status)}`, response },
    ]
    for (const event of events) served.write(`data: ${JSON.stringify(event)}\n\n`)
    served.end()
  }
}

function itemEvents(item: Item, output_index: number): object[] {
  const added = { type: "response.output_item.added", output_index, item: { ...item, status: "in_progress" } }
  const done = { type: "response.output_item.done", output_index, item }
  if (item.type === "code_interpreter_call") {
    const { id: item_id, code } = item
    const about = { item_id, output_index }
    const written = [
      { type: "response.code_interpreter_call_code.delta", ...about, delta: code },
      { type: "response.code_interpreter_call_code.done", ...about, code },
    ]
    return [{ ...added, item: { ...item, status: "in_progress", code: "", outputs: null } }, ...written, done]
  }
  const [content] = (item.content ?? []) as readonly { text: string; annotations: readonly unknown[] }[]
  if (item.type !== "message" || content === undefined) return [added, done]
  const { text, annotations } = content
  const cited = annotations.map((annotation, annotation_index) => ({
    type: "response.output_text.annotation.added",
    item_id: item.id,
    output_index,
    content_index: 0,
    annotation_index,
    annotation,
  }))
  const delta = {
    type: "response.output_text.delta",
    item_id: item.id,
    output_index,
    content_index: 0,
    delta: text,
  }
  return [added, delta, ...cited, done]
}
