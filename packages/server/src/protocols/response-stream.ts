/**
 * A turn of a run as a response of OpenAI: its output items, and the events that stream them. The `sequence_number` of an
 * event is its position in the run: edition, item, offset in the text of the item, and order among the events of one position.
 * Numbers grow and have gaps. They are the same on every read, so a client that sends its last one as `starting_after`
 * continues right there, even in the middle of text that has meanwhile arrived in other pieces.
 */
import type { OpenRequest, StoredRun, Usage } from "@superstep/engine"
import { refOf } from "./chat.ts"
import { approvalOf, type ChatCall, type ChatEnd, type ChatEvent, type ChatOutcome } from "./chat-fold.ts"
import { askingCall, failureOf, seconds } from "./openai-chat.ts"

/** Events at one position, characters of an item, items of a run: 45 bits, which leaves 8 for editions. */
const ORDERS = 8
const OFFSETS = 2 ** 22
const ITEMS = 2 ** 20

interface StreamPosition {
  readonly edition: number
  readonly item: number
  readonly offset: number
}

function numberOf({ edition, item, offset }: StreamPosition, order = 0): number {
  return ((edition * ITEMS + item) * OFFSETS + Math.min(offset, OFFSETS - 1)) * ORDERS + order
}

/** The position of a sequence number. */
export function positionOf(number: number): StreamPosition {
  const position = Math.floor(number / ORDERS)
  const item = Math.floor(position / OFFSETS)
  return { edition: Math.floor(item / ITEMS), item: item % ITEMS, offset: position % OFFSETS }
}

export interface ResponseData {
  readonly id: string
  readonly status: string
  readonly output: readonly object[]
  readonly [field: string]: unknown
}

