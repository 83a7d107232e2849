/** PostgreSQL's values as JSON: numbers where they are exact, else the text that PostgreSQL writes. */
import type { Json } from "@superstep/engine"
import { exactNumber } from "./exact-number.ts"

const BOOL = 16
const INT8 = 20
const INT2 = 21
const INT4 = 23
const JSON_TYPE = 114
const FLOAT4 = 700
const FLOAT8 = 701
const NUMERIC = 1700
const JSONB = 3802

/** In the form in which `pg` asks for it. */
export const jsonValues = {
  getTypeParser: (type: number) => parsers[type] ?? ((text: string): Json => text),
}

const parsers: Readonly<Record<number, (text: string) => Json>> = {
  [BOOL]: (text) => text === "t",
  [INT2]: Number,
  [INT4]: Number,
  [INT8]: exactNumber,
  [NUMERIC]: exactNumber,
  [FLOAT4]: finiteNumber,
  [FLOAT8]: finiteNumber,
  [JSON_TYPE]: jsonOf,
  [JSONB]: jsonOf,
}

/** Deeper than that it stays text: whoever walks through it by recursion would run out of stack. */
const DEEPEST = 100

function jsonOf(text: string): Json {
  return isShallowAndExact(text) ? (JSON.parse(text) as Json) : text
}

const NUMBER = /-?\d+(\.\d+)?([eE][+-]?\d+)?/y

function isShallowAndExact(text: string): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at] as string
    if (char === "[" || char === "{") depth += 1
    else if (char === "]" || char === "}") depth -= 1
    else if (char === '"') at = endOfString(text, at)
    NUMBER.lastIndex = at
    const [number, , exponent] = NUMBER.exec(text) ?? []
    if (number !== undefined) at += number.length - 1
    if (depth > DEEPEST || (number !== undefined && !isExact(number, exponent))) return false
  }
  return true
}

function isExact(number: string, exponent: string | undefined): boolean {
  if (exponent !== undefined) return Number.isFinite(Number(number))
  return number.length <= 15 || typeof exactNumber(number) === "number"
}

function endOfString(text: string, at: number): number {
  let end = at + 1
  while (end < text.length && text[end] !== '"') end += text[end] === "\\" ? 2 : 1
  return end
}

function finiteNumber(text: string): Json {
  const value = Number(text)
  return Number.isFinite(value) ? value : text
}
