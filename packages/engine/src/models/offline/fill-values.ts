/** Values for single fields, found in the prompt by the field's name, its format and its limits. */
import { spaced, tellingWords } from "../../text/internal.ts"
import { compilePattern, isFound as isIn, PatternError, patternSamples } from "../../text/patterns/index.ts"
import type { Facts } from "./quote.ts"
import type { SchemaObject } from "./schema-readings.ts"

/** The field of a schema that a value is for. */
export interface FieldPosition {
  /** The name of the field, or of the list for an item. */
  readonly name: string
  readonly description: string
  /** JSON Pointer. */
  readonly path: string
  /** The index of the candidate to use. */
  readonly nth: number
  readonly depth: number
  /** References that were followed to reach the field. */
  readonly refs: readonly string[]
}

interface Value<T> {
  readonly value: T
  /** False if the prompt does not contain the value. */
  readonly isFound: boolean
}

const URI = /https?:\/\/[^\s<>"'`)\]}]*[\w/]/g
const EMAIL =
  /(?<![\w.])[A-Za-z0-9][\w.%+-]{0,63}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,6}\.[A-Za-z]{2,24}/g
const DATE = /(?<![\w-])\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])(?![\w-])/g
const PATH =
  /(?<![\w@./:-])(?:(?:~|\.{1,2})?\/?(?:[\w.@-]{1,64}\/){1,32}[\w.@-]{0,64}|\/[\w.@-]{1,64}|[\w-][\w.-]{0,63}\.[A-Za-z][A-Za-z0-9]{0,5}\b)/g
const NAME = /\p{Lu}[\p{L}\p{N}'’-]*(?: \p{Lu}[\p{L}\p{N}'’-]*){0,5}/gu

/** Kinds of values by the name of a field. An exact kind has no value unless the text contains one. */
const KINDS: readonly { readonly asks: RegExp; readonly find: RegExp; readonly isExact?: true }[] = [
  { asks: /\b(?:e ?mail|recipient)\b/, find: EMAIL, isExact: true },
  { asks: /\b(?:url|uri|link|href|website|webpage)\b/, find: URI, isExact: true },
  { asks: /\b(?:paths?|file|filename|directory|dir|folder)\b/, find: PATH, isExact: true },
  { asks: /\b(?:date|day|deadline|due|when)\b/, find: DATE },
  {
    asks: /\b(?:ids?|identifier|number|ticket|sku|reference|code)\b/,
    find: /\b[A-Za-z]{1,6}[-_]?\d[\w-]*|\b\d{3,}\b/g,
    isExact: true,
  },
  {
    asks: /\b(?:city|location|place|country|town|destination|origin|region|address|person|author|founder|owner|name|company|organi[sz]ation|brand)\b/,
    find: NAME,
  },
]

function kindOf(name: string) {
  const words = spaced(name).toLowerCase()
  return KINDS.find(({ asks }) => asks.test(words))
}

