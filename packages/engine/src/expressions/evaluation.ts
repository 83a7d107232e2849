/** One evaluation of an expression: the source of its values, and its cost so far. */
import type { Json } from "../core/index.ts"
import { compilePattern, isFound, type Pattern, PatternError } from "../text/patterns/index.ts"
import { Failure, type Span, tooCostly } from "./expression-error.ts"
import type { Reference } from "./syntax.ts"
import { member, type Path, valueAt } from "./values.ts"

export const MAX_MACRO_ITEMS = 10_000
/** Maximum characters of a string, or of the JSON of a value, that an expression creates. */
export const MAX_RESULT = 1_000_000
/** The cost of catching a failure. */
export const FAILURE_COST = 400
const MAX_WORK = 5_000_000
const CHARACTERS_PER_UNIT = 64
const SINGLE_CHARACTERS_PER_UNIT = 8
const KEY_COST = 4

/**
 * Limits the cost of one expression. Work is counted, not timed: the same expression over the same values stops at the
 * same point on every machine. One unit is about one operation on a value. A macro costs the operations of its body for
 * every visited item, a comparison one unit per element, reading text one unit per 64 characters (8 if they are examined
 * one by one), and matching a pattern one unit per 2 tried states.
 */
export class Work {
  #done = 0

  spend(units: number): void {
    this.#done += units
    if (this.#done > MAX_WORK) throw tooCostly(`it took more than ${MAX_WORK} units of work`)
  }

  /** Listing the keys of objects is slow. */
  spendOnKeys(count: number): void {
    this.spend(1 + KEY_COST * count)
  }

  spendOnText(length: number): void {
    this.spend(1 + Math.ceil(length / CHARACTERS_PER_UNIT))
  }

  spendOnCharacters(length: number): void {
    this.spend(1 + Math.ceil(length / SINGLE_CHARACTERS_PER_UNIT))
  }
}

export function checkResultSize(characters: number): void {
  if (characters > MAX_RESULT) throw tooCostly(`its result is longer than ${MAX_RESULT} characters`)
}

/**
 * Returns the value of a root (`$input` → `input`), or undefined. Called on demand, once per reference, with the path
 * that is going to be read from it.
 */
export type Scope = (root: string, path?: Path) => Json | undefined

export class Evaluation {
  readonly work = new Work()
  /** Values that macros bind, by slot. */
  readonly slots: (Json | undefined)[] = []
  /** A path was missing. A failure after that is not an error: its value is missing too. */
  hasMissing = false
  /** Collects the values of the parts of a traced expression, the innermost first. */
  readonly trace: { readonly at: Span; readonly value: Json | undefined }[] | undefined
  readonly #scope: Scope
  readonly #values = new Map<Reference, Json | undefined>()
  readonly #patterns = new Map<string, Pattern>()

  constructor(scope: Scope, traces = false) {
    this.#scope = scope
    this.trace = traces ? [] : undefined
  }

  read(reference: Reference): Json | undefined {
    if (this.#values.has(reference)) return this.#values.get(reference)
    const value = referenced(reference, this.#scope)
    this.#values.set(reference, value)
    if (value === undefined) this.hasMissing = true
    return value
  }

  member(owner: Json | undefined, key: string | number): Json | undefined {
    const value = member(owner, key)
    if (value === undefined) this.hasMissing = true
    return value
  }

  /** Whether the pattern matches anywhere in the text. A pattern is compiled once per evaluation. */
  matches(text: string, source: string, at: Span): boolean {
    let pattern = this.#patterns.get(source)
    if (pattern === undefined) {
      this.work.spend(COMPILING_COST)
      const compiled = readPattern(source)
      if (typeof compiled === "string") throw new Failure(compiled, at)
      this.work.spend(INSTRUCTION_COST * compiled.size)
      this.#patterns.set(source, compiled)
      pattern = compiled
    }
    return isFound(pattern, text, (tries) => this.work.spend(tries / TRIES_PER_UNIT))
  }
}

export function referenced({ root, path }: Reference, scope: Scope): Json | undefined {
  return root === "__proto__" ? undefined : valueAt(scope(root, path), path)
}

const PATTERN_LIMITS = { length: 1_000, instructions: 1_000 }
const TRIES_PER_UNIT = 2
const COMPILING_COST = 1_000
const INSTRUCTION_COST = 4

/** The pattern of a `matches()`, or its error. */
export function readPattern(source: string): Pattern | string {
  try {
    return compilePattern(source, PATTERN_LIMITS)
  } catch (error) {
    if (error instanceof PatternError) return `the pattern is not valid: ${error.message}`
    throw error
  }
}
