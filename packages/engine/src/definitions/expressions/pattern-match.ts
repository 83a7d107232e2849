/** Runs a compiled pattern over a text: all its states at once, one character after the other, never back. */
import { Failure, type Span } from "./expression-error.ts"
import { compilePattern, type Instruction } from "./pattern.ts"
import { isWord, PatternError } from "./pattern-reader.ts"
import type { Work } from "./work.ts"

const TRIES_PER_UNIT = 2
const LONGEST = 1_000
const COMPILING_COST = 1_000
const INSTRUCTION_COST = 4

/** The patterns of one evaluation: each is compiled once, and paid for. */
export class Patterns {
  readonly #work: Work
  readonly #programs = new Map<string, readonly Instruction[]>()

  constructor(work: Work) {
    this.#work = work
  }

  /** True when the pattern is found anywhere in the text. */
  isIn(text: string, pattern: string, at: Span): boolean {
    return new Search(text, this.#programOf(pattern, at), this.#work).run()
  }

  #programOf(pattern: string, at: Span): readonly Instruction[] {
    const kept = this.#programs.get(pattern)
    if (kept !== undefined) return kept
    this.#work.spend(COMPILING_COST)
    const program = programOf(pattern)
    if (typeof program === "string") throw new Failure(program, at)
    this.#work.spend(INSTRUCTION_COST * program.length)
    this.#programs.set(pattern, program)
    return program
  }
}

/** What is wrong with a pattern, or undefined. */
export function patternProblem(pattern: string): string | undefined {
  const program = programOf(pattern)
  return typeof program === "string" ? program : undefined
}

/** The program, or what is wrong with the pattern. */
function programOf(pattern: string): readonly Instruction[] | string {
  try {
    if (pattern.length > LONGEST) throw new PatternError(`it is longer than ${LONGEST} characters`)
    return compilePattern(pattern)
  } catch (error) {
    if (error instanceof PatternError) return `the pattern is not valid: ${error.message}`
    throw error
  }
}

class Search {
  readonly #text: string
  readonly #program: readonly Instruction[]
  readonly #work: Work
  /** At which position a state was last reached: nobody follows it twice there. */
  readonly #reachedAt: Int32Array
  readonly #pending: number[] = []
  #states: number[] = []
  #isFound = false
  #tries = 0

  constructor(text: string, program: readonly Instruction[], work: Work) {
    this.#text = text
    this.#program = program
    this.#work = work
    this.#reachedAt = new Int32Array(program.length).fill(-1)
  }

  run(): boolean {
    let at = 0
    for (;;) {
      this.#reach(0, at)
      if (this.#isFound) return true
      if (at >= this.#text.length) return false
      const code = this.#text.codePointAt(at) as number
      at += code > 0xffff ? 2 : 1
      const states = this.#states
      this.#states = []
      for (const state of states) {
        const instruction = this.#program[state] as Instruction
        if (instruction.kind !== "character") continue
        this.#tries += instruction.cost
        if (instruction.accepts(code)) this.#reach(state + 1, at)
      }
      this.#work.spend((1 + this.#tries) / TRIES_PER_UNIT)
      this.#tries = 0
    }
  }

  /** Adds a state and all that it leads to without a character. */
  #reach(first: number, at: number): void {
    this.#pending.push(first)
    for (let state = this.#pending.pop(); state !== undefined; state = this.#pending.pop()) {
      if (this.#reachedAt[state] === at) continue
      this.#reachedAt[state] = at
      this.#tries++
      const instruction = this.#program[state] as Instruction
      if (instruction.kind === "match") this.#isFound = true
      else if (instruction.kind === "character") this.#states.push(state)
      else if (instruction.kind === "split") this.#pending.push(instruction.second, instruction.first)
      else if (this.#holds(instruction.kind, at)) this.#pending.push(state + 1)
    }
  }

  #holds(assertion: "start" | "end" | "boundary" | "inside", at: number): boolean {
    if (assertion === "start") return at === 0
    if (assertion === "end") return at === this.#text.length
    const isBoundary = this.#isWordAt(at - 1) !== this.#isWordAt(at)
    return isBoundary === (assertion === "boundary")
  }

  #isWordAt(at: number): boolean {
    return at >= 0 && at < this.#text.length && isWord(this.#text.charCodeAt(at))
  }
}
