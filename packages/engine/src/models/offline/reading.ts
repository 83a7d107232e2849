/** Reads a prompt: what is asked last, what was instructed, what can be quoted, which tools were called since. */
import type { LanguageModelV3FilePart } from "@ai-sdk/provider"
import type { Message, Prompt } from "../model.ts"
import { NOTHING_TO_QUOTE } from "./notice.ts"
import { type Passage, passage } from "./passage.ts"
import { splitPassages } from "./passages.ts"
import { splitRequest } from "./request.ts"
import { readToolOutput, type ToolOutput } from "./tool-output.ts"

export interface Reading {
  readonly request: string
  readonly instructions: string
  readonly passages: readonly Passage[]
  /** Tool calls since the last user message, in order, with what came of them. */
  readonly calls: readonly MadeCall[]
  /** Somebody has answered already, if only with a word. */
  readonly isAnswered: boolean
  /** Ids of all tool calls in the prompt. */
  readonly callIds: ReadonlySet<string>
}

export interface MadeCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly output?: ToolOutput | undefined
}

/** A call that passes the request on: its result says nothing about it. */
export function isHandoff(name: string): boolean {
  return /^(?:hand_?off|route|transfer_to)(?:_|$)/i.test(name)
}

const SAID_BEFORE = 0.6
const INSTRUCTED = 0.7
const MAX_FILE = 1_000_000

export function readPrompt(prompt: Prompt): Reading {
  const lastUser = lastRequest(prompt)
  const instructions: string[] = []
  const passages: Passage[] = []
  const calls: { id: string; name: string; input: unknown; at: number; output?: ToolOutput }[] = []
  let request = ""
  prompt.forEach((message, at) => {
    if (message.role === "system") {
      const { rest, passages: named } = splitPassages(message.content)
      instructions.push(rest)
      passages.push(...named)
    } else if (message.role === "user") {
      const text = textOf(message)
      if (REPAIR.test(text) && at !== lastUser) return
      passages.push(...filesOf(message))
      if (at === lastUser) {
        const asked = splitRequest(text)
        request = asked.request
        passages.push(...asked.passages)
      } else {
        const { rest, passages: named } = splitPassages(text)
        passages.push(...named)
        if (rest !== "" && !rest.endsWith("?"))
          passages.push(passage(rest, undefined, undefined, SAID_BEFORE))
      }
    } else {
      for (const part of message.content) {
        if (part.type === "text" && part.text.trim() !== "") {
          passages.push(passage(part.text, undefined, undefined, SAID_BEFORE))
        } else if (part.type === "tool-call") {
          calls.push({ id: part.toolCallId, name: part.toolName, input: part.input, at })
        } else if (part.type === "tool-result") {
          const call = calls.findLast(({ id }) => id === part.toolCallId)
          const output = readToolOutput(part, call?.input)
          if (call !== undefined) call.output = output
          if (!output.failed && !isHandoff(part.toolName)) passages.push(...output.passages)
        }
      }
    }
  })
  const instructed = instructions.join("\n\n").trim()
  if (request === "") request = directiveOf(instructed)
  passages.push(...factsOf(instructed))
  return {
    request,
    instructions: instructed,
    passages: passages.filter(({ text }) => text !== "" && !text.startsWith(NOTHING_TO_QUOTE)),
    calls: calls.filter(({ at }) => at > lastUser),
    isAnswered: prompt.some(
      (message) => message.role === "assistant" && message.content.some(({ type }) => type === "text"),
    ),
    callIds: new Set(calls.map(({ id }) => id)),
  }
}

/** A word on the form of an answer repeats the request before it. */
const REPAIR = /^Your answer does not fit\b/

function lastRequest(prompt: Prompt): number {
  const asks = (message: Message) => message.role === "user" && !REPAIR.test(textOf(message))
  const at = prompt.findLastIndex(asks)
  return at < 0 ? prompt.findLastIndex(({ role }) => role === "user") : at
}

/** Instructions address the model; a sentence that does not is a fact that may be quoted. */
const DIRECTIVE =
  /^(?:[-*\d.)\s]*)(?:you|your|yours|always|never|answer|respond|reply|be|do|don't|use|act|write|when|if|only|keep|make|please|return|output|give|help|classify|route|hand|choose|pick|decide|translate|summari[sz]e|review|call|ask|say|think|read|find|search|extract|list|explain|follow|avoid|ensure|note)\b/i
const FACT =
  /\b(?:is|are|was|were|has|have|costs?|opens?|closes?|takes?|contains?|means|includes?|lasts?|ships?|=)\b|\d/i

function factsOf(instructions: string): Passage[] {
  if (instructions === "") return []
  const lines = instructions.split(/\n+|(?<=[.!?])\s+(?=[A-Z])/)
  const facts = lines.filter((line) => !DIRECTIVE.test(line) && FACT.test(line))
  return facts.length === 0 ? [] : [passage(facts.join("\n"), undefined, undefined, INSTRUCTED)]
}

function directiveOf(instructions: string): string {
  const sentences = instructions.split(/(?<=[.!?])\s+|\n+/)
  return (
    sentences.find((sentence) => DIRECTIVE.test(sentence) && !/^you\b/i.test(sentence)) ??
    sentences[0] ??
    ""
  ).trim()
}

function textOf(message: Extract<Message, { role: "user" }>): string {
  return message.content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join("\n")
    .trim()
}

function filesOf(message: Extract<Message, { role: "user" }>): Passage[] {
  return message.content
    .filter((part) => part.type === "file")
    .map((part) => ({ part, text: textOfFile(part) }))
    .filter(({ text }) => text !== "")
    .map(({ part, text }) => passage(text, part.filename, undefined, 1))
}

function textOfFile({ data, mediaType }: LanguageModelV3FilePart): string {
  if (!/^(?:text\/|application\/(?:json|xml|yaml))/.test(mediaType) || data instanceof URL) return ""
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : data
  return new TextDecoder().decode(bytes.subarray(0, MAX_FILE))
}
