/** A number or a yes/no for a field: from the words near its name, by what its name asks, within its limits. */
import { labelled, numbers } from "./clues.ts"
import { conceptsOf } from "./concepts.ts"
import type { Place } from "./fill-text.ts"
import type { SchemaObject } from "./json-schema.ts"
import type { Knowledge } from "./knowledge.ts"
import { fits } from "./schema-check.ts"
import { rootsOf, spaced } from "./words.ts"

const SCALE = /\b(?:confidence|score|probability|relevance|certainty|likelihood|similarity|quality|rating)\b/
const TRIES = 400

export function fillNumber(schema: SchemaObject, place: Place, knowledge: Knowledge): number {
  const found = numbersFor(place, knowledge).filter((value) => !knowledge.taken.has(String(value)))
  const fitting = found.filter((value) => fits(schema, value))
  const chosen = fitting[place.nth]
  if (chosen !== undefined) return chosen
  const name = spaced(place.name).toLowerCase()
  if (SCALE.test(name) && place.nth === 0) return nearestFitting(schema, scaled(schema, knowledge), 0)
  if (place.nth === 0) knowledge.madeUp.push(place.name)
  return nearestFitting(schema, found[0] ?? 0, place.nth - fitting.length)
}

/** Numbers that may be meant, the likeliest first. */
function numbersFor(place: Place, { request, context, isForTool, ...knowledge }: Knowledge): number[] {
  const label = labelled(place.name, request) ?? (isForTool ? undefined : labelled(place.name, context))
  const own = label === undefined || !/^-?\d/.test(label) ? [] : [Number.parseFloat(label)]
  const about = `${spaced(place.name)} ${place.description}`
  const asked = byNearness(request, rootsOf(about))
  if (isForTool) return [...new Set([...own, ...asked])]
  if (SCALE.test(spaced(place.name).toLowerCase())) return own
  const sentences = [...knowledge.sentences(about), ...knowledge.sentences(`${about} ${request}`)]
  const found = sentences.flatMap((sentence) => byNearness(sentence, rootsOf(about)))
  return [...new Set([...own, ...found, ...asked])]
}

/** The numbers of a text; those that stand near a word of the field come first, the others in order. */
function byNearness(text: string, roots: readonly string[]): number[] {
  const found = numbers(text).map(({ value, at }) => {
    const around = rootsOf(text.slice(Math.max(0, at - 25), at + 30))
    return { value, near: roots.some((root) => around.includes(root)) ? 1 : 0 }
  })
  return found.sort((a, b) => b.near - a.near).map(({ value }) => value)
}

function scaled({ minimum, maximum }: SchemaObject, knowledge: Knowledge): number {
  const low = typeof minimum === "number" ? minimum : 0
  const high = typeof maximum === "number" ? maximum : 1
  // Without anything to compare with, it is an even chance.
  const share = knowledge.hasEvidence ? Math.round(knowledge.coverage() * 100) / 100 : 0.5
  return high > low && high - low > 1 ? Math.round(low + (high - low) * share) : Math.min(high, low + share)
}

/** The fitting number that is nearest to the wanted one; `nth` of those, for a list without repeats. */
function nearestFitting(schema: SchemaObject, wanted: number, nth: number): number {
  const { multipleOf, type } = schema
  const step = typeof multipleOf === "number" && multipleOf > 0 ? multipleOf : 1
  const [low, high] = limits(schema)
  const start = Math.min(Math.max(wanted, low), high)
  let left = nth
  const candidates = (index: number) => [
    ...(index === 0 ? [start] : []),
    (Math.round(start / step) + index) * step,
    (Math.round(start / step) - index) * step,
    // Between narrow limits, where no multiple lies.
    ...(type === "integer" || !Number.isFinite(low + high)
      ? []
      : [low + ((high - low) * (index + 1)) / (TRIES / 4)]),
    ...(type === "integer" ? [] : [start + (index + 1) / 1_000, start - (index + 1) / 1_000]),
  ]
  const seen = new Set<number>()
  for (let index = 0; index < TRIES; index++) {
    for (const value of candidates(index)) {
      const plain = value === 0 ? 0 : value
      if (seen.has(plain) || !fits(schema, plain)) continue
      seen.add(plain)
      if (left-- <= 0) return plain
    }
  }
  return start
}

function limits({
  minimum,
  maximum,
  exclusiveMinimum: above,
  exclusiveMaximum: below,
}: SchemaObject): [number, number] {
  const low = Math.max(
    ...[minimum, above].map((value) => (typeof value === "number" ? value : Number.NEGATIVE_INFINITY)),
  )
  const high = Math.min(
    ...[maximum, below].map((value) => (typeof value === "number" ? value : Number.POSITIVE_INFINITY)),
  )
  return [low, Math.max(low, high)]
}

/** Fields that say that work is at its end, that something is in order, that something is wrong. */
const ENOUGH =
  /\b(?:complete|completed|done|sufficient|satisfied|finished|answered|found|supported|enough|resolved)\b/
const IN_ORDER =
  /\b(?:approved?|accept(?:ed)?|valid|ok|pass(?:ed)?|success(?:ful)?|correct|progress|safe|relevant|clear)\b/
const NOT =
  /\b(?:not|no|never|without|none|nothing|cannot|lacks?|isn't|aren't|doesn't|don't|didn't|won't|can't)\b|n['’]t\b/i

export function fillBoolean(place: Place, knowledge: Knowledge): boolean {
  const first = firstBoolean(place, knowledge)
  return place.nth % 2 === 0 ? first : !first
}

function firstBoolean(place: Place, knowledge: Knowledge): boolean {
  const { request, context, isForTool } = knowledge
  const label = labelled(place.name, request) ?? (isForTool ? undefined : labelled(place.name, context))
  if (label !== undefined && /^(?:true|yes|y|1|on)$/i.test(label)) return true
  if (label !== undefined && /^(?:false|no|n|0|off)$/i.test(label)) return false
  const name = spaced(place.name).toLowerCase()
  if (!isForTool && ENOUGH.test(name)) return knowledge.hasEvidence || knowledge.isAnswered
  if (!isForTool && IN_ORDER.test(name)) return true
  const roots = rootsOf(name)
  if (mentions(request, roots)) return !NOT.test(near(request, roots))
  const [sentence] = isForTool ? [] : knowledge.sentences(name)
  if (sentence !== undefined && mentions(sentence, roots)) return !NOT.test(sentence)
  knowledge.madeUp.push(place.name)
  return false
}

function mentions(text: string, roots: readonly string[]): boolean {
  const said = rootsOf(text)
  const concepts = new Set(said.flatMap((root) => conceptsOf(root)))
  return roots.some(
    (root) => said.includes(root) || conceptsOf(root).some((concept) => concepts.has(concept)),
  )
}

/** The part of the request that speaks of it: a `not` elsewhere is about something else. */
function near(text: string, roots: readonly string[]): string {
  return text.split(/[.;!?\n]|,\s*(?:but|and)\b/).find((part) => mentions(part, roots)) ?? text
}
