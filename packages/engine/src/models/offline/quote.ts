/** Answers with the sentences of the prompt that match the request best, with their sources. */

import type { LanguageModelV3FilePart, LanguageModelV3ToolResultPart } from "@ai-sdk/provider"
import { clipped } from "../../text/index.ts"
import { isHeading, sentencesIn, spaced, tellingWords } from "../../text/internal.ts"
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

interface Answer {
  readonly text: string
  readonly sources: readonly Cited[]
}

export interface Cited {
  /** Its number in the text. */
  readonly number: number
  readonly name: string
}

interface Sentence {
  readonly text: string
  readonly passage: Passage
  readonly words: ReadonlySet<string>
  /** Words of the heading above it and of its source's name. */
  readonly above: ReadonlySet<string>
  readonly order: number
}

interface Found extends Sentence {
  readonly score: number
  /** How many of the request's words the sentence and its heading contain, and as a fraction from 0 to 1. */
  readonly shared: number
  readonly coverage: number
}

const MAX_READ = 300_000
const known = new WeakMap<readonly Passage[], readonly Sentence[]>()

function sentencesOf(passages: readonly Passage[]): readonly Sentence[] {
  const read = known.get(passages) ?? readSentences(passages)
  known.set(passages, read)
  return read
}

function readSentences(passages: readonly Passage[]): readonly Sentence[] {
  const sentences: Sentence[] = []
  let room = MAX_READ
  for (const passage of passages) {
    const title = tellingWords(spaced(passage.source ?? ""))
    let above: ReadonlySet<string> = new Set(title)
    for (const text of sentencesIn(passage.text.slice(0, room))) {
      const words = new Set(tellingWords(text))
      sentences.push({ text, passage, words, above, order: sentences.length })
      if (isHeading(text)) above = new Set([...title, ...words])
    }
    room = Math.max(0, room - passage.text.length)
  }
  return sentences
}

const ASKS_NUMBER =
  /\b(?:how (?:many|much|long|far|often|old|big|large|high|tall|deep|fast)|when|what (?:time|date|day|year)|price|cost|number|amount|total)\b/i

/** The sentences that share words with the request, best first. Rare words count more, words of the heading half. */
function rank(request: string, passages: readonly Passage[], limit = 8): Found[] {
  const sentences = sentencesOf(passages)
  const weights = tellingWords(request).map((word) => {
    const count = sentences.filter(({ words }) => words.has(word)).length
    return { word, weight: Math.log(1 + (sentences.length - count + 0.5) / (count + 0.5)) }
  })
  const wantsNumber = ASKS_NUMBER.test(request)
  const found = sentences.flatMap((sentence): Found[] => {
    const { text, words, above, passage } = sentence
    const own = weights.filter(({ word }) => words.has(word))
    const heading = weights.filter(({ word }) => above.has(word) && !words.has(word))
    const shared = own.length + heading.length
    if (shared === 0 || words.size < 2) return []
    const length = 0.8 + 0.02 * words.size
    const kind = isHeading(text) || text.endsWith("?") ? 0.4 : wantsNumber && /\d/.test(text) ? 1.3 : 1
    const score = ((sumOf(own) + sumOf(heading) / 2) / length) * kind * (passage.isMaterial ? 1 : 0.6)
    return [{ ...sentence, score, shared, coverage: shared / weights.length }]
  })
  return found.sort((a, b) => b.score - a.score || a.order - b.order).slice(0, limit)
}

function sumOf(weights: readonly { readonly weight: number }[]): number {
  return weights.reduce((sum, { weight }) => sum + weight, 0)
}

const MAX_QUOTED = 3
const MAX_DIGEST = 8
const MAX_ROWS = 10
/** A sentence below both thresholds does not answer the request. */
const MIN_COVERAGE = 0.3
const MIN_SHARED = 3
const MIN_RELATIVE_SCORE = 0.6
/** Tool results up to this length are quoted in full. */
const WHOLE_RESULT = 500
const DIGEST =
  /\b(?:summari[sz]e|summary|report|digest|overview|outline|synthesi[sz]e|write|draft|compose|review|translate|rewrite|shorten|key points|main points|takeaways?|bullet|condense|recap|combine|merge|conclusions?)\b/i

