/** A string for a field: what the text names outright, what the format or pattern asks for, or the best sentence. */
import { clueKind, EXACT, findClues, labelled, names, quoted } from "./clues.ts"
import { findFormat, standInFor } from "./formats.ts"
import type { SchemaObject } from "./json-schema.ts"
import type { Knowledge } from "./knowledge.ts"
import { listedLabels, orderLabels } from "./label.ts"
import { patternSamples } from "./pattern-sample.ts"
import { fits, regex } from "./schema-check.ts"
import { rootsOf, spaced } from "./words.ts"

export interface Place {
  /** The field's name, or that of the list it is an item of. */
  readonly name: string
  readonly description: string
  /** Which of several: the second item of a list, or another try. */
  readonly nth: number
  readonly depth: number
  /** The references on the way here: one that comes again leads round in a circle. */
  readonly refs: readonly string[]
}

const ANSWER =
  /\b(?:answer|response|reply|message|text|content|summary|output|report|result|body|revised script|final|draft|conclusion|findings?|explanation|background context)\b/
const REASON =
  /\b(?:reason|rationale|reasoning|why|justification|thoughts?|explanation|observations?|evidence|quote)\b/
const QUESTION =
  /\b(?:query|queries|question|search|q|input|prompt|task|goal|keywords?|term|instruction or question|next search queries)\b/
const TITLE =
  /\b(?:title|name|company|organi[sz]ation|brand|product|heading|label|topic|subject|headline|entity|item|tag|category|keyword)\b/

export function fillText(schema: SchemaObject, place: Place, knowledge: Knowledge): string {
  const good = candidates(schema, place, knowledge)
  const fitting = good.map((text) => fitted(schema, text)).filter((text) => fits(schema, text))
  const untaken = fitting.filter((text) => !knowledge.taken.has(text))
  const chosen = untaken[place.nth] ?? untaken.at(-1) ?? (place.nth === 0 ? fitting[0] : undefined)
  if (chosen !== undefined && place.nth < Math.max(1, untaken.length)) return chosen
  return standIn(schema, place, knowledge, chosen)
}

/** Something that fits when the text has nothing, or not enough of it. */
function standIn(schema: SchemaObject, place: Place, knowledge: Knowledge, base: string | undefined): string {
  if (place.nth === 0) knowledge.madeUp.push(place.name)
  const { pattern, format, minLength } = schema
  const shapes =
    typeof pattern === "string" ? patternSamples(pattern, typeof minLength === "number" ? minLength : 0) : []
  const shaped = shapes.filter((text) => fits(schema, text))
  if (shaped.length > 0) return shaped[place.nth % shaped.length] ?? ""
  const known = typeof format === "string" ? standInFor(format) : undefined
  if (known !== undefined && fits(schema, known)) return known
  const start = base ?? (spaced(place.name) || "unknown")
  const text = fitted(schema, place.nth === 0 ? start : numbered(schema, start, place.nth))
  return text
}

/** Another one, told apart by a number that no limit of length may cut away. */
function numbered({ maxLength }: SchemaObject, text: string, nth: number): string {
  const mark = String(nth + 1)
  const room = typeof maxLength === "number" ? Math.max(0, maxLength - mark.length - 1) : text.length
  const cut = [...text].slice(0, room).join("")
  return cut === "" ? mark : `${cut} ${mark}`
}

function candidates(schema: SchemaObject, place: Place, knowledge: Knowledge): string[] {
  const { pattern, format } = schema
  const { request, context } = knowledge
  const both = [request, context]
  if (typeof pattern === "string") return both.flatMap((text) => tokensLike(pattern, text))
  if (typeof format === "string" && standInFor(format) !== undefined)
    return both.flatMap((text) => findFormat(format, text))
  const label = labelled(place.name, request) ?? labelled(place.name, context)
  const first = label === undefined ? [] : [label]
  const kind = clueKind(place.name)
  const near = knowledge.isForTool ? [] : knowledge.sentences(`${spaced(place.name)} ${place.description}`)
  const found = kind === undefined ? [] : [...near, ...both].flatMap((text) => findClues(kind, text))
  if (kind !== undefined && (found.length > 0 || EXACT.has(kind))) return unique([...first, ...found])
  return unique([
    ...first,
    ...(knowledge.isForTool ? argumentTexts(place, knowledge) : replyTexts(place, knowledge)),
  ])
}

