/** `&&`, `||`, `!` and `? :`. What counts as true is the spelling's business. */
import type { ASTNode } from "@marcbachmann/cel-js"
import type { Json } from "../../core/index.ts"
import type { Code, Compiler } from "./compile.ts"
import type { Evaluation } from "./evaluation.ts"
import { Failure, type Span } from "./expression-error.ts"
import { nameOfKind } from "./kinds.ts"
import { truthOf } from "./truth.ts"
import { FAILURE_COST } from "./work.ts"

/**
 * A side that fails does not matter when the other side decides alone (CEL's rule): `$a.missing || $b` is true
 * when `$b` is. In the graph spelling the value is that of the side that decided, as in `name or "nobody"`.
 *
 * What is missing on a side that came out true or false is no excuse for a failure of the other one.
 */
export function compileLogic(
  compiler: Compiler,
  operator: "&&" | "||",
  [first, second]: readonly [ASTNode, ASTNode],
  node: Span,
): Code {
  const [left, right] = [condition(compiler, first), condition(compiler, second)]
  const truth = truthOf(compiler.spelling, compiler.at(node))
  const decisive = operator === "||"
  const isGraph = compiler.spelling === "graph"
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

export function compileNot(compiler: Compiler, operand: ASTNode, node: Span): Code {
  const code = condition(compiler, operand)
  const truth = truthOf(compiler.spelling, compiler.at(node))
  return { run: (run) => !truth(code.run(run), run), kind: "boolean" }
}

export function compileTernary(
  compiler: Compiler,
  [test, first, second]: readonly [ASTNode, ASTNode, ASTNode],
  node: Span,
): Code {
  const code = condition(compiler, test)
  const [yes, no] = [compiler.compile(first), compiler.compile(second)]
  const truth = truthOf(compiler.spelling, compiler.at(node))
  const run = (run: Evaluation) => {
    const before = run.hasMissing
    const isTrue = truth(code.run(run), run)
    run.hasMissing = before
    return isTrue ? yes.run(run) : no.run(run)
  }
  return {
    run,
    kind: yes.kind === no.kind ? yes.kind : "any",
  }
}

/** In the steps spelling, what is certainly no condition (`1 && $x`) is a mistake. */
function condition(compiler: Compiler, node: ASTNode): Code {
  const code = compiler.compile(node)
  if (compiler.spelling === "graph" || code.kind === "boolean" || code.kind === "any") return code
  throw compiler.error(`here stands true or false, not ${nameOfKind(code.kind)}`, node)
}