export function answer({ request, passages, calls }: Reading): Answer {
  const results = calls.filter(({ result }) => result !== undefined)
  if (results.length > 0 && results.every(({ result }) => result?.failed)) {
    return { text: results.map(failureText).join("\n"), sources: [] }
  }
  const fresh = results.flatMap(({ result }) => (result?.failed === false ? result.passages : []))
  const length = fresh.reduce((sum, { text }) => sum + text.length, 0)
  if (length > 0 && length <= WHOLE_RESULT)
    return cite(fresh.map((passage) => ({ text: passage.text, passage })))
  const material = fresh.length > 0 ? fresh : passages.filter(({ isMaterial }) => isMaterial)
  const best = bestOf(rank(request, passages, MAX_ROWS))
  if (DIGEST.test(request) && !request.endsWith("?") && material.length + passages.length > 0) {
    return cite(digest(material.length > 0 ? material : passages, MAX_DIGEST).map(shortened))
  }
  if (best.length > 0) return withRowNote(request, best)
  if (material.length === 0) return { text: nothingToQuote(request), sources: [] }
  const nearby = cite(digest(material, MAX_QUOTED).map(shortened))
  if (fresh.length > 0 || !request.includes("?")) return nearby
  return { ...nearby, text: `The context does not answer this directly. It says:\n${nearby.text}` }
}

function bestOf(found: readonly Found[]): Found[] {
  const [top] = found
  if (top === undefined || (top.coverage < MIN_COVERAGE && top.shared < MIN_SHARED)) return []
  const near = found.filter(({ score }) => score >= top.score * MIN_RELATIVE_SCORE)
  const distinct = near.filter(({ text }, at) => near.findIndex((one) => one.text === text) === at)
  return distinct.slice(0, isRow(top) ? MAX_ROWS : MAX_QUOTED).sort((a, b) => a.order - b.order)
}

/** `- name: Alpin Haus, city: Innsbruck`, as rows of tables are read. */
function isRow({ text }: Quote): boolean {
  return /^- [^:]{1,60}: [^\n]+, /.test(text)
}

const CALCULATES =
  /\b(?:how (?:many|much)|number of|count|total|sum|average|mean|altogether|overall|most|least|fewest|highest|lowest|largest|smallest|latest|newest|oldest|earliest)\b/i

/** For a question that needs a calculation over rows, returns the rows and a note that nothing is calculated. */
function withRowNote(request: string, best: readonly Found[]): Answer {
  const quoted = cite(best.map(shortened))
  const isNoted = best.filter(isRow).length > 1 && CALCULATES.test(request)
  return isNoted ? { ...quoted, text: `${ROW_NOTE}\n${quoted.text}` } : quoted
}

const ROW_NOTE = "I list the rows that match; I do not count or calculate:"

/** The first sentences of each passage, in turn. */
function digest(passages: readonly Passage[], limit: number): Sentence[] {
  const byPassage = new Map<Passage, Sentence[]>()
  for (const sentence of sentencesOf(passages)) {
    if (isHeading(sentence.text) || !/[\p{L}\p{N}]/u.test(sentence.text)) continue
    byPassage.set(sentence.passage, [...(byPassage.get(sentence.passage) ?? []).slice(0, limit), sentence])
  }
  const lists = [...byPassage.values()]
  const picked: Sentence[] = []
  for (let row = 0; row < limit; row++) {
    for (const list of lists) {
      const next = list[row]
      const isNew = next !== undefined && picked.every(({ text }) => text !== next.text)
      if (isNew && picked.length < limit) picked.push(next)
    }
  }
  return picked.sort((a, b) => a.order - b.order)
}

type Quote = Pick<Sentence, "text" | "passage">

function cite(quotes: readonly Quote[]): Answer {
  const sources: Cited[] = []
  const lines = quotes.map(({ text, passage }) => {
    const { quote, from } = sourcesOf(text, passage)
    const marks = from.map((name) => `[${numberOf(name, passage, sources)}]`).join("")
    return marks === "" ? quote : `${quote} ${marks}`
  })
  sources.sort((a, b) => a.number - b.number)
  const list = sources.map(({ number, name }) => `[${number}] ${name}`).join("\n")
  return { text: lines.join("\n") + (list === "" ? "" : `\n\nSources:\n${list}`), sources }
}

const IN_PLACE =
  /\s{0,3}[([](?:source|from|see)?:?\s{0,3}(https?:\/\/[^\s)\]]+|[\w./-]{1,120}\.[a-z][a-z0-9]{0,4})[)\]](\.?)$/i

/** A sentence without its citation marks, and its sources: those that it cites, else that of its passage. */
function sourcesOf(text: string, { cited, source }: Passage): { quote: string; from: readonly string[] } {
  const named = IN_PLACE.exec(text)
  if (named?.[1] !== undefined) return { quote: text.slice(0, named.index) + named[2], from: [named[1]] }
  const marks = /(?:\s{0,3}\[\d{1,3}\]){1,9}$/.exec(text)
  const numbers = [...(marks?.[0] ?? "").matchAll(/\d+/g)].map(Number)
  const from = numbers.flatMap((number) => cited?.get(number) ?? [])
  if (marks !== null && from.length > 0) return { quote: text.slice(0, marks.index), from }
  return { quote: text, from: source === undefined ? [] : [source] }
}