export interface ResponseOptions {
  /** As the client sent them; what a run does not keep is unknown later. */
  readonly background?: boolean | undefined
  readonly previous?: string | undefined
  readonly conversation?: string | undefined
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export class ResponseStream {
  readonly id: string
  readonly #run: StoredRun
  readonly #options: ResponseOptions
  readonly #output: object[] = []
  /** Output items so far, void ones included. */
  #count = 0
  #open: { readonly item: number; readonly edition: number; readonly index: number } | undefined
  readonly #approvals = new Map<string, string>()
  #end: ChatEnd | undefined

  constructor(
    { run, turn }: { readonly run: StoredRun; readonly turn: number },
    options: ResponseOptions = {},
  ) {
    this.id = responseId(run.runId, turn)
    this.#run = run
    const previous = turn > 0 ? responseId(run.runId, turn - 1) : undefined
    this.#options = { previous, ...options }
  }

  /** The response as far as it is known. */
  get data(): ResponseData {
    const { background = true, previous = null, conversation, metadata = {} } = this.#options
    const error = this.#end === undefined ? undefined : failureOf(this.#end)
    return {
      id: this.id,
      object: "response",
      created_at: seconds(this.#run.createdAt),
      status: statusOf(this.#end),
      background,
      error: error === undefined ? null : { code: error.code, message: error.message },
      incomplete_details: this.#end?.status === "limit" ? { reason: "max_output_tokens" } : null,
      instructions: null,
      max_output_tokens: null,
      model: this.#run.workflow,
      output: [...this.#output],
      parallel_tool_calls: true,
      previous_response_id: previous,
      conversation: conversation === undefined ? null : { id: conversation },
      store: true,
      temperature: null,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_p: null,
      truncation: "disabled",
      usage: this.#end === undefined ? null : usageData(this.#end.usage),
      metadata,
    }
  }

  /** The events before the first one of the run. */
  begin(): readonly ResponseEvent[] {
    const at = { edition: 0, item: 0, offset: 0 }
    return [
      { number: numberOf(at), type: "response.created", response: this.data },
      { number: numberOf(at, 1), type: "response.in_progress", response: this.data },
    ]
  }

  /** `after`: the number of the last event that the client has. */
  add(event: ChatEvent, after = -1): readonly ResponseEvent[] {
    return this.#events(event).flatMap((made) => {
      if (made.number <= after) return []
      const has = positionOf(after)
      if (event.type !== "delta" || made.delta === undefined || has.item !== event.item) return [made]
      return [{ ...made, delta: event.text.slice(Math.max(0, has.offset - event.offset)) }]
    })
  }

  #events(event: ChatEvent): ResponseEvent[] {
    switch (event.type) {
      case "delta":
      case "done":
        return this.#text(event)
      case "result":
        return event.outcome.ok || event.outcome.denied !== true
          ? this.#called(event, event.call, event.outcome)
          : []
      case "request":
        return this.#asked(event, event.request)
      case "end": {
        this.#end = event
        const outcome = event.status === "limit" ? "incomplete" : failureOf(event) ? "failed" : "completed"
        return [{ number: numberOf(positionIn(event)), type: `response.${outcome}`, response: this.data }]
      }
      default:
        return []
    }
  }

  #text(event: Extract<ChatEvent, { type: "delta" | "done" }>): ResponseEvent[] {
    const { kind, item, edition } = event
    const isText = kind === "text"
    const id = `${isText ? "msg" : "rs"}_${refOf(this.#run.runId, item)}`
    const made: ResponseEvent[] = []
    const isOpen = this.#open?.item === item && this.#open.edition === edition
    const index = isOpen ? (this.#open?.index ?? 0) : this.#count++
    this.#open = { item, edition, index }
    const target = { item_id: id, output_index: index, [isText ? "content_index" : "summary_index"]: 0 }
    const partAt = isText ? "response.content_part" : "response.reasoning_summary_part"
    const textAt = isText ? "response.output_text" : "response.reasoning_summary_text"
    const more = isText ? { logprobs: [] } : {}
    if (!isOpen) {
      const start = { edition, item, offset: 0 }
      const added = textItem(id, kind, undefined, "in_progress")
      made.push(
        { number: numberOf(start), type: "response.output_item.added", output_index: index, item: added },
        { number: numberOf(start, 1), type: `${partAt}.added`, ...target, part: textPart(kind, "") },
      )
    }
    if (event.type === "delta") {
      const end = { edition, item, offset: event.offset + event.text.length }
      return [
        ...made,
        { number: numberOf(end), type: `${textAt}.delta`, ...target, delta: event.text, ...more },
      ]
    }
    const { text, isVoid } = event
    const end = { edition, item, offset: OFFSETS }
    const whole = textItem(id, kind, text, isVoid ? "incomplete" : "completed")
    if (!isVoid) this.#output.push(whole)
    this.#open = undefined
    return [
      ...made,
      { number: numberOf(end), type: `${textAt}.done`, ...target, text, ...more },
      { number: numberOf(end, 1), type: `${partAt}.done`, ...target, part: textPart(kind, text) },
      { number: numberOf(end, 2), type: "response.output_item.done", output_index: index, item: whole },
    ]
  }

  /** A tool that the workflow called itself. */
  #called(event: ChatEvent, call: ChatCall, outcome: ChatOutcome): ResponseEvent[] {
    const { id, name, args } = call
    const value = outcome.ok ? outcome.value : undefined
    return this.#whole(event, {
      type: "mcp_call",
      id: `mcp_${refOf(this.#run.runId, id)}`,
      server_label: this.#run.workflow,
      name,
      arguments: args,
      output: outcome.ok ? (typeof value === "string" ? value : JSON.stringify(value)) : null,
      error: outcome.ok ? null : outcome.error,
      status: outcome.ok ? "completed" : "failed",
      approval_request_id: this.#approvals.get(id) ?? null,
    })
  }

  #asked(event: ChatEvent, request: OpenRequest): ResponseEvent[] {
    const call = approvalOf(request)
    if (call === undefined) {
      const { id, name, arguments: args } = askingCall(this.#run.runId, request)
      const fc = `fc_${refOf(this.#run.runId, request.id)}`
      return this.#whole(event, {
        type: "function_call",
        id: fc,
        call_id: id,
        name,
        arguments: args,
        status: "completed",
      })
    }
    const id = `mcpr_${refOf(this.#run.runId, request.id)}`
    this.#approvals.set(call.id, id)
    const { name, args } = call
    const server_label = this.#run.workflow
    return this.#whole(event, { type: "mcp_approval_request", id, server_label, name, arguments: args })
  }

  #whole(event: ChatEvent, item: object): ResponseEvent[] {
    const output_index = this.#count++
    this.#output.push(item)
    const position = positionIn(event)
    return [
      { number: numberOf(position), type: "response.output_item.added", output_index, item },
      { number: numberOf(position, 1), type: "response.output_item.done", output_index, item },
    ]
  }
}

export interface ResponseEvent {
  readonly number: number
  readonly type: string
  readonly delta?: string
  readonly [field: string]: unknown
}

function responseId(run: string, turn: number): string {
  return `resp_${refOf(run, turn)}`
}

export function responseFrame({ number, ...event }: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number: number })}\n\n`
}

function positionIn({ item, edition }: ChatEvent): StreamPosition {
  return { edition, item, offset: 0 }
}

function textPart(kind: "text" | "reasoning", text: string) {
  if (kind === "reasoning") return { type: "summary_text", text }
  return { type: "output_text", text, annotations: [], logprobs: [] }
}

function textItem(id: string, kind: "text" | "reasoning", text: string | undefined, status: string) {
  const parts = text === undefined ? [] : [textPart(kind, text)]
  if (kind === "reasoning") return { type: "reasoning", id, summary: parts, status }
  return { type: "message", id, role: "assistant", content: parts, status }
}

function statusOf(end: ChatEnd | undefined): string {
  if (end === undefined) return "in_progress"
  switch (end.status) {
    case "waiting":
      return "completed"
    case "limit":
      return "incomplete"
    default:
      return end.status
  }
}

function usageData({ inputTokens = 0, outputTokens = 0, cachedInputTokens = 0, reasoningTokens = 0 }: Usage) {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
