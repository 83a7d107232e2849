/** A pattern as a small program whose running time is in proportion to the text, whatever the pattern is. */
import { type CharacterNode, PatternError, type PatternNode, PatternReader } from "./pattern-reader.ts"

export type Instruction =
  | CharacterNode
  | { readonly kind: "split"; readonly first: number; readonly second: number }
  | { readonly kind: "start" | "end" | "boundary" | "inside" | "match" }

const MAX_PROGRAM = 1_000

export function compilePattern(pattern: string): readonly Instruction[] {
  const program: Instruction[] = []
  emit(new PatternReader(pattern).read(), program)
  push(program, { kind: "match" })
  return program
}

function push(program: Instruction[], instruction: Instruction): number {
  if (program.length >= MAX_PROGRAM) throw new PatternError("the pattern is too large")
  return program.push(instruction) - 1
}

function emit(node: PatternNode, program: Instruction[]): void {
  if (node.kind === "sequence") for (const part of node.nodes) emit(part, program)
  else if (node.kind === "either") emitEither(node.nodes, program)
  else if (node.kind === "repeat") emitRepeat(node, program)
  else push(program, node)
}

function emitEither(nodes: readonly PatternNode[], program: Instruction[]): void {
  const jumps: number[] = []
  nodes.forEach((node, i) => {
    const isLast = i === nodes.length - 1
    const split = isLast ? -1 : push(program, { kind: "match" })
    emit(node, program)
    if (isLast) return
    jumps.push(push(program, { kind: "match" }))
    program[split] = { kind: "split", first: split + 1, second: program.length }
  })
  for (const jump of jumps) program[jump] = { kind: "split", first: program.length, second: program.length }
}

function emitRepeat(
  { node, least, most }: { readonly node: PatternNode; readonly least: number; readonly most: number },
  program: Instruction[],
): void {
  const start = program.length
  for (let i = 0; i < least; i++) {
    emit(node, program)
    // Nothing, however often, is nothing: `(((){9999}){9999}){9999}` would go on for days.
    if (program.length === start) break
  }
  if (most === Number.POSITIVE_INFINITY) {
    const split = push(program, { kind: "match" })
    emit(node, program)
    const back = push(program, { kind: "split", first: split, second: split })
    program[split] = { kind: "split", first: split + 1, second: back + 1 }
    return
  }
  const splits: number[] = []
  for (let i = least; i < most; i++) {
    splits.push(push(program, { kind: "match" }))
    emit(node, program)
  }
  for (const split of splits) program[split] = { kind: "split", first: split + 1, second: program.length }
}
