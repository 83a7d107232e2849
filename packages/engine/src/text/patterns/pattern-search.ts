/** Runs a pattern over a text: all its states at once, one character after the other, never back. */
import type { Instruction, Pattern, Program } from "./pattern-program.ts"
import { isWord } from "./pattern-reader.ts"

/**
 * True when the pattern is found anywhere in the text. `spend` is called for every character with the number of states
 * tried there; it stops the search by throwing.
 */
export function isFound(
  { program, conditions }: Pattern,
  text: string,
  spend: (tries: number) => void,
): boolean {
  const holds = conditions.every((one) => new Search(text, one.program, spend).run() !== one.isNegated)
  return holds && new Search(text, program, spend).run()
}

class Search {
  readonly #text: string
  readonly #program: Program
  readonly #spend: (tries: number) => void
  /** At which position a state was last reached: nobody follows it twice there. */
  readonly #reachedAt: Int32Array
  readonly #pending: number[] = []
  #states: number[] = []
  #isFound = false
  #tries = 0

  constructor(text: string, program: Program, spend: (tries: number) => void) {
    this.#text = text
    this.#program = program
    this.#spend = spend
    this.#reachedAt = new Int32Array(program.length).fill(-1)
  }

  run(): boolean {
    // A pattern that starts with ^ and has no state left cannot start again further on.
    const isAnchored = this.#program[0]?.kind === "start"
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
      this.#spend(1 + this.#tries)
      this.#tries = 0
      if (isAnchored && this.#states.length === 0) return this.#isFound
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
