/** Compiles calls of functions and methods, and macros: `list.map(x, …)` evaluates its body for every item. */
import type { ASTNode } from "@marcbachmann/cel-js"
import type { Json } from "../core/index.ts"
import {
  checkResultSize,
  type Evaluation,
  FAILURE_COST,
  MAX_MACRO_ITEMS,
  MAX_RESULT,
  readPattern,
} from "./evaluation.ts"
import { type ExpressionError, Failure, type Span, tooCostly } from "./expression-error.ts"
import { truthOf } from "./operators.ts"
import { MACROS } from "./rewrite.ts"
import type { Spelling } from "./syntax.ts"
import { firstOffset, lastOffset, splitBy } from "./text-search.ts"
import {
  isList,
  isMap,
  jsonLength,
  type Kind,
  kindOf,
  nameOfKind,
  readable,
  readBoolean,
  type StaticKind,
  textOf,
} from "./values.ts"

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

// The functions and methods of expressions: CEL's, for JSON values. The first argument of a method is its owner.

interface CelFunction {
  /** The kinds that each argument may have. Empty: any. */
  readonly takes: readonly (readonly Kind[])[]
  /** The number of optional arguments at the end. */
  readonly optional?: number
  readonly returns: Kind | "any"
  readonly call: (args: readonly Json[], run: Evaluation, at: Span) => Json
}

// Arguments are checked against `takes` before `call`.
const text = (value: Json | undefined) => value as string
const number = (value: Json | undefined) => value as number

const size: CelFunction = {
  takes: [["text", "list", "map"]],
  returns: "number",
  call: ([value], run) => {
    if (typeof value === "string") {
      run.work.spendOnCharacters(value.length)
      return countCharacters(value)
    }
    if (Array.isArray(value)) return value.length
    const { length } = Object.keys(value as object)
    run.work.spendOnKeys(length)
    return length
  },
}

const FUNCTIONS: ReadonlyMap<string, CelFunction> = new Map([
  ["size", size],
  ["dyn", { takes: [[]], returns: "any", call: ([value]) => value as Json }],
  ["string", { takes: [[]], returns: "text", call: toText }],
  [
    "int",
    { takes: [["number", "text"]], returns: "number", call: (args, _, at) => Math.trunc(toNumber(args, at)) },
  ],
  ["double", { takes: [["number", "text"]], returns: "number", call: (args, _, at) => toNumber(args, at) }],
  ["bool", { takes: [["boolean", "number", "text"]], returns: "boolean", call: toBoolean }],
] satisfies [string, CelFunction][])

/** Converts ASCII runs as a whole, because converting letter by letter is slow. */
const ASCII = /[^\x80-\uFFFF]+/g
/** Higher than reading, because ASCII between other characters is converted letter by letter. */
const ASCII_COST = 4

const METHODS: ReadonlyMap<string, CelFunction> = new Map([
  ["size", size],
  ["contains", onTexts((owner, part, { work }) => firstOffset(owner, part, 0, work) >= 0)],
  ["startsWith", onTexts((owner, part) => owner.startsWith(part))],
  ["endsWith", onTexts((owner, part) => owner.endsWith(part))],
  [
    "matches",
    {
      takes: [["text"], ["text"]],
      returns: "boolean",
      call: ([owner, pattern], run, at) => run.matches(text(owner), text(pattern), at),
    },
  ],
  ["lowerAscii", onText((owner) => owner.replace(ASCII, (found) => found.toLowerCase()), ASCII_COST)],
  ["upperAscii", onText((owner) => owner.replace(ASCII, (found) => found.toUpperCase()), ASCII_COST)],
  ["trim", onText((owner) => owner.trim())],
  ["indexOf", position(firstOffset, 0)],
  ["lastIndexOf", position(lastOffset, Number.POSITIVE_INFINITY)],
  ["substring", { takes: [["text"], ["number"], ["number"]], optional: 1, returns: "text", call: substring }],
  [
    "split",
    {
      takes: [["text"], ["text"]],
      returns: "list",
      call: ([owner, separator], { work }) => splitBy(text(owner), text(separator), work),
    },
  ],
  ["join", { takes: [["list"], ["text"]], optional: 1, returns: "text", call: join }],
] satisfies [string, CelFunction][])

function onText(change: (owner: string) => string, cost = 1): CelFunction {
  return {
    takes: [["text"]],
    returns: "text",
    call: ([owner], run) => {
      run.work.spendOnCharacters(cost * text(owner).length)
      return change(text(owner))
    },
  }
}

function onTexts(test: (owner: string, part: string, run: Evaluation) => boolean): CelFunction {
  return {
    takes: [["text"], ["text"]],
    returns: "boolean",
    call: ([owner, part], run) => {
      run.work.spendOnText(text(owner).length)
      return test(text(owner), text(part), run)
    },
  }
}

function position(find: typeof firstOffset, start: number): CelFunction {
  return {
    takes: [["text"], ["text"], ["number"]],
    optional: 1,
    returns: "number",
    call: ([owner, part, from], { work }) => {
      const whole = text(owner)
      work.spendOnCharacters(whole.length)
      const offset = offsetOf(whole, from === undefined ? start : Math.max(0, Math.trunc(number(from))))
      const found = find(whole, text(part), offset, work)
      return found < 0 ? found : countCharacters(whole.slice(0, found))
    },
  }
}

function substring([owner, start, end]: readonly Json[], run: Evaluation, at: Span): string {
  const whole = text(owner)
  run.work.spendOnCharacters(whole.length)
  const length = countCharacters(whole)
  const from = number(start)
  const to = end === undefined ? length : number(end)
  if (!(Number.isInteger(from) && Number.isInteger(to) && 0 <= from && from <= to && to <= length)) {
    throw new Failure(`substring(${from}, ${to}) is outside a string of ${length} characters`, at)
  }
  return whole.slice(offsetOf(whole, from), offsetOf(whole, to))
}

function join([list, separator]: readonly Json[], run: Evaluation, at: Span): string {
  const items = list as readonly Json[]
  const between = separator === undefined ? "" : text(separator)
  run.work.spend(items.length)
  let length = 0
  for (const item of items) {
    if (typeof item !== "string") throw new Failure("join() takes a list of strings", at)
    length += item.length + between.length
    checkResultSize(length)
  }
  run.work.spendOnText(length)
  return items.join(between)
}

function toText([value]: readonly Json[], run: Evaluation): string {
  const length = jsonLength(value, MAX_RESULT)
  checkResultSize(length)
  run.work.spendOnCharacters(length)
  return textOf(value)
}

function toNumber([value]: readonly Json[], at: Span): number {
  if (typeof value === "number") return value
  const trimmed = text(value).length > 100 ? "" : text(value).trim()
  const parsed = trimmed === "" ? Number.NaN : Number(trimmed)
  if (Number.isFinite(parsed)) return parsed
  throw new Failure("this text is not a number", at)
}

function toBoolean([value]: readonly Json[], _: Evaluation, at: Span): boolean {
  const read = readBoolean(value as Json)
  if (read === undefined) throw new Failure("this is neither true nor false", at)
  return read
}

/** Positions count code points: 💡 is one character, though it takes two UTF-16 units. */
function countCharacters(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0)
}

/** The offset of the character at this position. The end of the string if there are fewer. */
function offsetOf(text: string, position: number): number {
  let offset = 0
  for (let i = 0; i < position && offset < text.length; i++) {
    offset += (text.codePointAt(offset) as number) > 0xffff ? 2 : 1
  }
  return offset
}
