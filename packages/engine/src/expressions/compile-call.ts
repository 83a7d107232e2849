/** Compiles calls of functions and methods, and macros: `list.map(x, …)` evaluates its body for every item. */
import type { ASTNode } from "@marcbachmann/cel-js"
import type { Json } from "../core/index.ts"
import { type Evaluation, FAILURE_COST, MAX_MACRO_ITEMS, readPattern } from "./evaluation.ts"
import { type ExpressionError, Failure, type Span, tooCostly } from "./expression-error.ts"
import { type CelFunction, FUNCTIONS, METHODS } from "./functions.ts"
import { truthOf } from "./operators.ts"
import { MACROS } from "./rewrite.ts"
import type { Spelling } from "./syntax.ts"
import { isList, isMap, type Kind, kindOf, nameOfKind, readable, type StaticKind } from "./values.ts"

export interface Code {
  readonly run: (run: Evaluation) => Json | undefined
  readonly kind: StaticKind
}

/** The part of the compiler that calls need. */
export interface Compiler {
  readonly spelling: Spelling
  /** Whether the expression creates new strings, lists or objects. */
  builds: boolean
  /** The number of compiled nodes. */
  readonly size: number
  compile(node: ASTNode): Code
  at(node: Span): Span
  error(message: string, node: Span): ExpressionError
  binding<T>(name: string, body: (slot: number) => T): T
}

export function compileCall(compiler: Compiler, name: string, args: readonly ASTNode[], node: Span): Code {
  if (name === "has") return compileHas(compiler, args, node)
  const found = FUNCTIONS.get(name)
  if (found === undefined) throw unknown(compiler, `function ${name}()`, METHODS.has(name), node)
  return apply(compiler, name, found, args, node)
}

export function compileMethod(
  compiler: Compiler,
  name: string,
  owner: ASTNode,
  args: readonly ASTNode[],
  node: Span,
): Code {
  if (MACROS.has(name)) return compileMacro(compiler, name, owner, args, node)
  const found = METHODS.get(name)
  if (found === undefined) throw unknown(compiler, `method .${name}()`, FUNCTIONS.has(name), node)
  if (name === "matches") checkPattern(compiler, args[0])
  return apply(compiler, name, found, [owner, ...args], node)
}

/** True if the path exists, even if its value is null. */
function compileHas(compiler: Compiler, args: readonly ASTNode[], node: Span): Code {
  const [path] = args
  const isPath = path !== undefined && args.length === 1 && ["id", ".", "[]"].includes(path.op)
  if (!isPath) throw compiler.error("has() takes one path", node)
  const code = compiler.compile(path)
  const run = (run: Evaluation) => {
    const before = run.hasMissing
    const isThere = code.run(run) !== undefined
    run.hasMissing = before
    return isThere
  }
  return { run, kind: "boolean" }
}

function apply(
  compiler: Compiler,
  name: string,
  { takes, optional = 0, returns, call }: CelFunction,
  nodes: readonly ASTNode[],
  node: Span,
): Code {
  if (nodes.length > takes.length || nodes.length < takes.length - optional) {
    throw compiler.error(`${name}() has the wrong number of arguments`, node)
  }
  compiler.builds ||= returns !== "boolean" && returns !== "number"
  const args = nodes.map((arg) => compiler.compile(arg))
  for (const [i, arg] of args.entries()) {
    const problem = arg.kind === "any" ? undefined : kindProblem(name, takes[i], arg.kind)
    if (problem !== undefined) throw compiler.error(problem, nodes[i] as ASTNode)
  }
  const at = compiler.at(node)
  const run = (run: Evaluation) => {
    const values = args.map((arg, i) => {
      const value = arg.run(run)
      const problem = kindProblem(name, takes[i], kindOf(value))
      if (problem !== undefined) throw new Failure(problem, at)
      return value as Json
    })
    return call(values, run, at)
  }
  return { run, kind: returns }
}

function kindProblem(name: string, allowed: readonly Kind[] = [], kind: StaticKind): string | undefined {
  const fits = allowed.length === 0 ? kind !== "missing" : allowed.some((candidate) => candidate === kind)
  if (fits) return undefined
  const wanted = allowed.map(nameOfKind).join(" or ") || nameOfKind("any")
  return `${name}() takes ${wanted} here, not ${nameOfKind(kind)}`
}

