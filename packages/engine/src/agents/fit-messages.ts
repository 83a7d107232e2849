/**
 * Makes a conversation fit into a number of tokens, by estimate. Whole turns are removed, the oldest first. System
 * messages, the last user message and the newest turn stay, but their long tool results are cut, then their long texts.
 * Pure:
 *
 * F1 a tool call keeps its result, and a result its call: only their content becomes shorter.
 * F2 text is cut in the middle: its beginning and its end stay.
 * F3 reasoning is never changed: providers verify it.
 */
import { estimateInput, estimateTokens, type Message } from "../models/index.ts"
import { cutText, isInPair } from "../text/index.ts"
import { validHistory } from "./conversation.ts"

export interface HistoryBounds {
  /** The maximum number of tokens of one tool result; a longer one is cut in the middle. */
  readonly toolResultTokens?: number | undefined
  /**
   * How many of the newest tool results the model sees; earlier ones are cleared. Results that it has not seen yet always
   * stay.
   */
  readonly keepToolResults?: number | undefined
}

type ToolMessage = Extract<Message, { role: "tool" }>
type Result = Extract<ToolMessage["content"][number], { type: "tool-result" }>
type Output = Result["output"]
type Part = Exclude<Message["content"], string>[number]

const CLEARED = "[This result was removed to save space. Call the tool again if you need it.]"

/** The conversation with shorter tool results. */
export function withinBounds(messages: readonly Message[], bounds: HistoryBounds): readonly Message[] {
  const { toolResultTokens: most, keepToolResults: keep } = bounds
  const cleared = keep === undefined ? messages : clearOld(messages, keep)
  if (most === undefined) return cleared
  return mapResults(cleared, (result) => cutResult(result, most))
}

/** The conversation in at most this many tokens, as far as system messages, reasoning and files allow. */
export function fitMessages(messages: readonly Message[], tokens: number): readonly Message[] {
  if (tokensIn(messages) <= tokens) return messages
  const kept = newest(messages, windowStart(messages, tokens))
  if (tokensIn(kept) <= tokens) return kept
  const shorter = shortened(kept, tokens, resultSizes, (list, most) =>
    mapResults(list, (result) => cutResult(result, most)),
  )
  return tokensIn(shorter) <= tokens ? shorter : shortened(shorter, tokens, textSizes, cutTexts)
}

export function tokensIn(messages: readonly Message[]): number {
  return messages.reduce((sum, message) => sum + tokensOf(message), 0)
}

/** The messages from `start` on, without splitting a turn, and with the messages that must always be included. */
export function newest(messages: readonly Message[], start: number): readonly Message[] {
  if (start <= 0) return messages
  const kept = Math.max(Math.min(start, lastTurn(messages)), 0)
  const asked = messages.findLastIndex(({ role }) => role === "user")
  // Some providers refuse a conversation that does not begin with the user.
  const first = asked < kept ? kept : messages.findIndex(({ role }, at) => at >= kept && role === "user")
  return validHistory(
    messages.filter(({ role }, at) => (at >= kept && at >= first) || at === asked || role === "system"),
  )
}

/**
 * The index at which the newest turn begins. It always stays: a model that does not see the results of its calls repeats
 * them forever.
 */
export function lastTurn(messages: readonly Message[]): number {
  const last = messages.length - 1
  if (messages[last]?.role !== "tool") return last
  return messages.findLastIndex(({ role }) => role === "assistant")
}

/** The index of the first of the newest messages that fit. */
export function windowStart(messages: readonly Message[], tokens: number): number {
  let left = tokens
  for (let at = messages.length - 1; at >= 0; at--) {
    left -= tokensOf(messages[at] as Message)
    if (left < 0) return at + 1
  }
  return 0
}

export function tokensOf(message: Message): number {
  return estimateInput({ prompt: [message] })
}

// Tool results

function clearOld(messages: readonly Message[], keep: number): readonly Message[] {
  const unseen = messages.findLastIndex(({ role }) => role === "assistant")
  const seen = messages
    .slice(0, unseen)
    .flatMap((message) => (message.role === "tool" ? message.content : []))
  const recent = messages.slice(unseen).flatMap((message) => (message.role === "tool" ? message.content : []))
  const old = new Set<unknown>(seen.slice(0, Math.max(0, seen.length + recent.length - keep)))
  return mapResults(messages, (result) => (old.has(result) ? clear(result) : result))
}

function clear(result: Result): Result {
  if (measured(result.output) <= estimateTokens(CLEARED)) return result
  return { ...result, output: { type: "text", value: CLEARED } }
}

function mapResults(messages: readonly Message[], map: (result: Result) => Result): readonly Message[] {
  return messages.map((message) => {
    if (message.role !== "tool") return message
    const content = message.content.map((part) => (part.type === "tool-result" ? map(part) : part))
    return content.every((part, i) => part === message.content[i]) ? message : { ...message, content }
  })
}

function cutResult(result: Result, tokens: number): Result {
  if (measured(result.output) <= tokens) return result
  return { ...result, output: cutOutput(result.output, tokens) }
}

