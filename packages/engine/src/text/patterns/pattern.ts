/**
 * Compiles a pattern to a small program, and runs it over a string: all states in parallel, character by character,
 * without backtracking. The time is proportional to the length of the string, whatever the pattern is.
 */
import {
  type CharacterNode,
  isWord,
  PatternError,
  type PatternNode,
  PatternReader,
} from "./pattern-reader.ts"

type Assertion = "start" | "end" | "boundary" | "inside"
/** `next` is the index of the instruction to continue with. */
type CharacterInstruction = CharacterNode & { readonly next: number }
type Instruction =
  | CharacterInstruction
  | { readonly kind: Assertion; readonly next: number }
  | { readonly kind: "split"; readonly next: readonly number[] }
  | { readonly kind: "match" }

interface Program {
  readonly instructions: readonly Instruction[]
  readonly start: number
}

export interface Pattern {
  readonly program: Program
  /** What must match at the start of the string, or must not. */
  readonly conditions: readonly { readonly program: Program; readonly isNegated: boolean }[]
  /** Number of all instructions. */
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
  const read = new PatternReader(source).read()
  const program = compile(read.node, limits.instructions)
  const conditions = read.conditions.map(({ node, isNegated }) => ({
    program: compile(node, limits.instructions),
    isNegated,
  }))
  const size = [program, ...conditions.map((one) => one.program)].reduce(
    (sum, { instructions }) => sum + instructions.length,
    0,
  )
  return { program, conditions, size }
}

/** Each part is compiled with the index of what comes after it, so from the end to the start. */
function compile(pattern: PatternNode, maxInstructions: number): Program {
  const instructions: Instruction[] = [{ kind: "match" }]

  const add = (instruction: Instruction): number => {
    if (instructions.length < maxInstructions) return instructions.push(instruction) - 1
    throw new PatternError(
      `it is too large: it has more than ${maxInstructions} states. Use fewer or smaller {n,m}`,
    )
  }

  const before = (next: number, node: PatternNode): number => {
    if (node.kind === "sequence") return node.nodes.reduceRight(before, next)
    if (node.kind === "either")
      return add({ kind: "split", next: node.nodes.map((one) => before(next, one)) })
    if (node.kind !== "repeat") return add({ ...node, next })
    let start = next
    if (node.max === Number.POSITIVE_INFINITY) {
      const targets = [next]
      start = add({ kind: "split", next: targets })
      targets.push(before(start, node.node))
    } else {
      for (let i = node.min; i < node.max; i++) {
        start = add({ kind: "split", next: [before(start, node.node), next] })
      }
    }
    for (let i = 0; i < node.min; i++) {
      const repeated = before(start, node.node)
      // Repeating an empty pattern has no effect: `(((){9999}){9999}){9999}` would take days.
      if (repeated === start) break
      start = repeated
    }
    return start
  }

  const start = before(0, pattern)
  return { instructions, start }
}

/**
 * Whether the pattern is found anywhere in the string. `spend` is called for every character with the number of states tried
 * there; it stops the search by throwing.
 */
export function isFound(
  { program, conditions }: Pattern,
  text: string,
  spend: (tries: number) => void,
): boolean {
  const holds = conditions.every((one) => search(text, one.program, spend) !== one.isNegated)
  return holds && search(text, program, spend)
}

function search(text: string, { instructions, start }: Program, spend: (tries: number) => void): boolean {
  /** The position at which a state was last reached: it is followed once there. */
  const reachedAt = new Int32Array(instructions.length).fill(-1)
  const pending: number[] = []
  let states: number[] = []
  let isMatch = false
  let tries = 0

  /** Adds a state and all states that follow it without a character. */
  const reach = (first: number, at: number) => {
    pending.push(first)
    for (let state = pending.pop(); state !== undefined; state = pending.pop()) {
      if (reachedAt[state] === at) continue
      reachedAt[state] = at
      tries++
      const instruction = instructions[state] as Instruction
      if (instruction.kind === "match") isMatch = true
      else if (instruction.kind === "character") states.push(state)
      else if (instruction.kind === "split") for (const one of instruction.next) pending.push(one)
      else if (holdsAt(instruction.kind, text, at)) pending.push(instruction.next)
    }
  }

  // A pattern that starts with ^ and has no state left cannot start again later.
  const isAnchored = instructions[start]?.kind === "start"
  for (let at = 0; ; ) {
    reach(start, at)
    if (isMatch) return true
    if (at >= text.length) return false
    const code = text.codePointAt(at) as number
    at += code > 0xffff ? 2 : 1
    const current = states
    states = []
    for (const state of current) {
      const { cost, accepts, next } = instructions[state] as CharacterInstruction
      tries += cost
      if (accepts(code)) reach(next, at)
    }
    spend(1 + tries)
    tries = 0
    if (isAnchored && states.length === 0) return isMatch
  }
}

function holdsAt(assertion: Assertion, text: string, at: number): boolean {
  if (assertion === "start") return at === 0
  if (assertion === "end") return at === text.length
  // Outside of the string, charCodeAt is NaN.
  const isBoundary = isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))
  return isBoundary === (assertion === "boundary")
}

// Samples: strings that match a pattern, built from its parts with few repetitions. Assertions are ignored: the caller checks.

/** Characters to try, plain ones first. */
const ALPHABET = [
  ..."abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -_.,:;/@#+*=!?&%$()[]{}<>'\"\\|~^`\t\n",
]
const MAX_LENGTH = 10_000

/** Up to `count` different strings, shorter ones first; some have at least `length` characters if the pattern allows it. */
export function patternSamples(source: string, length: number, count: number): string[] {
  let node: PatternNode
  try {
    node = new PatternReader(source).read().node
  } catch (error) {
    if (error instanceof PatternError) return []
    throw error
  }
  const samples = new Set<string>()
  for (let turn = 0; turn < count; turn++) samples.add(write(node, turn, turn))
  for (let extra = count; extra <= length + count; extra += Math.max(1, Math.floor(length / 8))) {
    samples.add(write(node, extra, 0))
  }
  return [...samples]
}

function write(node: PatternNode, extra: number, turn: number): string {
  switch (node.kind) {
    case "character": {
      const accepted = ALPHABET.filter((character) => node.accepts(character.codePointAt(0) ?? 0))
      return accepted[turn % Math.max(1, accepted.length)] ?? anyAccepted(node.accepts)
    }
    case "sequence":
      return node.nodes.map((one) => write(one, extra, turn)).join("")
    case "either": {
      const chosen = node.nodes[turn % node.nodes.length]
      return chosen === undefined ? "" : write(chosen, extra, Math.floor(turn / node.nodes.length))
    }
    case "repeat": {
      let text = ""
      const times = Math.min(node.max, node.min + extra)
      for (let i = 0; i < times && text.length < MAX_LENGTH; i++) {
        const more = write(node.node, extra, turn + i)
        if (more === "") break
        text += more
      }
      return text
    }
    default:
      return ""
  }
}

function anyAccepted(accepts: (code: number) => boolean): string {
  for (let code = 0xa0; code < 0xd800; code++) if (accepts(code)) return String.fromCodePoint(code)
  return ""
}
