/** The answer in words: quoted sentences with their sources, or a plain word on what there is to quote. */
import { digest } from "./digest.ts"
import { NOTHING_TO_QUOTE } from "./notice.ts"
import type { Passage } from "./passage.ts"
import { WANTED, type Wish, wishOf } from "./question.ts"
import { type Found, rank } from "./rank.ts"
import { isHandoff, type MadeCall, type Reading } from "./reading.ts"
import { rootsOf } from "./words.ts"

export interface Answer {
  readonly text: string
  /** The sources it cites, by the number they have in the text. */
  readonly sources: readonly Cited[]
}

export interface Cited {
  readonly number: number
  readonly name: string
}

const MOST_QUOTED = 3
const MOST_DIGESTED = 8
/** A sentence with less of the request than this says nothing on it. */
const LEAST_COVERAGE = 0.2
const NEAR_THE_BEST = 0.6
const LONGEST_QUOTE = 600
/** Tool results up to this length are given whole: they were asked for. */
const WHOLE_RESULT = 500

export function answer(reading: Reading): Answer {
  const { request, passages, calls } = reading
  const wish = wishOf(request)
  const results = calls.filter(({ name, output }) => output !== undefined && !isHandoff(name))
  const failed = results.filter(({ output }) => output?.failed === true)
  if (results.length > 0 && failed.length === results.length) return { text: failures(failed), sources: [] }
  const whole = wholeResults(results)
  if (whole !== undefined) return quote(whole, asWritten)
  const fresh = results.flatMap(({ output }) => (output?.failed === false ? output.passages : []))
  const quotable = fresh.length > 0 ? fresh : passages
  if (wish === "digest" && quotable.length > 0) return quote(digestOn(request, quotable))
  const found = bestOf(rank(request, wish, passages))
  if (found.length > 0) return quote(found)
  const given = quotable.filter(({ weight }) => weight >= 1)
  if (given.length === 0) return { text: nothingToQuote(request, wish), sources: [] }
  const nearby = quote(digest(given, MOST_QUOTED))
  if (fresh.length > 0 || wish === "statement") return nearby
  return { ...nearby, text: `The context does not answer this directly. It says:\n${nearby.text}` }
}

/** The best sentences, in the order of the text. */
function bestOf(ranked: readonly Found[], most = MOST_QUOTED): Found[] {
  const top = ranked[0]
  if (top === undefined || top.coverage < LEAST_COVERAGE) return []
  const seen = new Set<string>()
  return ranked
    .filter(({ score }) => score >= top.score * NEAR_THE_BEST)
    .filter(({ text }) => !seen.has(text) && seen.add(text))
    .slice(0, most)
    .sort((a, b) => a.order - b.order)
}

/** A digest that leans to the request: the best sentences on it, filled up with the first ones of each passage. */
function digestOn(request: string, passages: readonly Passage[]): Found[] {
  const plain = digest(passages, MOST_DIGESTED)
  if (plain.length < MOST_DIGESTED) return plain
  const onTopic = bestOf(rank(request, "any", passages), MOST_QUOTED)
  const rest = plain.filter(({ text }) => !onTopic.some((found) => found.text === text))
  return [...onTopic, ...rest.slice(0, MOST_DIGESTED - onTopic.length)]
}

function quote(found: readonly Found[], shape = onOneLine): Answer {
  const sources: Cited[] = []
  const lines = found.map(({ text, passage }) => {
    const { said, from } = sourcesOf(text, passage)
    const marks = from.map((name) => `[${numberOf(name, passage, sources)}]`).join("")
    return `${shape(said)}${marks === "" ? "" : ` ${marks}`}`
  })
  const list = [...sources].sort((a, b) => a.number - b.number)
  const trailer = list.map(({ number, name }) => `[${number}] ${name}`).join("\n")
  return { text: `${lines.join("\n")}${trailer === "" ? "" : `\n\nSources:\n${trailer}`}`, sources: list }
}

const IN_PLACE =
  /(?<!\s)\s*[([](?:source|from|see)?:?\s*(https?:\/\/[^\s)\]]+|[\w./-]{1,120}\.[a-z][a-z0-9]{0,4})[)\]](\.?)$/i

/** The sentence without its marks, and where it is from: by its own word, its passage's list, its passage. */
function sourcesOf(text: string, passage: Passage): { said: string; from: readonly string[] } {
  const named = IN_PLACE.exec(text)
  if (named?.[1] !== undefined) return { said: text.slice(0, named.index) + named[2], from: [named[1]] }
  const marks = passage.cited === undefined ? null : /(?<!\s|\[\d{1,3}\])(?:\s*\[\d{1,3}\])+\s*$/.exec(text)
  if (marks !== null) {
    const numbers = [...marks[0].matchAll(/\d+/g)].map(([number]) => Number(number))
    const from = numbers.flatMap((number) => passage.cited?.get(number) ?? [])
    if (from.length > 0) return { said: text.slice(0, marks.index), from }
  }
  return { said: text, from: passage.source === undefined ? [] : [passage.source] }
}

function numberOf(name: string, passage: Passage, sources: Cited[]): number {
  const known = sources.find((source) => source.name === name)
  if (known !== undefined) return known.number
  const taken = new Set(sources.map(({ number }) => number))
  let number = passage.source === name ? (passage.number ?? 1) : 1
  while (taken.has(number)) number++
  sources.push({ number, name })
  return number
}

function wholeResults(results: readonly MadeCall[]): Found[] | undefined {
  const passages = results.flatMap(({ output }) => (output?.failed === false ? output.passages : []))
  const length = passages.reduce((sum, { text }) => sum + text.length, 0)
  if (passages.length === 0 || length === 0 || length > WHOLE_RESULT) return undefined
  return passages.map((passage, order) => ({ text: passage.text, passage, order, score: 1, coverage: 1 }))
}

function failures(failed: readonly MadeCall[]): string {
  return failed.map(({ name, output }) => `The tool ${name} failed: ${clip(output?.text ?? "")}`).join("\n")
}

function nothingToQuote(request: string, wish: Wish): string {
  const about = rootsOf(request).length === 0 ? "" : keywords(request)
  const asked = about === "" ? "" : ` You asked for ${WANTED[wish]} on: ${about}.`
  return (
    `${NOTHING_TO_QUOTE}: I can quote the documents, tool results and earlier steps in my prompt, fill in JSON and choose ` +
    `tools and routes, but I know nothing by myself, and there is nothing here to quote.${asked} ` +
    "Give me documents or a tool to read them, or name a real model, for example openai/gpt-5."
  )
}

/** The telling words of a request as they were written. */
function keywords(request: string, most = 8): string {
  const words = request.match(/[\p{L}\p{N}][\p{L}\p{N}'_./-]*[\p{L}\p{N}]|\p{N}/gu) ?? []
  const telling = words.filter((word) => rootsOf(word).length > 0)
  return [...new Set(telling)].slice(0, most).join(", ")
}

function asWritten(text: string): string {
  return text
}

function onOneLine(text: string): string {
  return clip(text.replace(/^(?:[-*+•]|#{1,6})\s+/, ""))
}

function clip(text: string): string {
  const line = text.replace(/\s+/g, " ").trim()
  return line.length > LONGEST_QUOTE ? `${line.slice(0, LONGEST_QUOTE - 1)}…` : line
}