function findIn(text: string, find: RegExp): string[] {
  const plain = find === PATH ? text.replace(/https?:\/\/\S+/g, " ") : text
  const found = (plain.match(find) ?? []).map((one) => one.replace(/[.,;:]{1,3}$/, "").trim())
  if (find !== NAME) return unique(found)
  // A single capitalized word at the start of a sentence is not a name.
  const starts = new Set(text.match(/(?<=^|[.!?:\n]\s{0,3})\p{Lu}[\p{L}'’]*(?! \p{Lu})/gu))
  return unique(found.map((one) => one.replace(/['’]s$/, ""))).filter(
    (one) => !starts.has(one) && tellingWords(one).length > 0,
  )
}

/** The value after the field's name: `limit: 5`, `order id is A-17`, `priority=high`. */
function labelled(name: string, text: string): string | undefined {
  const label = spaced(name).split(" ").join("[\\s_-]{0,3}")
  if (label.length < 2) return undefined
  const found = new RegExp(
    String.raw`(?<![\p{L}\p{N}])${label}(?:\s{0,3}[:=#]|\s{1,3}is\b|\s{1,3}of\b|(?=\s{1,3}\d))\s{0,3}(?:"([^"]+)"|([^\s,;]+))`,
    "iu",
  ).exec(text)
  return (found?.[1] ?? found?.[2])?.replace(/[.?!]{1,3}$/, "")
}

function quotedIn(text: string): string[] {
  const found = text.matchAll(/"([^"\n]{1,2000})"|“([^”\n]{1,2000})”|`([^`\n]{1,2000})`/g)
  return [...found].map(([, ...groups]) => groups.find((group) => group !== undefined) ?? "")
}

/** Whether the request mentions a field: an optional field is filled in only then. */
export function isMentioned(name: string, { request, used }: Facts): boolean {
  if (labelled(name, request) !== undefined) return true
  const kind = kindOf(name)
  return kind?.isExact === true && findIn(request, kind.find).some((one) => !used.has(one))
}

const FORMATS: Readonly<Record<string, { readonly find?: RegExp; readonly standIn: string }>> = {
  date: { find: DATE, standIn: "1970-01-01" },
  "date-time": { standIn: "1970-01-01T00:00:00Z" },
  time: { standIn: "00:00:00Z" },
  duration: { standIn: "P1D" },
  email: { find: EMAIL, standIn: "unknown@example.com" },
  hostname: { standIn: "example.com" },
  ipv4: { standIn: "192.0.2.1" },
  ipv6: { standIn: "2001:db8::1" },
  uuid: { standIn: "00000000-0000-4000-8000-000000000000" },
  uri: { find: URI, standIn: "https://example.com/" },
  url: { find: URI, standIn: "https://example.com/" },
}
const ANSWER =
  /\b(?:answer|response|reply|message|text|content|summary|output|report|result|body|final|draft|conclusion|findings?|explanation|context)\b/
const REQUEST =
  /\b(?:query|queries|question|search|input|prompt|task|goal|instruction|keywords?|terms?|gaps?|title|topic|subject|heading)\b/

export function fillString(schema: SchemaObject, field: FieldPosition, facts: Facts): Value<string> {
  const fitting = unique(candidates(schema, field, facts).map((text) => fitted(schema, text))).filter(
    (text) => typeof schema.pattern !== "string" || matches(schema.pattern, text),
  )
  const value = fitting.filter((text) => !facts.used.has(text))[field.nth]
  return value === undefined
    ? { value: standIn(schema, field, fitting[0]), isFound: false }
    : { value, isFound: true }
}

function candidates({ pattern, format }: SchemaObject, field: FieldPosition, facts: Facts): string[] {
  const { request, context, earlier, isForTool } = facts
  const texts = isForTool ? [request, earlier] : [request, context, earlier]
  if (typeof pattern === "string")
    return texts.flatMap((text) => text.slice(0, 8_000).split(/[\s,;"'()[\]{}<>]+|[.:!?]+(?=\s|$)/))
  const known = typeof format === "string" && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  if (known !== undefined)
    return texts.flatMap((text) => (known.find === undefined ? [] : findIn(text, known.find)))
  const name = spaced(field.name).toLowerCase()
  const label = labelled(field.name, request) ?? (isForTool ? undefined : labelled(field.name, context))
  const first = label === undefined ? [] : [label]
  const kind = kindOf(field.name)
  const near = isForTool ? [] : facts.sentences(`${field.name} ${field.description}`)
  const about = isForTool ? [] : facts.sentences(`${field.name} ${field.description} ${request}`)
  const found =
    kind === undefined ? [] : [...near, ...about, ...texts].flatMap((text) => findIn(text, kind.find))
  if (found.length > 0 || kind?.isExact) return [...first, ...found]
  // A tool is called again only for another value that the request names.
  const names = REQUEST.test(name) && !/\btitle\b/.test(name) ? [] : findIn(request, NAME)
  const plain =
    facts.used.size > 0 ? [] : [...quotedIn(request), ...names, request.replace(/[?!.]{1,3}$/, "")]
  if (isForTool) return [...first, ...plain]
  if (/\b(?:sources?|citations?|references?)\b/.test(name)) return [...facts.sources()]
  if (ANSWER.test(name)) return [...first, facts.answer(), ...about]
  return REQUEST.test(name) ? [...first, request, ...about] : [...first, ...near, ...about, request]
}

/** A valid value if the prompt has none, or too few. */
function standIn(
  schema: SchemaObject,
  { name, nth }: FieldPosition,
  base = spaced(name) || "unknown",
): string {
  const { pattern, format, minLength, maxLength } = schema
  if (typeof pattern === "string") {
    const samples = patternSamples(pattern, typeof minLength === "number" ? minLength : 0, 24)
    const fitting = samples.filter((text) => matches(pattern, text) && fitted(schema, text) === text)
    return fitting[nth % Math.max(1, fitting.length)] ?? ""
  }
  if (typeof format === "string" && Object.hasOwn(FORMATS, format)) return FORMATS[format]?.standIn ?? ""
  if (nth === 0) return fitted(schema, base)
  const mark = String(nth + 1)
  const room = typeof maxLength === "number" ? Math.max(0, maxLength - mark.length - 1) : base.length
  return fitted(schema, `${[...base].slice(0, room).join("")} ${mark}`.trim())
}

/** Cut or lengthened to the limits of the schema. */
function fitted({ minLength, maxLength }: SchemaObject, text: string): string {
  const characters = [...text]
  if (typeof maxLength === "number") characters.splice(maxLength)
  while (typeof minLength === "number" && characters.length < Math.min(minLength, MAX_PADDED))
    characters.push(".")
  return characters.join("")
}

const MAX_PADDED = 100_000
const PATTERN_LIMITS = { length: 5_000, instructions: 5_000 }
const MAX_TRIES = 1_000_000

/** Also false for a pattern that takes too long or cannot be matched in linear time. */
export function matches(source: string, text: string): boolean {
  let left = MAX_TRIES
  try {
    return isIn(compilePattern(source, PATTERN_LIMITS), text, (tries) => {
      left -= tries
      if (left < 0) throw new PatternError("it takes too long")
    })
  } catch (error) {
    if (error instanceof PatternError) return false
    throw error
  }
}

const SCALE = /\b(?:confidence|score|probability|relevance|certainty|likelihood|similarity|quality|rating)\b/
const TRIES = 400

export function fillNumber(schema: SchemaObject, field: FieldPosition, facts: Facts): Value<number> {
  const { request, isForTool } = facts
  const about = `${field.name} ${field.description}`
  const isScale = SCALE.test(spaced(field.name).toLowerCase())
  const label = labelled(field.name, request)
  const texts = [label ?? "", ...(isForTool || isScale ? [] : facts.sentences(about)), isScale ? "" : request]
  const words = new Set(tellingWords(spaced(about)))
  const found = unique(texts.flatMap((text) => numbersIn(text, words))).map(Number)
  const value = found.filter((one) => fitsNumber(schema, one))[field.nth]
  if (value !== undefined) return { value, isFound: true }
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema
  const low = Math.max(
    ...[minimum, above].map((one) => (typeof one === "number" ? one : Number.NEGATIVE_INFINITY)),
  )
  const high = Math.min(
    ...[maximum, below].map((one) => (typeof one === "number" ? one : Number.POSITIVE_INFINITY)),
  )
  const share = facts.hasEvidence ? Math.round(facts.coverage() * 100) / 100 : 0.5
  const top = Number.isFinite(high) ? high : 1
  const wanted = isScale ? Math.max(low, 0) + (top - Math.max(low, 0)) * share : 0
  return {
    value: nearest(schema, Math.min(Math.max(wanted, low), high), field.nth, [low, high]),
    isFound: isScale,
  }
}

/** The numbers in a string, those next to a word of the field first. */
function numbersIn(text: string, words: ReadonlySet<string>): string[] {
  const plain = text.replace(/https?:\/\/\S+/g, " ")
  const found = [
    ...plain.matchAll(/(?<![\w.,-])-?(?:\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.\d{1,9})?(?![\w-])/g),
  ].map((match) => {
    const around = tellingWords(plain.slice(Math.max(0, match.index - 25), match.index + 30))
    return { value: match[0].replaceAll(",", ""), isNear: around.some((word) => words.has(word)) }
  })
  return [...found.filter(({ isNear }) => isNear), ...found.filter(({ isNear }) => !isNear)].map(
    ({ value }) => value,
  )
}

/** The nth valid number by its distance from the wanted one. */
function nearest(
  schema: SchemaObject,
  wanted: number,
  nth: number,
  [low, high]: readonly [number, number],
): number {
  const step = typeof schema.multipleOf === "number" && schema.multipleOf > 0 ? schema.multipleOf : 1
  const base = Math.round(wanted / step)
  const found = new Set<number>(fitsNumber(schema, wanted) ? [wanted] : [])
  for (let index = 0; index < TRIES && found.size <= nth; index++) {
    const between = Number.isFinite(high - low)
      ? low + ((high - low) * (index + 1)) / (TRIES / 4)
      : wanted + (index + 1) / 1_000
    for (const value of [(base + index) * step, (base - index) * step, between]) {
      if (fitsNumber(schema, value)) found.add(value === 0 ? 0 : value)
    }
  }
  return [...found][nth] ?? [...found][0] ?? wanted
}

function fitsNumber(schema: SchemaObject, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below, multipleOf, type } = schema
  if (!Number.isFinite(value) || (type === "integer" && !Number.isInteger(value))) return false
  if (typeof minimum === "number" && value < minimum) return false
  if (typeof maximum === "number" && value > maximum) return false
  if (typeof above === "number" && value <= above) return false
  if (typeof below === "number" && value >= below) return false
  return typeof multipleOf !== "number" || Number.isInteger(value / multipleOf)
}

/** Names of fields that state whether work is done or something is valid. */
const DONE =
  /\b(?:complete|completed|done|sufficient|satisfied|finished|answered|found|supported|enough|resolved)\b/
const IN_ORDER = /\b(?:approved?|accepted|valid|ok|passed|successful|correct|progress)\b/
const NOT = /\b(?:not|no|never|without|none|cannot)\b|n['’]t\b/i

export function fillBoolean(_: SchemaObject, { name, nth }: FieldPosition, facts: Facts): Value<boolean> {
  const { value, isFound } = booleanFor(name, facts)
  return { value: nth % 2 === 0 ? value : !value, isFound }
}

function booleanFor(name: string, { request, hasEvidence, isAnswered, isForTool }: Facts): Value<boolean> {
  const label = labelled(name, request)
  if (label !== undefined && /^(?:true|false|yes|no|on|off)$/i.test(label)) {
    return { value: /^(?:true|yes|on)$/i.test(label), isFound: true }
  }
  const plain = spaced(name).toLowerCase()
  if (!isForTool && DONE.test(plain)) return { value: hasEvidence || isAnswered, isFound: true }
  if (!isForTool && IN_ORDER.test(plain)) return { value: true, isFound: true }
  const words = new Set(tellingWords(spaced(name)))
  const part = request.split(/[.;!?\n]/).find((one) => tellingWords(one).some((word) => words.has(word)))
  return { value: part !== undefined && !NOT.test(part), isFound: part !== undefined }
}

/** Values to use if the prompt supports none: neutral ones first, then those that end the work. */
const NEUTRAL_VALUES = [
  /^(?:accept(?:ed)?|approved?|yes|ok|pass(?:ed)?|done|complete(?:d)?|finish(?:ed)?|end|stop|valid)$/i,
  /^(?:unknown|other|general|default|none|neutral|medium|normal|mixed|unclear|n\/?a|misc)$/i,
]

interface Label {
  readonly value: unknown
  readonly description?: unknown
}

/** Indexes of the labels, the one that shares the most words with the request first. */
export function orderLabels(
  labels: readonly Label[],
  about: string,
  facts: Facts,
): { order: number[]; isMeant: boolean } {
  const { request, earlier, context, instructions, isForTool } = facts
  const words = labels.map((label) => labelWords(label, `${about}\n${instructions}`))
  const scoresIn = (text: string) => {
    const said = tellingWords(text)
    return words.map((own) => said.reduce((sum, word) => sum + (own.get(word) ?? 0), 0))
  }
  const texts = isForTool ? [request] : [request, earlier, context.slice(0, 4_000)]
  const scores = texts.map(scoresIn).find((some) => some.some((score) => score > 0)) ?? words.map(() => 0)
  const rest = labels.map(({ value }) => NEUTRAL_VALUES.findIndex((pattern) => pattern.test(String(value))))
  const order = labels.map((_, index) => index)
  const by = (list: readonly number[], a: number, b: number) => (list[b] ?? 0) - (list[a] ?? 0)
  order.sort((a, b) => by(scores, a, b) || by(rest, a, b) || a - b)
  return { order, isMeant: scores.some((score) => score > 0) }
}

/** The words of a label (weight 3), and of its description: `billing: invoices and refunds`. */
function labelWords({ value, description }: Label, about: string): ReadonlyMap<string, number> {
  const name = String(value)
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const said =
    name === ""
      ? undefined
      : new RegExp(
          String.raw`(?<![\p{L}\p{N}])${escaped}["'\x60*]{0,3}\s{0,3}[:=(—–-]\s{0,3}([^\n;]{3,300})`,
          "iu",
        ).exec(about)
  const words = new Map(tellingWords(String(description ?? said?.[1] ?? "")).map((word) => [word, 1]))
  for (const word of tellingWords(spaced(name))) words.set(word, 3)
  return words
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ""))]
}