function checkPattern(compiler: Compiler, node: ASTNode | undefined): void {
  if (node?.op !== "value" || typeof node.args !== "string") return
  const pattern = readPattern(node.args)
  if (typeof pattern === "string") throw compiler.error(pattern, node)
}

function unknown(compiler: Compiler, what: string, isOther: boolean, node: Span) {
  const known = [...FUNCTIONS.keys()].map((name) => `${name}()`)
  const methods = [...METHODS.keys(), ...MACROS].map((name) => `.${name}()`)
  const hint = isOther
    ? "use the other form: f(x) or x.f()"
    : `available: ${[...known, ...methods].join(", ")}`
  return compiler.error(`unknown ${what}; ${hint}`, node)
}

type Body = (run: Evaluation) => Json | undefined
type Test = (run: Evaluation) => boolean
type Each = (run: Evaluation, visit: () => boolean) => void

/** Macros iterate over lists, and over the keys of objects. Each item costs the operations of the body. */
function compileMacro(
  compiler: Compiler,
  name: string,
  owner: ASTNode,
  args: readonly ASTNode[],
  node: Span,
): Code {
  const [variable, ...bodies] = args
  const fits = bodies.length === 1 || (name === "map" && bodies.length === 2)
  if (variable?.op !== "id" || !variable.args.startsWith("m_") || !fits) {
    throw compiler.error(`.${name}() takes a variable and an expression, like .${name}(x, …)`, node)
  }
  const list = compiler.compile(owner)
  if (list.kind !== "any" && list.kind !== "list" && list.kind !== "map") {
    throw compiler.error(`.${name}() needs a list, not ${nameOfKind(list.kind)}`, node)
  }
  const before = compiler.size
  return compiler.binding(variable.args, (slot) => {
    const codes = bodies.map((body) => compiler.compile(body))
    const each = eachItem(list, slot, 1 + compiler.size - before, name, compiler.at(node))
    const tests = codes.map((code, i) => testOf(compiler, code, bodies[i] as ASTNode))
    const last = codes[codes.length - 1] as Code
    if (name !== "map" && name !== "filter")
      return { run: quantifier(name, each, tests[0] as Test), kind: "boolean" }
    compiler.builds = true
    const body: Body = name === "map" ? last.run : (run) => run.slots[slot]
    const keeps = name === "map" && codes.length === 1 ? undefined : tests[0]
    return { run: collector(each, body, keeps), kind: "list" }
  })
}

function eachItem(list: Code, slot: number, cost: number, name: string, at: Span): Each {
  return (run, visit) => {
    const value = list.run(run)
    const items = isList(value) ? value : isMap(value) ? Object.keys(value) : undefined
    if (items === undefined) {
      throw new Failure(`.${name}() needs a list, not ${nameOfKind(kindOf(value))}`, at)
    }
    if (items.length > MAX_MACRO_ITEMS) {
      throw tooCostly(`.${name}() got ${items.length} items; at most ${MAX_MACRO_ITEMS} are allowed`)
    }
    if (items !== value) run.work.spendOnKeys(items.length)
    for (let i = 0; i < items.length; i++) {
      run.work.spend(cost)
      run.slots[slot] = readable(items[i])
      if (!visit()) return
    }
  }
}

function collector(each: Each, body: Body, keeps: Test | undefined) {
  return (run: Evaluation): Json => {
    const made: Json[] = []
    each(run, () => {
      if (keeps === undefined || keeps(run)) made.push(body(run) ?? null)
      return true
    })
    return made
  }
}

function quantifier(name: string, each: Each, test: Test) {
  return (run: Evaluation): boolean => {
    let count = 0
    let isStopped = false
    each(run, () => {
      const isTrue = test(run)
      if (isTrue) count++
      isStopped = name === "all" ? !isTrue : name === "exists" ? isTrue : count > 1
      return !isStopped
    })
    if (name === "all") return !isStopped
    return name === "exists" ? isStopped : count === 1
  }
}

/** A test is a separate condition: it is false for an item whose path is missing. */
function testOf(compiler: Compiler, code: Code, node: ASTNode): Test {
  const truth = truthOf(compiler.spelling, compiler.at(node))
  return (run) => {
    const before = run.hasMissing
    run.hasMissing = false
    try {
      const value = code.run(run)
      return value !== undefined && truth(value, run)
    } catch (failure) {
      if (!(failure instanceof Failure && run.hasMissing)) throw failure
      run.work.spend(FAILURE_COST)
      return false
    } finally {
      run.hasMissing = before
    }
  }
}
