/**
 * An expression as functions. cel-js parses; everything after that is here, because its values are JSON (one kind
 * of number), its cost is bounded, and a missing path is no error. What cannot work whatever the values are is
 * found while compiling.
 */
import { type ASTNode, parse } from "@marcbachmann/cel-js"
import type { Json } from "../../core/index.ts"
import { compileCall, compileMethod } from "./compile-call.ts"
import { compileLogic, compileNot, compileTernary } from "./compile-logic.ts"
import type { Evaluation } from "./evaluation.ts"
import { ExpressionError, Failure, quoted, type Span } from "./expression-error.ts"
import { kindOf, nameOfKind, type StaticKind } from "./kinds.ts"
import { calculate, compare, equals, isIn, type Operator, operatorProblem } from "./operators.ts"
import type { Rewritten } from "./rewrite.ts"
import type { Spelling } from "./spelling.ts"

export interface Code {
  readonly run: (run: Evaluation) => Json | undefined
  readonly kind: StaticKind
}

export interface Compiled extends Code {
  /** It makes texts, lists or objects that were not there before, so that the size of its value needs a look. */
  readonly builds: boolean
}

export function compile(source: string, rewritten: Rewritten, spelling: Spelling): Compiled {
  const compiler = new Compiler(rewritten, spelling)
  const code = compiler.compile(parseCel(source, rewritten))
  return { ...code, builds: compiler.builds }
}

function parseCel(source: string, { cel }: Rewritten): ASTNode {
  try {
    return parse(cel.text).ast
  } catch (error) {
    // Only what the parser throws can come here: its own errors.
    const { code = "", range, summary = "" } = error as { code?: string; range?: Span; summary?: string }
    if (range !== undefined && range.start >= cel.text.length) {
      throw new ExpressionError("This expression ends too soon.", {
        start: source.length,
        end: source.length,
      })
    }
    const at = cel.sourceOf(range ?? { start: 0, end: cel.text.length })
    if (code === "limit_exceeded") throw new ExpressionError("This expression has too many parts.", at)
    const found = source.slice(at.start, at.end)
    const problem =
      code.startsWith("unexpected") && found !== "" ? `unexpected ${quoted(found)}` : plainly(summary)
    throw new ExpressionError(`This is no expression: ${problem}.`, at)
  }
}

const TOKEN_NAMES: Readonly<Record<string, string>> = {
  EOF: "the end",
  RPAREN: '")"',
  RBRACKET: '"]"',
  RBRACE: '"}"',
  COLON: '":"',
  IDENTIFIER: "a name",
  NUMBER: "a number",
  STRING: "text",
}

function plainly(summary: string): string {
  return summary
    .replace(/\b[A-Z]{3,}\b/g, (name) => TOKEN_NAMES[name] ?? name.toLowerCase())
    .replace(/^./, (first) => first.toLowerCase())
}

/** What the parts of the compiler share. */
export class Compiler {
  readonly spelling: Spelling
  builds = false
  /** How many nodes were compiled: what a macro's body costs. */
  size = 0
  readonly #rewritten: Rewritten
  readonly #bound: { readonly name: string; readonly slot: number }[] = []
  #slots = 0

  constructor(rewritten: Rewritten, spelling: Spelling) {
    this.#rewritten = rewritten
    this.spelling = spelling
  }

  compile(node: ASTNode): Code {
    this.size++
    switch (node.op) {
      case "value":
        return this.#literal(node.args, node)
      case "id":
        return this.#variable(node.args, node)
      case ".":
        return this.#access(this.compile(node.args[0]), { run: () => node.args[1], kind: "text" }, node)
      case "[]":
        return this.#access(this.compile(node.args[0]), this.compile(node.args[1]), node)
      case "list":
        return this.#list(node.args)
      case "map":
        return this.#map(node.args, node)
      case "?:":
        return compileTernary(this, node.args, node)
      case "&&":
      case "||":
        return compileLogic(this, node.op, node.args, node)
      case "!_":
        return compileNot(this, node.args, node)
      case "-_":
        return this.#minus(node.args, node)
      case "call":
        return compileCall(this, node.args[0], node.args[1], node)
      case "rcall":
        return compileMethod(this, node.args[0], node.args[1], node.args[2], node)
      case ".?":
      case "[?]":
        throw this.error("optional paths are not supported: a missing path is no error", node)
      default:
        return this.#operator(node.op, node.args, node)
    }
  }

  error(problem: string, node: Span): ExpressionError {
    return new ExpressionError(`${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`, this.at(node))
  }

  at(node: Span): Span {
    return this.#rewritten.cel.sourceOf(node)
  }

  /** Compiles what sees the name; gives it a slot of its own, so that macros can be nested. */
  binding<T>(name: string, inside: (slot: number) => T): T {
    const slot = this.#slots++
    this.#bound.push({ name, slot })
    try {
      return inside(slot)
    } finally {
      this.#bound.pop()
    }
  }

