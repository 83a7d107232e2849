/** A pattern as a small program. Running it takes time in proportion to the text, whatever the pattern is. */
import { type CharacterNode, PatternError, type PatternNode, PatternReader } from "./pattern-reader.ts"

export type Instruction =
  | CharacterNode
  | { readonly kind: "split"; readonly first: number; readonly second: number }
  | { readonly kind: "start" | "end" | "boundary" | "inside" | "match" }

export type Program = readonly Instruction[]

export interface Pattern {
  readonly program: Program
  /** What must hold at the start of the text, or must not. */
  readonly conditions: readonly { readonly program: Program; readonly isNegated: boolean }[]
  /** Instructions in all. */
  readonly size: number
}

export interface PatternLimits {
  /** Characters of a pattern. */
  readonly length: number
  /** Instructions of each of its programs. */
  readonly instructions: number
}

/** Throws `PatternError`. */
export function compilePattern(source: string, limits: PatternLimits): Pattern {
  if (source.length > limits.length) throw new PatternError(`it is longer than ${limits.length} characters`)
  const { node, conditions: read } = new PatternReader(source).read()
  const program = programOf(node, limits)
  const conditions = read.map(({ node: one, isNegated }) => ({ program: programOf(one, limits), isNegated }))
  return {
    program,
    conditions,
    size: conditions.reduce((sum, one) => sum + one.program.length, program.length),
  }
}

function programOf(node: PatternNode, { instructions: most }: PatternLimits): Program {
  const emitter = new Emitter(most)
  emitter.emit(node)
  emitter.push({ kind: "match" })
  return emitter.program
}

class Emitter {
  readonly program: Instruction[] = []
  readonly #most: number

  constructor(most: number) {
    this.#most = most
  }

  push(instruction: Instruction): number {
    if (this.program.length >= this.#most) {
      throw new PatternError(
        `it is too large: it has more than ${this.#most} states. Use fewer or smaller {n,m}`,
      )
    }
    return this.program.push(instruction) - 1
  }

  emit(node: PatternNode): void {
    if (node.kind === "sequence") for (const part of node.nodes) this.emit(part)
    else if (node.kind === "either") this.#either(node.nodes)
    else if (node.kind === "repeat") this.#repeat(node)
    else this.push(node)
  }

  #either(nodes: readonly PatternNode[]): void {
    const { program } = this
    const jumps: number[] = []
    nodes.forEach((node, i) => {
      const isLast = i === nodes.length - 1
      const split = isLast ? -1 : this.push({ kind: "match" })
      this.emit(node)
      if (isLast) return
      jumps.push(this.push({ kind: "match" }))
      program[split] = { kind: "split", first: split + 1, second: program.length }
    })
    for (const jump of jumps) program[jump] = { kind: "split", first: program.length, second: program.length }
  }

  #repeat({ node, least, most }: Extract<PatternNode, { kind: "repeat" }>): void {
    const { program } = this
    const start = program.length
    for (let i = 0; i < least; i++) {
      this.emit(node)
      // An empty pattern emits nothing however often: `(((){9999}){9999}){9999}` would take days.
      if (program.length === start) break
    }
    if (most === Number.POSITIVE_INFINITY) {
      const split = this.push({ kind: "match" })
      this.emit(node)
      const back = this.push({ kind: "split", first: split, second: split })
      program[split] = { kind: "split", first: split + 1, second: back + 1 }
      return
    }
    const splits: number[] = []
    for (let i = least; i < most; i++) {
      splits.push(this.push({ kind: "match" }))
      this.emit(node)
    }
    for (const split of splits) program[split] = { kind: "split", first: split + 1, second: program.length }
  }
}