function numberOf(name: string, { source, number }: Passage, sources: Cited[]): number {
  const cited = sources.find((one) => one.name === name)
  if (cited !== undefined) return cited.number
  let next = source === name ? (number ?? 1) : 1
  while (sources.some((one) => one.number === next)) next++
  sources.push({ number: next, name })
  return next
}

function failureText({ name, result }: MadeCall): string {
  return `The tool ${name} failed: ${clip(result?.text ?? "")}`
}

function nothingToQuote(request: string): string {
  const words = request.match(/[\p{L}\p{N}][\p{L}\p{N}'_./-]*/gu) ?? []
  const telling = [...new Set(words.filter((word) => tellingWords(word).length > 0))].slice(0, 8)
  const asked = telling.length === 0 ? "" : ` You asked about: ${telling.join(", ")}.`
  return (
    `${NOTHING_TO_QUOTE}: I quote the documents, tool results and earlier steps in my prompt, fill in JSON and call tools ` +
    `that the request names. I know nothing by myself, and there is nothing here to quote.${asked} ` +
    "Give me documents or a tool to read them, or name a real model, for example openai/gpt-5."
  )
}

const MAX_LENGTH = 600

function shortened({ text, passage }: Quote): Quote {
  return { text: clip(text.replace(/^(?:[-*+•]|#{1,6})\s+/, "")), passage }
}

function clip(text: string): string {
  return clipped(text.replace(/\s+/g, " ").trim(), MAX_LENGTH)
}

/** The facts from which JSON is filled in. */
export interface Facts {
  readonly request: string
  readonly instructions: string
  readonly earlier: string
  /** The quotable passages as one string, cut so that searching is fast. */
  readonly context: string
  readonly hasEvidence: boolean
  readonly isAnswered: boolean
  /** Whether the values are arguments of a tool, which come only from the request. */
  readonly isForTool: boolean
  /** Values of earlier calls of the tool. */
  readonly used: ReadonlySet<string>
  /** The answer as text, without its list of sources. */
  answer(): string
  sources(): readonly string[]
  /** Sentences about a subject, best first. */
  sentences(about: string): readonly string[]
  /** How much of the request the best sentence covers: 0 to 1. */
  coverage(): number
}

const MAX_CONTEXT = 20_000

export function factsOf(
  reading: Reading,
  tool?: { readonly about: string; readonly used: ReadonlySet<string> },
): Facts {
  const { request, passages, earlier, isAnswered } = reading
  const material = passages.filter(({ isMaterial }) => isMaterial)
  const asked = new Map<string, readonly string[]>()
  let inWords: Answer | undefined
  const answered = () => {
    inWords ??= answer(reading)
    return inWords
  }
  const context = (material.length > 0 ? material : passages).map(({ text }) => text).join("\n")
  return {
    request,
    instructions: tool === undefined ? reading.instructions : `${tool.about}\n${reading.instructions}`,
    earlier,
    context: context.slice(0, MAX_CONTEXT),
    hasEvidence: material.length > 0,
    isAnswered,
    isForTool: tool !== undefined,
    used: tool?.used ?? new Set(),
    answer: () => answered().text.replace(/\n\nSources:\n(?:\[\d+\] [^\n]*\n?)+$/, ""),
    sources() {
      const cited = answered().sources.map(({ name }) => name)
      return [...new Set(cited.length > 0 ? cited : material.flatMap(({ source }) => source ?? []))]
    },
    sentences(about) {
      const known =
        asked.get(about) ?? rank(spaced(about), passages).map(({ text }) => text.replace(/\s+/g, " "))
      asked.set(about, known)
      return known
    },
    coverage: () => rank(request, passages, 1)[0]?.coverage ?? 0,
  }
}

// Reads a prompt: the last request, the instructions, the quotable passages, and the tool calls since the request.

/** The beginning of an answer without context. Later steps do not quote it as knowledge. */
const NOTHING_TO_QUOTE = "I am the offline stand-in, not a language model"

export interface Reading {
  readonly request: string
  readonly instructions: string
  /** The earlier user messages. */
  readonly earlier: string
  readonly passages: readonly Passage[]
  /** Tool calls since the request, in order. */
  readonly calls: readonly MadeCall[]
  /** Whether an assistant has already answered. */
  readonly isAnswered: boolean
  readonly callIds: ReadonlySet<string>
}

interface MadeCall {
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
        } else if (part.type === "tool-result" && !HANDOFF_TOOL.test(part.toolName)) {
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

/** Usual names of hand-off tools: their results are not answers. */
const HANDOFF_TOOL = /^(?:hand_?off|transfer_to)(?:_|$)/i

/** Instructions address the model; a sentence that does not is a fact that can be quoted. */
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
