/** The tokens of an expression, with their offsets, and its references. */
import { parse } from "@marcbachmann/cel-js"
import { ExpressionError } from "./expression-error.ts"
import type { Path } from "./values.ts"

/**
 * How references are written. `steps`: `$steps.gen.output`, `$input`. `graph`: bare names are paths into state. The
 * spelling also determines truth: in `steps` a condition is `yes`, `1`, `true`; in `graph` a value is true if it is not
 * empty, and a missing value is None.
 */
export type Spelling = "steps" | "graph"

/** Maximum characters of an expression. */
export const MAX_EXPRESSION = 4_096

export interface Token {
  /** `root` is a name with `$`; its text omits the `$`. */
  readonly kind: "root" | "name" | "number" | "string" | "symbol" | "end"
  readonly text: string
  readonly start: number
  readonly end: number
}

const SPACE = /\s*/y
const NAME = /[\p{L}_][\p{L}\p{M}\p{N}_]*/uy
const STEP_ID = /[\p{L}\p{M}\p{N}_-]+/uy
const NUMBER = /0[xX][0-9a-fA-F]+|[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const SYMBOL = /==|!=|<=|>=|&&|\|\||[-+*/%<>!?:.,()[\]{}]/y
const RAW_STRING = /[rR]["']/y
const PATTERNS = [
  ["name", NAME],
  ["number", NUMBER],
  ["symbol", SYMBOL],
] as const

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
    if (spelling === "graph") throw unexpected("$", start, "Write names without it here.")
    if (end === start + 1) throw unexpected("$", start, "Write a name after it, like $input.")
    return token("root", end, start + 1)
  }
  if (source[start] === '"' || source[start] === "'") return token("string", endOfString(source, start))
  if (skip(RAW_STRING, source, start) > start) return token("string", endOfString(source, start + 1))
  for (const [kind, pattern] of PATTERNS) {
    const end = skip(pattern, source, start)
    if (end > start) return token(kind, end)
  }
  throw unexpected(String.fromCodePoint(source.codePointAt(start) as number), start, hintFor(source[start]))
}

/**
 * Step ids may contain dashes (`$steps.gen-1.output`, `$steps.par.outputs.gen-1.output`): a step is never a number, so a
 * dash is not a subtraction there. Anywhere else a dash is a minus.
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

/** The end of the string whose opening quote is at `start`. Three quotes open a string of several lines. */
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

/** The end of the string at `start`, or -1 if it is unclosed, for text that may not be an expression. */
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

function hintFor(character: string | undefined): string {
  if (character === "=") return "Compare with ==."
  if (character === "&") return "Write && or and."
  if (character === "|") return "Write || or or."
  return character !== undefined && character > "\x7F" ? "Put text in quotes." : ""
}

export interface Reference {
  /** Without `$`. In the graph spelling, the first name of a path. */
  readonly root: string
  readonly path: Path
  /** Offsets into the source text. */
  readonly start: number
  readonly end: number
}

/**
 * Reads the reference whose root is the token at `at`. It continues over `.name`, `["name"]`, `[2]` and `[-1]`, and
 * ends before anything that has to be computed, and before a method (`.size()`).
 */
export function readReference(
  tokens: readonly Token[],
  at: number,
): { readonly reference: Reference; readonly next: number } {
  const root = tokens[at] as Token
  const path: (string | number)[] = []
  let next = at + 1
  for (;;) {
    const part = namedPart(tokens, next) ?? bracketedPart(tokens, next)
    if (part === undefined) break
    path.push(part.key)
    next = part.next
  }
  const end = (tokens[next - 1] as Token).end
  return { reference: { root: root.text, path, start: root.start, end }, next }
}

/** The reference that all tokens are, if it is written with `$`: without, it may be a word. */
export function loneReference(tokens: readonly Token[]): Reference | undefined {
  if (tokens[0]?.kind !== "root") return undefined
  const { reference, next } = readReference(tokens, 0)
  return tokens[next]?.kind === "end" ? reference : undefined
}

interface Part {
  readonly key: string | number
  readonly next: number
}

function namedPart(tokens: readonly Token[], at: number): Part | undefined {
  const name = tokens[at + 1]
  if (tokens[at]?.text !== "." || name?.kind !== "name" || isSymbol(tokens[at + 2], "(")) return undefined
  return { key: name.text, next: at + 2 }
}

function bracketedPart(tokens: readonly Token[], at: number): Part | undefined {
  if (!isSymbol(tokens[at], "[")) return undefined
  const isNegative = isSymbol(tokens[at + 1], "-")
  const key = tokens[at + (isNegative ? 2 : 1)]
  const next = at + (isNegative ? 4 : 3)
  if (key === undefined || !isSymbol(tokens[next - 1], "]")) return undefined
  if (key.kind === "number" && /^[0-9]{1,15}$/.test(key.text)) {
    return { key: isNegative ? -Number(key.text) : Number(key.text), next }
  }
  if (key.kind !== "string" || isNegative) return undefined
  const text = literalText(key.text)
  return text === undefined ? undefined : { key: text, next }
}

/** The value of a string literal. An invalid escape is reported when the whole expression is parsed. */
function literalText(literal: string): string | undefined {
  try {
    const { args } = parse(literal).ast
    return typeof args === "string" ? args : undefined
  } catch {
    return undefined
  }
}

export function isSymbol(token: Token | undefined, text: string): boolean {
  return token?.kind === "symbol" && token.text === text
}
