/** The beginning and the end of steps that run at the same time, and other nodes that are no steps. */
import { SuperstepError } from "../../core/index.ts"
import type { Context } from "../../runtime/index.ts"
import { lookedInto } from "../data-in-text.ts"
import { expression, template } from "../expressions/index.ts"
import { RECORDS } from "./records.ts"
import type { StepList } from "./step-list.ts"
import { leave, makeNode, resultAt, type StepNode, type StepOptions } from "./step-node.ts"
import { scopeOf } from "./step-scope.ts"
import { valueAt } from "./step-values.ts"
import type { View } from "./view.ts"

type BeginOptions = Pick<StepOptions, "loop">
type EndOptions = Pick<StepOptions, "last">

/** From here on its branches see what is there now, and what they leave themselves. */
export function parallelStart(steps: StepList, id: string, options: BeginOptions = {}): StepNode {
  return makeNode(steps, id, { kind: "parallel", ...options }, (view, ctx) => {
    ctx.state.write(RECORDS, [{ id: view.path, begun: true }])
    return { after: ctx.node }
  })
}

/** All its branches have ended. */
export function parallelEnd(steps: StepList, id: string, options: EndOptions = {}): StepNode {
  return makeNode(steps, id, { kind: "merge", id: `${id}#end`, joins: true }, (view, ctx) => {
    const { order = [] } = (valueAt(view, view.path) ?? {}) as { readonly order?: readonly string[] }
    return endBlock(view, ctx, order, options)
  })
}

export interface MapStartOptions extends BeginOptions {
  /** The list, as an expression or a template. */
  readonly over: string
}

/** A message for every item. */
export function mapStart(steps: StepList, id: string, options: MapStartOptions): StepNode {
  const { over, loop } = options
  const list = over.includes("{{") ? template(over, "steps") : expression(over, "steps")
  const evaluate = "value" in list ? list.value : list.evaluate
  return makeNode(steps, id, { kind: "map", loop }, (view, ctx) => {
    const found = lookedInto(evaluate(scopeOf(view)))
    if (!Array.isArray(found)) throw noList(view, over)
    ctx.state.write(RECORDS, [{ id: view.path, begun: true }])
    return found.map((value, index) => ({ after: ctx.node, item: { index, value } }))
  })
}

/** All items are done. One that failed, and is passed over, has left nothing. */
export function mapEnd(steps: StepList, id: string, options: EndOptions = {}): StepNode {
  return makeNode(steps, id, { kind: "merge", id: `${id}#end`, joins: true }, (view, ctx, results) => {
    const order = (results as readonly unknown[]).map((_, index) => String(index))
    return endBlock(view, ctx, order, options)
  })
}

function endBlock(view: View, ctx: Context, order: readonly string[], { last }: EndOptions): unknown {
  const after = leave(view, ctx, { order })
  return last ? resultAt(view.with({ id: view.path, order }), view.path) : after
}

/** A way that ends on something that is no step: the run's output is what the last step before has left. */
export function stepsEnd(steps: StepList): StepNode {
  return makeNode(steps, "#end", { kind: "end" }, (view) => {
    const path = view.lastPath
    return path === undefined ? undefined : resultAt(view, path)
  })
}

/** Where several ways of one branch come together. */
export function passStep(steps: StepList, id: string): StepNode {
  return makeNode(steps, id, { kind: "merge" }, (_, ctx) => ({ after: ctx.node }))
}

function noList(view: View, over: string): SuperstepError {
  const text = `workflow: map "${view.path}" goes over a list, and this gives none: ${over}`
  return new SuperstepError("MAP_NEEDS_LIST", text, { retryable: false })
}