function replyTexts(place: Place, knowledge: Knowledge): string[] {
  const name = spaced(place.name).toLowerCase()
  const { request, context } = knowledge
  if (/\b(?:sources?|citations?|references?)\b/.test(name)) return [...knowledge.sources()]
  const listed = listedLabels(place.name, `${place.description}\n${knowledge.instructions}`)
  if (listed.length > 0) {
    const { order } = orderLabels(
      listed.map((value) => ({ value })),
      place.description,
      knowledge,
    )
    return order.map((index) => listed[index] ?? "")
  }
  const about = knowledge.sentences(`${name} ${place.description} ${request}`)
  if (REASON.test(name))
    return unique([
      ...knowledge.sentences(request),
      ...about,
      `Chosen by the words of the request: ${request}`,
    ])
  if (ANSWER.test(name) && place.nth === 0) return unique([knowledge.answer(), ...about])
  if (QUESTION.test(name) || /\bgaps?\b/.test(name)) return unique([request, ...about])
  if (TITLE.test(name))
    return unique([...quoted(request), ...names(context), ...names(request), titleOf(request)])
  const own =
    rootsOf(`${name} ${place.description}`).length > 0
      ? knowledge.sentences(`${name} ${place.description}`)
      : []
  return unique([...own, ...about, ...(knowledge.hasEvidence ? knowledge.lines() : [request])])
}

function argumentTexts(place: Place, { request }: Knowledge): string[] {
  const name = spaced(place.name).toLowerCase()
  const within = quoted(request)
  if (QUESTION.test(name)) return unique([...(within.length === 1 ? within : []), bare(request)])
  if (/\b(?:from|source|origin)\b/.test(name)) within.unshift(...after(request, "from"))
  else if (/\b(?:to|target|destination|into)\b/.test(name)) within.unshift(...after(request, "to|into"))
  if (TITLE.test(name)) return unique([...within, ...names(request), bare(request)])
  return unique([...within, bare(request)])
}

function after(request: string, word: string): string[] {
  const found = new RegExp(
    String.raw`\b(?:${word})\s+(\p{Lu}[\p{L}'’-]*(?:\s+\p{Lu}[\p{L}'’-]*)*|"[^"]+")`,
    "u",
  ).exec(request)?.[1]
  return found === undefined ? [] : [found.replaceAll('"', "")]
}

const LEAD =
  /^(?:please\s+|can you\s+|could you\s+|would you\s+|i(?:'d| would) like(?: you)? to\s+|i want(?: you)? to\s+)*(?:(?:search|look|google|query|find|research)(?:\s+(?:the\s+)?(?:web|internet|docs?|documents?|knowledge base|index))?(?:\s+(?:for|up|on|about|out))?\s+|tell me (?:about\s+)?|show me\s+)?/i

/** The request without its polite or pointing start: what is to be looked for. */
function bare(request: string): string {
  const line = request.trim()
  return (
    line
      .replace(LEAD, "")
      .replace(/(?<![?!.])[?!.]+$/, "")
      .trim() || line
  )
}

function titleOf(request: string): string {
  const line = bare(request).split("\n")[0] ?? ""
  return line.charAt(0).toUpperCase() + line.slice(1, 80)
}

/** Short words of the text that the pattern fits. */
function tokensLike(pattern: string, text: string): string[] {
  const like = regex(pattern)
  if (like === undefined) return []
  const tokens = text
    .slice(0, 8_000)
    .split(/[\s,;"'()[\]{}<>]+/)
    .map((token) => token.replace(/(?<![.:!?])[.:!?]+$/, ""))
  return unique(tokens.filter((token) => token.length > 0 && token.length <= 40 && like.test(token)))
}

/** Cut or lengthened to the limits, in characters as a reader counts them. */
function fitted({ minLength, maxLength }: SchemaObject, text: string): string {
  const chars = [...text]
  if (typeof maxLength === "number" && chars.length > maxLength) {
    const cut = chars.slice(0, maxLength).join("")
    const space = cut.lastIndexOf(" ")
    const least = typeof minLength === "number" ? minLength : 0
    return space > maxLength / 2 && [...cut.slice(0, space)].length >= least ? cut.slice(0, space) : cut
  }
  if (typeof minLength === "number" && chars.length < minLength) {
    const filler = chars.length === 0 ? ["."] : [...chars, " "]
    while (chars.length < minLength) chars.push(filler[chars.length % filler.length] ?? ".")
    return chars.join("")
  }
  return text
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ""))]
}
