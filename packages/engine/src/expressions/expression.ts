/**
 * Compiles an expression to functions. cel-js only parses: evaluation is implemented here, because values are JSON (one
 * kind of number), the cost is bounded, and a missing path is not an error. Operations that cannot succeed for any values
 * are reported at compile time.
 */
import { type ASTNode, parse } from "@marcbachmann/cel-js"
import type { Json } from "../core/index.ts"
import { type Code, type Compiler, compileCall, compileMethod } from "./compile-call.ts"
import {
  checkResultSize,
  Evaluation,
  FAILURE_COST,
  MAX_RESULT,
  referenced,
  type Scope,
} from "./evaluation.ts"
import {
  ExpressionError,
  expressionFailed,
  Failure,
  quotedSource,
  type Span,
  tooCostly,
} from "./expression-error.ts"
import { calculate, compare, equals, isIn, type Operator, operatorProblem, truthOf } from "./operators.ts"
import { type Rewritten, rewrite } from "./rewrite.ts"
import { loneReference, MAX_EXPRESSION, type Reference, type Spelling, tokens } from "./syntax.ts"
import { jsonLength, kindOf, nameOfKind, type StaticKind } from "./values.ts"

interface Compiled extends Code {
  /** Whether it creates new strings, lists or objects, so that the size of its value must be checked. */
  readonly builds: boolean
}

/** `traces`: the evaluation collects the values of its parts. */
function compile(source: string, rewritten: Rewritten, spelling: Spelling, traces = false): Compiled {
  const compiler = new ExpressionCompiler(rewritten, spelling, traces)
  const code = compiler.compile(parseCel(source, rewritten))
  return { ...code, builds: compiler.builds }
}