  #literal(value: unknown, node: Span): Code {
    const plain = typeof value === "bigint" ? Number(value) : value
    if (typeof value === "bigint" && !Number.isSafeInteger(plain))
      throw this.error("this number is too long to be kept exactly; if it is an id, put it in quotes", node)
    const isKnown = plain === null || ["string", "boolean", "number"].includes(typeof plain)
    if (!isKnown) throw this.error("values of this kind are not supported", node)
    if (typeof plain === "number" && !Number.isFinite(plain))
      throw this.error("this number is too large", node)
    const literal = plain as Json
    return { run: () => literal, kind: kindOf(literal) }
  }

  #variable(name: string, node: Span): Code {
    const slot = this.#bound.findLast((bound) => bound.name === name)?.slot
    if (slot !== undefined) return { run: (run) => run.slots[slot], kind: "any" }
    const reference = /^r\d+$/.test(name) ? this.#rewritten.references[Number(name.slice(1))] : undefined
    if (reference === undefined) throw this.error(`unknown name "${name.replace(/^m_/, "")}"`, node)
    return { run: (run) => run.read(reference), kind: "any" }
  }

  #access(owner: Code, key: Code, node: Span): Code {
    const canHaveMembers = owner.kind === "any" || owner.kind === "list" || owner.kind === "map"
    if (!canHaveMembers) throw this.error(`${nameOfKind(owner.kind)} has no members`, node)
    if (key.kind !== "any" && key.kind !== "number" && (key.kind !== "text" || owner.kind === "list")) {
      throw this.error(
        `a ${owner.kind === "list" ? "list's index is a number" : "key is text or a number"}`,
        node,
      )
    }
    const at = this.at(node)
    const run = (run: Evaluation) => {
      const value = owner.run(run)
      const name = key.run(run)
      if (typeof name === "string" || typeof name === "number") return run.member(value, name)
      throw new Failure(`a key is text or a number, not ${nameOfKind(kindOf(name))}`, at)
    }
    return { run, kind: "any" }
  }

  #list(nodes: readonly ASTNode[]): Code {
    this.builds = true
    const items = nodes.map((node) => this.compile(node))
    return { run: (run) => items.map((item) => item.run(run) ?? null), kind: "list" }
  }

  #map(nodes: readonly (readonly [ASTNode, ASTNode])[], node: Span): Code {
    this.builds = true
    const entries = nodes.map(([key, value]) => [this.compile(key), this.compile(value)] as const)
    const at = this.at(node)
    const run = (run: Evaluation) => {
      const made: Record<string, Json> = {}
      for (const [key, value] of entries) {
        const name = key.run(run)
        const isKey = (typeof name === "string" || typeof name === "number") && name !== "__proto__"
        if (!isKey) throw new Failure(`a key is text, not ${nameOfKind(kindOf(name))}`, at)
        made[name] = value.run(run) ?? null
      }
      return made
    }
    return { run, kind: "map" }
  }

  #minus(node: ASTNode, whole: Span): Code {
    const operand = this.compile(node)
    const at = this.at(whole)
    if (operand.kind !== "any" && operand.kind !== "number") {
      throw this.error(`"-" takes a number, not ${nameOfKind(operand.kind)}`, whole)
    }
    const run = (run: Evaluation) => {
      const value = operand.run(run)
      if (typeof value === "number") return -value
      throw new Failure(`"-" takes a number, not ${nameOfKind(kindOf(value))}`, at)
    }
    return { run, kind: "number" }
  }

  #operator(operator: Operator, [first, second]: readonly [ASTNode, ASTNode], node: Span): Code {
    const left = this.compile(first)
    const right = this.compile(second)
    const problem = operatorProblem(operator, left.kind, right.kind)
    if (problem !== undefined) throw this.error(problem, node)
    const { spelling } = this
    const at = this.at(node)
    switch (operator) {
      case "==":
        return { run: (run) => equals(left.run(run), right.run(run), run, spelling, at), kind: "boolean" }
      case "!=":
        return { run: (run) => !equals(left.run(run), right.run(run), run, spelling, at), kind: "boolean" }
      case "in": {
        const isNegated = this.#rewritten.negated.some(
          (offset) => offset >= first.end && offset < second.start,
        )
        return { run: (run) => isIn(left.run(run), right.run(run), run, at) !== isNegated, kind: "boolean" }
      }
      case "<":
      case "<=":
      case ">":
      case ">=":
        return { run: (run) => compare(operator, left.run(run), right.run(run), run, at), kind: "boolean" }
      default: {
        this.builds ||= operator === "+"
        const known = left.kind === "any" ? right.kind : left.kind
        const kind = operator === "+" ? known : "number"
        return { run: (run) => calculate(operator, left.run(run), right.run(run), run, at), kind }
      }
    }
  }
}
