/** Reads a prompt: what is asked last, what is instructed, what can be quoted, which tools were called since. */
import type { LanguageModelV3FilePart, LanguageModelV3ToolResultPart } from "@ai-sdk/provider"
import type { Message, Prompt } from "../model.ts"
import { parseIfJson } from "../redact.ts"
import {
  fieldOf,
  jsonPassages,
  type Passage,
  PLACE_FIELDS,
  passage,
  splitPassages,
  splitRequest,
} from "./passages.ts"

/** How an answer without context begins; a later step does not quote it as if it were knowledge. */
export const NOTHING_TO_QUOTE = "I am the offline stand-in, not a language model"

export interface Reading {
  readonly request: string
  readonly instructions: string
  /** What users said before the request. */
  readonly earlier: string
  readonly passages: readonly Passage[]
  /** Tool calls since the request, in order. */
  readonly calls: readonly MadeCall[]
  /** Somebody has answered already. */
  readonly isAnswered: boolean
  readonly callIds: ReadonlySet<string>
}

export interface MadeCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly result?: ToolResult | undefined
}

interface ToolResult {
  readonly failed: boolean
  readonly text: string
  readonly passages: readonly Passage[]
}

export function readPrompt(prompt: Prompt): Reading {
  const last = prompt.findLastIndex(({ role }) => role === "user")
  const instructions: string[] = []
  const earlier: string[] = []
  const passages: Passage[] = []
  const calls: { id: string; name: string; input: unknown; at: number; result?: ToolResult }[] = []
  let request = ""
  let isAnswered = false
  prompt.forEach((message, at) => {
    if (message.role === "user") {
      passages.push(...filesOf(message))
      const text = message.content
        .map((part) => (part.type === "text" ? part.text : ""))
        .join("\n")
        .trim()
      if (at === last) {
        const split = splitRequest(text)
        request = split.request
        passages.push(...split.passages)
      } else {
        const { rest, passages: found } = splitPassages(text)
        passages.push(...found)
        earlier.push(rest)
        if (!rest.endsWith("?")) passages.push(passage(rest, { isMaterial: false }))
      }
    } else if (message.role === "system") {
      const { rest, passages: found } = splitPassages(message.content)
      instructions.push(rest)
      passages.push(...found)
    } else {
      for (const part of message.content) {
        if (part.type === "text") {
          isAnswered ||= message.role === "assistant"
          passages.push(passage(part.text, { isMaterial: false }))
        } else if (part.type === "tool-call") {
          calls.push({ id: part.toolCallId, name: part.toolName, input: part.input, at })
        } else if (part.type === "tool-result" && !HANDS_OVER.test(part.toolName)) {
          const call = calls.findLast(({ id }) => id === part.toolCallId)
          const result = readResult(part, call?.input)
          if (call !== undefined) call.result = result
          if (!result.failed) passages.push(...result.passages)
        }
      }
    }
  })
  const instructed = instructions.join("\n\n").trim()
  const facts = factsIn(instructed)
  return {
    request: request === "" ? instructed : request,
    instructions: instructed,
    earlier: earlier.join("\n"),
    passages: [...passages, passage(facts, { isMaterial: false })].filter(
      ({ text }) => text !== "" && !text.startsWith(NOTHING_TO_QUOTE),
    ),
    calls: calls.filter(({ at }) => at > last),
    isAnswered,
    callIds: new Set(calls.map(({ id }) => id)),
  }
}

/** Tools that pass a conversation on, by the names that they usually have: their results answer nothing. */
const HANDS_OVER = /^(?:hand_?off|transfer_to)(?:_|$)/i

/** Instructions address the model; a sentence that does not is a fact that may be quoted. */
const ORDER =
  /^(?:[-*\d.)\s]*)(?:you|your|always|never|answer|respond|reply|be|do|don't|use|act|write|when|if|only|keep|make|please|return|output|give|help|classify|route|choose|pick|decide|translate|summari[sz]e|review|call|ask|say|think|read|find|search|extract|list|explain|follow|avoid|ensure|note)\b/i
const FACT =
  /\b(?:is|are|was|were|has|have|costs?|opens?|closes?|takes?|contains?|means|includes?|lasts?|ships?)\b|\d|=/i

function factsIn(instructions: string): string {
  const lines = instructions.split(/\n+|(?<=[.!?])\s+(?=[A-Z])/)
  return lines.filter((line) => !ORDER.test(line) && FACT.test(line)).join("\n")
}

const MAX_FILE = 1_000_000

function filesOf(message: Extract<Message, { role: "user" }>): Passage[] {
  const files = message.content.filter((part) => part.type === "file")
  return files.map((part) => passage(textOfFile(part), { source: part.filename }))
}

function textOfFile({ data, mediaType }: LanguageModelV3FilePart): string {
  if (!/^(?:text\/|application\/(?:json|xml|yaml))/.test(mediaType) || data instanceof URL) return ""
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : data
  return new TextDecoder().decode(bytes.subarray(0, MAX_FILE))
}

function readResult({ output }: LanguageModelV3ToolResultPart, input: unknown): ToolResult {
  const failed =
    output.type === "error-text" || output.type === "error-json" || output.type === "execution-denied"
  const value =
    output.type === "execution-denied"
      ? (output.reason ?? "It was not allowed.")
      : output.type === "content"
        ? output.value.map((item) => (item.type === "text" ? item.text : "")).join("\n")
        : output.value
  const source = fieldOf(input, PLACE_FIELDS)
  const data = typeof value === "string" ? parseIfJson(value) : value
  if (data !== undefined) {
    const rows = jsonPassages(data, source)
    return { failed, text: rows.map(({ text }) => text).join("\n"), passages: rows }
  }
  const text = String(value)
  const { rest, passages } = splitPassages(text)
  const own = rest === "" ? [] : [passage(rest, { source })]
  return { failed, text: text.trim(), passages: [...own, ...passages] }
}
