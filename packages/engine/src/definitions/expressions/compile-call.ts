/** Calls of functions and methods, and macros: `list.map(x, …)` runs its body for every item. */
import type { ASTNode } from "@marcbachmann/cel-js"
import type { Json } from "../../core/index.ts"
import type { Code, Compiler } from "./compile.ts"
import { compileMacro } from "./compile-macro.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import { patternProblem } from "./expression-patterns.ts"
import { type CelFunction, FUNCTIONS, METHODS } from "./functions.ts"
import { type Kind, kindOf, nameOfKind, type StaticKind } from "./kinds.ts"
import { MACROS } from "./rewrite.ts"

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

/** True when the path leads somewhere, be it to null. */
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
  const problem = patternProblem(node.args)
  if (problem !== undefined) throw compiler.error(problem, node)
}

function unknown(compiler: Compiler, what: string, isOther: boolean, node: Span) {
  const known = [...FUNCTIONS.keys()].map((name) => `${name}()`)
  const methods = [...METHODS.keys(), ...MACROS].map((name) => `.${name}()`)
  const hint = isOther
    ? "it is written the other way: f(x) or x.f()"
    : `there are ${[...known, ...methods].join(", ")}`
  return compiler.error(`unknown ${what}; ${hint}`, node)
}