function cutOutput(output: Output, tokens: number): Output {
  switch (output.type) {
    case "text":
    case "error-text":
      return { ...output, value: cutMiddle(output.value, tokens, written) }
    case "json":
      return { type: "text", value: cutMiddle(JSON.stringify(output.value), tokens, written) }
    case "error-json":
      return { type: "error-text", value: cutMiddle(JSON.stringify(output.value), tokens, written) }
    case "content": {
      const texts = output.value.filter(({ type }) => type === "text").length
      const value = output.value.map((part) =>
        part.type === "text"
          ? { ...part, text: cutMiddle(part.text, Math.floor(tokens / texts), written) }
          : part,
      )
      return { ...output, value }
    }
    default:
      return output
  }
}

function measured(output: Output): number {
  switch (output.type) {
    case "execution-denied":
      return 0
    case "content":
      return output.value.reduce((sum, part) => sum + (part.type === "text" ? written(part.text) : 0), 0)
    default:
      return typeof output.value === "string" ? written(output.value) : written(JSON.stringify(output.value))
  }
}

// Cutting

/** Cuts every piece to the same maximum length, so that all of them fit. */
function shortened(
  messages: readonly Message[],
  tokens: number,
  sizesOf: (messages: readonly Message[]) => readonly number[],
  cut: (messages: readonly Message[], most: number) => readonly Message[],
): readonly Message[] {
  const sizes = sizesOf(messages)
  if (sizes.length === 0) return messages
  const others = Math.max(0, tokensIn(messages) - sizes.reduce((sum, size) => sum + size, 0))
  return cut(messages, Math.max(MIN_PIECE, maxPieceLength(sizes, tokens - others) - MARGIN))
}

/** Pieces are never cut to fewer tokens. */
const MIN_PIECE = 50
/** Tokens around a piece. */
const MARGIN = 4

/** The maximum length at which all pieces fit. */
function maxPieceLength(sizes: readonly number[], room: number): number {
  let left = room
  const ascending = [...sizes].sort((one, other) => one - other)
  for (const [i, size] of ascending.entries()) {
    const share = Math.floor(left / (ascending.length - i))
    if (size > share) return share
    left -= size
  }
  return Number.POSITIVE_INFINITY
}

function resultSizes(messages: readonly Message[]): number[] {
  return messages.flatMap((message) =>
    message.role === "tool"
      ? message.content.flatMap((part) => (part.type === "tool-result" ? [measured(part.output)] : []))
      : [],
  )
}

function textSizes(messages: readonly Message[]): number[] {
  return messages.flatMap((message) =>
    message.role === "user" || message.role === "assistant"
      ? message.content.flatMap((part) => {
          if (part.type === "text") return [estimateTokens(part.text)]
          return part.type === "tool-call" ? [estimateTokens(JSON.stringify(part.input) ?? "")] : []
        })
      : [],
  )
}

function cutTexts(messages: readonly Message[], most: number): readonly Message[] {
  return messages.map((message): Message => {
    if (message.role !== "user" && message.role !== "assistant") return message
    const content = (message.content as readonly Part[]).map((part) => {
      if (part.type === "text") {
        return estimateTokens(part.text) > most ? { ...part, text: cutMiddle(part.text, most) } : part
      }
      if (part.type !== "tool-call" || estimateTokens(JSON.stringify(part.input) ?? "") <= most) return part
      return { ...part, input: cutInput(part.input, most) }
    })
    const isSame = content.every((part, i) => part === message.content[i])
    return isSame ? message : ({ ...message, content } as Message)
  })
}

/** Arguments stay an object: their long strings are cut, or the whole of them if no string is long. */
function cutInput(input: unknown, most: number): unknown {
  const shorter = cutLeaves(input, most)
  if (estimateTokens(JSON.stringify(shorter)) <= most + MARGIN) return shorter
  return { cut: cutMiddle(JSON.stringify(input), most, written) }
}

function cutLeaves(value: unknown, most: number): unknown {
  if (typeof value === "string") return cutMiddle(value, most, written)
  if (Array.isArray(value)) return value.map((item) => cutLeaves(item, most))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cutLeaves(item, most)]))
}

/** The length of text as JSON, in which line breaks and quotes take two characters. */
function written(text: string): number {
  return estimateTokens(JSON.stringify(text))
}

const CHARACTERS_PER_TOKEN = 4

/** F2: two thirds from the beginning, one third from the end. */
export function cutMiddle(text: string, tokens: number, sizeOf = estimateTokens): string {
  if (sizeOf(text) <= tokens) return text
  let room = tokens * CHARACTERS_PER_TOKEN
  for (;;) {
    const head = cutText(text, Math.ceil((room * 2) / 3))
    const tail = lastOf(text, Math.floor(room / 3))
    const cut = `${head}\n[… ${text.length - head.length - tail.length} characters left out …]\n${tail}`
    const size = sizeOf(cut)
    if (size <= tokens || room < CHARACTERS_PER_TOKEN) return cut
    room = Math.floor(room * Math.min(0.9, tokens / size))
  }
}

function lastOf(text: string, characters: number): string {
  const start = text.length - characters
  return text.slice(isInPair(text, start) ? start + 1 : start)
}
