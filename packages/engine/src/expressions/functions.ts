/** The functions and methods of expressions: CEL's, for JSON values. The first argument of a method is its owner. */
import type { Json } from "../core/index.ts"
import { checkResultSize, type Evaluation, MAX_RESULT } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import { firstOffset, lastOffset, splitBy } from "./text-search.ts"
import { jsonLength, type Kind, readBoolean, textOf } from "./values.ts"

export interface CelFunction {
  /** The kinds that each argument may have. Empty: any. */
  readonly takes: readonly (readonly Kind[])[]
  /** The number of optional arguments at the end. */
  readonly optional?: number
  readonly returns: Kind | "any"
  readonly call: (args: readonly Json[], run: Evaluation, at: Span) => Json
}

// Arguments are checked against `takes` before `call`.
const text = (value: Json | undefined) => value as string
const number = (value: Json | undefined) => value as number

const size: CelFunction = {
  takes: [["text", "list", "map"]],
  returns: "number",
  call: ([value], run) => {
    if (typeof value === "string") {
      run.work.spendOnCharacters(value.length)
      return countCharacters(value)
    }
    if (Array.isArray(value)) return value.length
    const { length } = Object.keys(value as object)
    run.work.spendOnKeys(length)
    return length
  },
}

export const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ["size", size],
  ["dyn", { takes: [[]], returns: "any", call: ([value]) => value as Json }],
  ["string", { takes: [[]], returns: "text", call: toText }],
  [
    "int",
    { takes: [["number", "text"]], returns: "number", call: (args, _, at) => Math.trunc(toNumber(args, at)) },
  ],
  ["double", { takes: [["number", "text"]], returns: "number", call: (args, _, at) => toNumber(args, at) }],
  ["bool", { takes: [["boolean", "number", "text"]], returns: "boolean", call: toBoolean }],
] satisfies [string, CelFunction][])

/** Converts ASCII runs as a whole, because converting letter by letter is slow. */
const ASCII = /[^\x80-\uFFFF]+/g
/** Higher than reading, because ASCII between other characters is converted letter by letter. */
const ASCII_COST = 4

export const METHODS: ReadonlyMap<string, CelFunction> = new Map([
  ["size", size],
  ["contains", onTexts((owner, part, { work }) => firstOffset(owner, part, 0, work) >= 0)],
  ["startsWith", onTexts((owner, part) => owner.startsWith(part))],
  ["endsWith", onTexts((owner, part) => owner.endsWith(part))],
  [
    "matches",
    {
      takes: [["text"], ["text"]],
      returns: "boolean",
      call: ([owner, pattern], run, at) => run.matches(text(owner), text(pattern), at),
    },
  ],
  ["lowerAscii", onText((owner) => owner.replace(ASCII, (found) => found.toLowerCase()), ASCII_COST)],
  ["upperAscii", onText((owner) => owner.replace(ASCII, (found) => found.toUpperCase()), ASCII_COST)],
  ["trim", onText((owner) => owner.trim())],
  ["indexOf", position(firstOffset, 0)],
  ["lastIndexOf", position(lastOffset, Number.POSITIVE_INFINITY)],
  ["substring", { takes: [["text"], ["number"], ["number"]], optional: 1, returns: "text", call: substring }],
  [
    "split",
    {
      takes: [["text"], ["text"]],
      returns: "list",
      call: ([owner, separator], { work }) => splitBy(text(owner), text(separator), work),
    },
  ],
  ["join", { takes: [["list"], ["text"]], optional: 1, returns: "text", call: join }],
] satisfies [string, CelFunction][])

function onText(change: (owner: string) => string, cost = 1): CelFunction {
  return {
    takes: [["text"]],
    returns: "text",
    call: ([owner], run) => {
      run.work.spendOnCharacters(cost * text(owner).length)
      return change(text(owner))
    },
  }
}

function onTexts(test: (owner: string, part: string, run: Evaluation) => boolean): CelFunction {
  return {
    takes: [["text"], ["text"]],
    returns: "boolean",
    call: ([owner, part], run) => {
      run.work.spendOnText(text(owner).length)
      return test(text(owner), text(part), run)
    },
  }
}

function position(find: typeof firstOffset, start: number): CelFunction {
  return {
    takes: [["text"], ["text"], ["number"]],
    optional: 1,
    returns: "number",
    call: ([owner, part, from], { work }) => {
      const whole = text(owner)
      work.spendOnCharacters(whole.length)
      const offset = offsetOf(whole, from === undefined ? start : Math.max(0, Math.trunc(number(from))))
      const found = find(whole, text(part), offset, work)
      return found < 0 ? found : countCharacters(whole.slice(0, found))
    },
  }
}

function substring([owner, start, end]: readonly Json[], run: Evaluation, at: Span): string {
  const whole = text(owner)
  run.work.spendOnCharacters(whole.length)
  const length = countCharacters(whole)
  const from = number(start)
  const to = end === undefined ? length : number(end)
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= length)) {
    throw new Failure(`substring(${from}, ${to}) is outside a string of ${length} characters`, at)
  }
  return whole.slice(offsetOf(whole, from), offsetOf(whole, to))
}

function join([list, separator]: readonly Json[], run: Evaluation, at: Span): string {
  const items = list as readonly Json[]
  const between = separator === undefined ? "" : text(separator)
  run.work.spend(items.length)
  let length = 0
  for (const item of items) {
    if (typeof item !== "string") throw new Failure("join() takes a list of strings", at)
    length += item.length + between.length
    checkResultSize(length)
  }
  run.work.spendOnText(length)
  return items.join(between)
}

function toText([value]: readonly Json[], run: Evaluation): string {
  const length = jsonLength(value, MAX_RESULT)
  checkResultSize(length)
  run.work.spendOnCharacters(length)
  return textOf(value)
}

function toNumber([value]: readonly Json[], at: Span): number {
  if (typeof value === "number") return value
  const trimmed = text(value).length > 100 ? "" : text(value).trim()
  const parsed = trimmed === "" ? Number.NaN : Number(trimmed)
  if (Number.isFinite(parsed)) return parsed
  throw new Failure("this text is not a number", at)
}

function toBoolean([value]: readonly Json[], _: Evaluation, at: Span): boolean {
  const read = readBoolean(value as Json)
  if (read === undefined) throw new Failure("this is neither true nor false", at)
  return read
}

/** Positions count code points: 💡 is one character, though it takes two UTF-16 units. */
function countCharacters(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0)
}

/** The offset of the character at this position. The end of the string if there are fewer. */
function offsetOf(text: string, position: number): number {
  let offset = 0
  for (let i = 0; i < position && offset < text.length; i++) {
    offset += (text.codePointAt(offset) as number) > 0xffff ? 2 : 1
  }
  return offset
}
