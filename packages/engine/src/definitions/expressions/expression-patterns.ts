/** The patterns of `matches()`. What they cost counts towards the work of the expression. */
import { compilePattern, isFound, type Pattern, PatternError } from "../../text/patterns/index.ts"
import { Failure, type Span } from "./expression-error.ts"
import type { Work } from "./work.ts"

const LIMITS = { length: 1_000, instructions: 1_000 }
const TRIES_PER_UNIT = 2
const COMPILING_COST = 1_000
const INSTRUCTION_COST = 4

/** The patterns of one evaluation: each is compiled once, and paid for. */
export class Patterns {
  readonly #work: Work
  readonly #known = new Map<string, Pattern>()

  constructor(work: Work) {
    this.#work = work
  }

  /** True when the pattern is found anywhere in the text. */
  isIn(text: string, pattern: string, at: Span): boolean {
    return isFound(this.#compiled(pattern, at), text, (tries) => this.#work.spend(tries / TRIES_PER_UNIT))
  }

  #compiled(source: string, at: Span): Pattern {
    const kept = this.#known.get(source)
    if (kept !== undefined) return kept
    this.#work.spend(COMPILING_COST)
    const pattern = compiled(source)
    if (typeof pattern === "string") throw new Failure(pattern, at)
    this.#work.spend(INSTRUCTION_COST * pattern.size)
    this.#known.set(source, pattern)
    return pattern
  }
}

/** What is wrong with a pattern, or undefined. */
export function patternProblem(source: string): string | undefined {
  const pattern = compiled(source)
  return typeof pattern === "string" ? pattern : undefined
}

/** The pattern, or what is wrong with it. */
function compiled(source: string): Pattern | string {
  try {
    return compilePattern(source, LIMITS)
  } catch (error) {
    if (error instanceof PatternError) return `the pattern is not valid: ${error.message}`
    throw error
  }
}
