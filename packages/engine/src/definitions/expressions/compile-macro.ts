/** Macros over lists, and over the keys of objects. Each item costs the operations of the body. */
import type { ASTNode } from "@marcbachmann/cel-js"
import type { Json } from "../../core/index.ts"
import type { Code, Compiler } from "./compile.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span, tooCostly } from "./expression-error.ts"
import { isList, isMap, kindOf, nameOfKind } from "./kinds.ts"
import { readable } from "./path.ts"
import { truthOf } from "./truth.ts"
import { FAILURE_COST, MAX_MACRO_ITEMS } from "./work.ts"

/** The body for one item. */
type Body = (run: Evaluation) => Json | undefined
type Test = (run: Evaluation) => boolean
type Each = (run: Evaluation, visit: () => boolean) => void

export function compileMacro(
  compiler: Compiler,
  name: string,
  owner: ASTNode,
  args: readonly ASTNode[],
  node: Span,
): Code {
  const [variable, ...bodies] = args
  const fits = bodies.length === 1 || (name === "map" && bodies.length === 2)
  if (variable?.op !== "id" || !variable.args.startsWith("m_") || !fits) {
    throw compiler.error(`.${name}() takes a name and what to do with it, like .${name}(x, …)`, node)
  }
  const list = compiler.compile(owner)
  if (list.kind !== "any" && list.kind !== "list" && list.kind !== "map") {
    throw compiler.error(`.${name}() goes over a list, not ${nameOfKind(list.kind)}`, node)
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
      throw new Failure(`.${name}() goes over a list, not ${nameOfKind(kindOf(value))}`, at)
    }
    if (items.length > MAX_MACRO_ITEMS) {
      throw tooCostly(
        `.${name}() was to go over ${items.length} items; at most ${MAX_MACRO_ITEMS} are allowed`,
      )
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

/** A test is a condition of its own: for an item where its path is missing, it is false. */
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
