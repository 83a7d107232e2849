/** The words of an expression, with their places. */
import { ExpressionError } from "./expression-error.ts"
import type { Spelling } from "./spelling.ts"

export interface Token {
  /** `root` is a name written with `$`; its text is without it. */
  readonly kind: "root" | "name" | "number" | "string" | "sign" | "end"
  readonly text: string
  readonly start: number
  readonly end: number
}

const SPACE = /\s*/y
const NAME = /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy
const STEP_ID = /[\p{L}\p{M}\p{N}_-]+/uy
const NUMBER = /0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const SIGN = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y
const RAW_STRING = /[rR]["']/y

export function tokens(source: string, spelling: Spelling): readonly Token[] {
  const found: Token[] = []
  let at = skip(SPACE, source, 0)
  while (at < source.length) {
    const token = nextToken(source, at, spelling, found)
    found.push(token)
    at = skip(SPACE, source, token.end)
  }
  found.push({ kind: "end", text: "", start: source.length, end: source.length })
  return found
}

function nextToken(source: string, start: number, spelling: Spelling, before: readonly Token[]): Token {
  const token = (kind: Token["kind"], end: number, from = start): Token => ({
    kind,
    text: source.slice(from, end),
    start,
    end,
  })
  if (isStepIdNext(spelling, before, start)) {
    const end = skip(STEP_ID, source, start)
    if (end > start) return token("name", end)
  }
  if (source[start] === "$") {
    const end = skip(NAME, source, start + 1)
    if (spelling === "graph") throw unexpected("$", start, "Names are written without it here.")
    if (end === start + 1) throw unexpected("$", start, "A reference is a name after it, like $input.")
    return token("root", end, start + 1)
  }
  if (source[start] === '"' || source[start] === "'") return token("string", endOfString(source, start))
  if (skip(RAW_STRING, source, start) > start) return token("string", endOfString(source, start + 1))
  for (const [kind, pattern] of [
    ["name", NAME],
    ["number", NUMBER],
    ["sign", SIGN],
  ] as const) {
    const end = skip(pattern, source, start)
    if (end > start) return token(kind, end)
  }
  throw unexpected(String.fromCodePoint(source.codePointAt(start) as number), start, hintFor(source[start]))
}

/**
 * Step ids may have dashes (`$steps.gen-1.output`, `$steps.par.outputs.gen-1.output`): a step is never a number,
 * so nothing is subtracted there. Anywhere else a dash is a minus.
 */
function isStepIdNext(spelling: Spelling, before: readonly Token[], start: number): boolean {
  if (spelling !== "steps") return false
  for (let i = before.length - 1; i >= 1; i -= 4) {
    const dot = before[i]
    if (dot?.text !== "." || (i === before.length - 1 && dot.end !== start)) return false
    const owner = before[i - 1]
    if (owner?.kind === "root") return owner.text === "steps"
    if (owner?.text !== "outputs" || before[i - 2]?.text !== ".") return false
  }
  return false
}

/** Where a string that starts with the quote at `start` ends. Three quotes open a string of several lines. */
function endOfString(source: string, start: number): number {
  const quote = source[start] as string
  const mark = source.startsWith(quote.repeat(3), start) ? quote.repeat(3) : quote
  let at = start + mark.length
  while (at < source.length) {
    if (source.startsWith(mark, at)) return at + mark.length
    if (mark.length === 1 && (source[at] === "\n" || source[at] === "\r")) break
    at += source[at] === "\\" ? 2 : 1
  }
  throw new ExpressionError("This text has no closing quote.", { start, end: source.length })
}

/** Where the string at `start` ends, or -1 when it does not: for texts that may be no expression at all. */
export function stringEnd(source: string, start: number): number {
  try {
    return endOfString(source, start)
  } catch {
    return -1
  }
}

function skip(pattern: RegExp, source: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(source) ? pattern.lastIndex : at
}

function unexpected(text: string, start: number, hint: string): ExpressionError {
  return new ExpressionError(`Unexpected ${JSON.stringify(text)}. ${hint}`.trim(), {
    start,
    end: start + text.length,
  })
}

function hintFor(sign: string | undefined): string {
  if (sign === "=") return "Compare with ==."
  if (sign === "&") return "Write && or and."
  if (sign === "|") return "Write || or or."
  return sign !== undefined && sign > "\x7F" ? "Text stands in quotes." : ""
}
