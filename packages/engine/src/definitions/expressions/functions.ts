/** The functions and methods of expressions: CEL's, for JSON values. The first argument of a method is its owner. */
import type { Json } from "../../core/index.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import type { Kind } from "./kinds.ts"
import { matchesPattern } from "./pattern-match.ts"
import { jsonLength, textOf } from "./text-of.ts"
import { readBoolean } from "./truth.ts"
import { checkResultSize, MAX_RESULT } from "./work.ts"

export interface CelFunction {
  /** The kinds that each argument may have; empty: any. */
  readonly takes: readonly (readonly Kind[])[]
  /** How many arguments at the end may be left out. */
  readonly optional?: number
  readonly returns: Kind | "any"
  readonly call: (args: readonly Json[], run: Evaluation, at: Span) => Json
}

// Arguments were checked against `takes` before `call` sees them.
const text = (value: Json | undefined) => value as string
const number = (value: Json | undefined) => value as number

const size: CelFunction = {
  takes: [["text", "list", "map"]],
  returns: "number",
  call: ([value], run) => {
    if (typeof value === "string") {
      run.work.spendOnText(value.length)
      return countCharacters(value)
    }
    if (Array.isArray(value)) return value.length
    const { length } = Object.keys(value as object)
    run.work.spend(1 + length)
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

export const METHODS: ReadonlyMap<string, CelFunction> = new Map([
  ["size", size],
  ["contains", onTexts((owner, part) => owner.includes(part))],
  ["startsWith", onTexts((owner, part) => owner.startsWith(part))],
  ["endsWith", onTexts((owner, part) => owner.endsWith(part))],
  ["matches", { takes: [["text"], ["text"]], returns: "boolean", call: callMatches }],
  ["lowerAscii", onText((owner) => owner.replace(/[A-Z]+/g, (found) => found.toLowerCase()))],
  ["upperAscii", onText((owner) => owner.replace(/[a-z]+/g, (found) => found.toUpperCase()))],
  ["trim", onText((owner) => owner.trim())],
  ["indexOf", position((owner, part, from) => owner.indexOf(part, from ?? 0))],
  ["lastIndexOf", position((owner, part, from) => owner.lastIndexOf(part, from ?? Number.POSITIVE_INFINITY))],
  ["substring", { takes: [["text"], ["number"], ["number"]], optional: 1, returns: "text", call: substring }],
  ["split", { takes: [["text"], ["text"]], returns: "list", call: split }],
  ["join", { takes: [["list"], ["text"]], optional: 1, returns: "text", call: join }],
] satisfies [string, CelFunction][])

function onText(change: (owner: string) => string): CelFunction {
  return {
    takes: [["text"]],
    returns: "text",
    call: ([owner], run) => {
      run.work.spendOnText(text(owner).length)
      return change(text(owner))
    },
  }
}

function onTexts(test: (owner: string, part: string) => boolean): CelFunction {
  return {
    takes: [["text"], ["text"]],
    returns: "boolean",
    call: ([owner, part], run) => {
      run.work.spendOnText(text(owner).length)
      return test(text(owner), text(part))
    },
  }
}

function position(find: (owner: string, part: string, from: number | undefined) => number): CelFunction {
  return {
    takes: [["text"], ["text"], ["number"]],
    optional: 1,
    returns: "number",
    call: ([owner, part, from], run) => {
      run.work.spendOnText(text(owner).length)
      return find(text(owner), text(part), from === undefined ? undefined : number(from))
    },
  }
}

function callMatches([owner, pattern]: readonly Json[], run: Evaluation, at: Span): boolean {
  return matchesPattern(text(owner), text(pattern), run.work, at)
}

function substring([owner, start, end]: readonly Json[], run: Evaluation, at: Span): string {
  const { length } = text(owner)
  const from = number(start)
  const to = end === undefined ? length : number(end)
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= length)) {
    throw new Failure(`substring(${from}, ${to}) is outside a text of ${length} characters`, at)
  }
  run.work.spendOnText(to - from)
  return text(owner).slice(from, to)
}

function split([owner, separator]: readonly Json[], run: Evaluation): readonly string[] {
  run.work.spend(text(owner).length)
  return text(owner).split(text(separator))
}

function join([list, separator]: readonly Json[], run: Evaluation, at: Span): string {
  const items = list as readonly Json[]
  const between = separator === undefined ? "" : text(separator)
  run.work.spend(items.length)
  let length = 0
  for (const item of items) {
    if (typeof item !== "string") throw new Failure("join() takes a list of texts", at)
    length += item.length + between.length
    checkResultSize(length)
  }
  run.work.spendOnText(length)
  return items.join(between)
}

function toText([value]: readonly Json[], run: Evaluation): string {
  const length = jsonLength(value, MAX_RESULT)
  checkResultSize(length)
  run.work.spend(length / 8)
  return textOf(value)
}

function toNumber([value]: readonly Json[], at: Span): number {
  if (typeof value === "number") return value
  const trimmed = text(value).length > 100 ? "" : text(value).trim()
  const parsed = trimmed === "" ? Number.NaN : Number(trimmed)
  if (Number.isFinite(parsed)) return parsed
  throw new Failure("this text is no number", at)
}

function toBoolean([value]: readonly Json[], _: Evaluation, at: Span): boolean {
  const read = readBoolean(value as Json)
  if (read === undefined) throw new Failure("this is neither true nor false", at)
  return read
}

/** Characters as people count them, or nearly: a character outside the basic plane is one. */
function countCharacters(value: string): number {
  let count = value.length
  for (let i = 0; i < value.length - 1; i++) {
    const isPair = (value.charCodeAt(i) & 0xfc00) === 0xd800 && (value.charCodeAt(i + 1) & 0xfc00) === 0xdc00
    if (isPair) count--
  }
  return count
}