function parseCel(source: string, { cel }: Rewritten): ASTNode {
  try {
    return parse(cel.text).ast
  } catch (error) {
    // Only the parser's own errors reach this point.
    const { code = "", range, summary = "" } = error as { code?: string; range?: Span; summary?: string }
    if (range !== undefined && range.start >= cel.text.length) {
      const end = source.length
      throw new ExpressionError("This expression is incomplete.", { start: end, end })
    }
    const at = cel.sourceOf(range ?? { start: 0, end: cel.text.length })
    if (code === "limit_exceeded") throw new ExpressionError("This expression has too many parts.", at)
    const found = source.slice(at.start, at.end)
    const problem =
      code.startsWith("unexpected") && found !== "" ? `unexpected ${quotedSource(found)}` : plainly(summary)
    throw new ExpressionError(`This is not an expression: ${problem}.`, at)
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

const UNTRACED: ReadonlySet<string> = new Set(["value", "list", "map"])

class ExpressionCompiler implements Compiler {
  readonly spelling: Spelling
  builds = false
  /** The number of compiled nodes, which is the cost of a macro's body. */
  size = 0
  readonly #rewritten: Rewritten
  readonly #bound: { readonly name: string; readonly slot: number }[] = []
  #slots = 0
  readonly #traces: boolean

  constructor(rewritten: Rewritten, spelling: Spelling, traces: boolean) {
    this.#rewritten = rewritten
    this.#traces = traces
    this.spelling = spelling
  }

  compile(node: ASTNode): Code {
    const code = this.#compile(node)
    // The body of a macro has a value per item, and a literal is its own.
    if (!this.#traces || this.#bound.length > 0 || UNTRACED.has(node.op)) return code
    const at = this.at(node)
    const run = (run: Evaluation) => {
      const value = code.run(run)
      run.trace?.push({ at, value })
      return value
    }
    return { run, kind: code.kind }
  }

  #compile(node: ASTNode): Code {
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
        return this.#ternary(node.args, node)
      case "&&":
      case "||":
        return this.#logic(node.op, node.args, node)
      case "!_": {
        const code = this.#condition(node.args)
        const truth = truthOf(this.spelling, this.at(node))
        return { run: (run) => !truth(code.run(run), run), kind: "boolean" }
      }
      case "-_":
        return this.#minus(node.args, node)
      case "call":
        return compileCall(this, node.args[0], node.args[1], node)
      case "rcall":
        return compileMethod(this, node.args[0], node.args[1], node.args[2], node)
      case ".?":
      case "[?]":
        throw this.error("optional paths are not supported: a missing path is not an error", node)
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

  /** Compiles the code that sees the name. Each binding has its own slot, so that macros can be nested. */
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
      throw this.error(
        "this number is too long to be represented exactly; if it is an id, put it in quotes",
        node,
      )
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
    const isOf = (kinds: readonly StaticKind[], { kind }: Code) => kind === "any" || kinds.includes(kind)
    if (!isOf(["list", "map"], owner)) throw this.error(`${nameOfKind(owner.kind)} has no members`, node)
    if (!isOf(owner.kind === "list" ? ["number"] : ["number", "text"], key)) {
      const wanted = owner.kind === "list" ? "list's index must be a number" : "key must be text or a number"
      throw this.error(`a ${wanted}`, node)
    }
    const at = this.at(node)
    const run = (run: Evaluation) => {
      const value = owner.run(run)
      const name = key.run(run)
      if (typeof name === "string" || typeof name === "number") return run.member(value, name)
      throw new Failure(`a key must be text or a number, not ${nameOfKind(kindOf(name))}`, at)
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
        if (!isKey) throw new Failure(`a key must be text, not ${nameOfKind(kindOf(name))}`, at)
        made[name] = value.run(run) ?? null
      }
      return made
    }
    return { run, kind: "map" }
  }

  /**
   * A failing operand does not matter if the other operand decides alone (CEL's rule): `$a.missing || $b` is true if `$b`
   * is. In the graph spelling the value is that of the deciding operand, as in `name or "nobody"`. A missing path in an
   * operand that is true or false does not excuse a failure of the other operand.
   */
  #logic(operator: "&&" | "||", [first, second]: readonly [ASTNode, ASTNode], node: Span): Code {
    const [left, right] = [this.#condition(first), this.#condition(second)]
    const truth = truthOf(this.spelling, this.at(node))
    const decisive = operator === "||"
    const isGraph = this.spelling === "graph"
    const run = (run: Evaluation) => {
      let value: Json | undefined
      let isTrue: boolean
      const before = run.hasMissing
      try {
        value = left.run(run)
        isTrue = truth(value, run)
      } catch (failure) {
        if (!(failure instanceof Failure)) throw failure
        run.work.spend(FAILURE_COST)
        const other = right.run(run)
        if (truth(other, run) !== decisive) throw failure
        run.hasMissing = before
        return isGraph ? other : decisive
      }
      run.hasMissing = before
      if (isTrue === decisive) return isGraph ? value : decisive
      const other = right.run(run)
      return isGraph ? other : truth(other, run)
    }
    return { run, kind: isGraph && left.kind !== right.kind ? "any" : left.kind }
  }

  #ternary([test, first, second]: readonly [ASTNode, ASTNode, ASTNode], node: Span): Code {
    const code = this.#condition(test)
    const [yes, no] = [this.compile(first), this.compile(second)]
    const truth = truthOf(this.spelling, this.at(node))
    const run = (run: Evaluation) => {
      const before = run.hasMissing
      const isTrue = truth(code.run(run), run)
      run.hasMissing = before
      return isTrue ? yes.run(run) : no.run(run)
    }
    return { run, kind: yes.kind === no.kind ? yes.kind : "any" }
  }

  /** In the steps spelling, an operand that can never be a condition (`1 && $x`) is an error. */
  #condition(node: ASTNode): Code {
    const code = this.compile(node)
    if (this.spelling === "graph" || code.kind === "boolean" || code.kind === "any") return code
    throw this.error(`expected true or false, not ${nameOfKind(code.kind)}`, node)
  }

  #minus(node: ASTNode, whole: Span): Code {
    const operand = this.compile(node)
    const at = this.at(whole)
    const problem = (kind: StaticKind) => `"-" takes a number, not ${nameOfKind(kind)}`
    if (operand.kind !== "any" && operand.kind !== "number") throw this.error(problem(operand.kind), whole)
    const run = (run: Evaluation) => {
      const value = operand.run(run)
      if (typeof value === "number") return -value
      throw new Failure(problem(kindOf(value)), at)
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
      case "!=": {
        const wanted = operator === "=="
        const run = (run: Evaluation) => equals(left.run(run), right.run(run), run, spelling, at) === wanted
        return { run, kind: "boolean" }
      }
      case "in": {
        const { negated } = this.#rewritten
        const isNegated = negated.some((offset) => offset >= first.end && offset < second.start)
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

// Expressions: parsed and compiled once, evaluated as often as needed.

export interface Expression {
  readonly source: string
  /** Its references, in the order of the text. The caller checks whether the roots exist. */
  readonly references: readonly Reference[]
  /** Undefined if a path that it needs is missing. */
  evaluate(scope: Scope): Json | undefined
  /** The same, with the values of its parts. */
  explain(scope: Scope): Explained
}

interface Explained {
  readonly value: Json | undefined
  /** References and operations that were evaluated, the innermost first. A part that another one decided for is absent. */
  readonly operands: readonly Operand[]
}

/** A part of an expression. */
export interface Operand {
  readonly text: string
  /** Absent if a path in it is missing. */
  readonly value?: Json | undefined
}

const MAX_OPERANDS = 20

/** Throws an ExpressionError if the text is not an expression, or can never succeed. */
export function expression(source: string, spelling: Spelling): Expression {
  if (source.length > MAX_EXPRESSION) {
    throw new ExpressionError(`An expression can have at most ${MAX_EXPRESSION} characters.`, {
      start: MAX_EXPRESSION,
      end: source.length,
    })
  }
  const list = tokens(source, spelling)
  const lone = loneReference(list)
  if (lone !== undefined) return reading(source, lone)
  const rewritten = rewrite(list, spelling)
  if (rewritten.cel.text === "") throw new ExpressionError("This expression is empty.", whole(source))
  const { references } = rewritten
  const [reference] = references
  if (rewritten.isLone && reference !== undefined) return reading(source, reference)
  const compiled = compile(source, rewritten, spelling)
  let traced: Compiled | undefined
  return {
    source,
    references,
    evaluate: (scope) => run(source, compiled, new Evaluation(scope)),
    explain(scope) {
      traced ??= compile(source, rewritten, spelling, true)
      const evaluation = new Evaluation(scope, true)
      const value = run(source, traced, evaluation)
      return { value, operands: operandsOf(source, evaluation) }
    },
  }
}

/** An expression that is one reference. */
function reading(source: string, reference: Reference): Expression {
  const evaluate = (scope: Scope) => referenced(reference, scope)
  const explain = (scope: Scope) => {
    const value = evaluate(scope)
    return { value, operands: [operand(source.trim(), value)] }
  }
  return { source, references: [reference], evaluate, explain }
}

/** Each text once; the expression itself is not a part of it. */
function operandsOf(source: string, { trace = [] }: Evaluation): readonly Operand[] {
  const operands = new Map<string, Operand>()
  for (const { at, value } of trace) {
    const text = source.slice(at.start, at.end).trim()
    if (operands.size < MAX_OPERANDS && text !== source.trim()) operands.set(text, operand(text, value))
  }
  return [...operands.values()]
}

function operand(text: string, value: Json | undefined): Operand {
  return value === undefined ? { text } : { text, value }
}

/** An expression that is part of a longer text. Its positions refer to that text. */
export function expressionInside(text: string, start: number, end: number, spelling: Spelling): Expression {
  try {
    const inner = expression(text.slice(start, end), spelling)
    return { ...inner, references: inner.references.map((reference) => shifted(reference, start)) }
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error
    throw new ExpressionError(error.message, shifted(error, start))
  }
}

function run(source: string, compiled: Compiled, evaluation: Evaluation): Json | undefined {
  try {
    const value = compiled.run(evaluation)
    if (compiled.builds) checkResultSize(jsonLength(value, MAX_RESULT))
    return value
  } catch (error) {
    if (error instanceof RangeError) throw tooCostly("a value in it is too deeply nested")
    if (!(error instanceof Failure)) throw error
    if (evaluation.hasMissing) return undefined
    throw expressionFailed(source, error)
  }
}

function whole(source: string) {
  return { start: 0, end: source.length }
}

function shifted<T extends { readonly start: number; readonly end: number }>(place: T, by: number): T {
  return { ...place, start: place.start + by, end: place.end + by }
}
