/**
 * The nodes at which parallel blocks and maps begin and end, and boxes. A box runs several steps as a sub-workflow inside
 * one task, so that they share retries and a timeout. A failed attempt of a box writes nothing.
 */

import { fromErrorData, isSuperstepError, SuperstepError, toErrorData } from "../../../core/index.ts"
import { expression, template } from "../../../expressions/index.ts"
import type { Context } from "../../../runtime/index.ts"
import { type DefinitionNode, parseIfJson, type SubWorkflow } from "../../definition.ts"
import type { StepList } from "./step-list.ts"
import {
  type Carried,
  leave,
  makeNode,
  resultAt,
  type StepNodeOptions,
  scopeOf,
  valueAt,
} from "./step-node.ts"
import { RECORDS, type StepRecord, type View } from "./view.ts"

type BeginOptions = Pick<StepNodeOptions, "loop">
type EndOptions = Pick<StepNodeOptions, "last">

/** Opens the block: each branch sees the records up to here and its own. */
export function parallelStart(steps: StepList, id: string, options: BeginOptions = {}): DefinitionNode {
  return makeNode(steps, id, { kind: "parallel", ...options }, (view, ctx) => {
    ctx.state.write(RECORDS, [{ id: view.path, begun: true }])
    return { after: ctx.node }
  })
}

export function parallelEnd(steps: StepList, id: string, options: EndOptions = {}): DefinitionNode {
  return makeNode(steps, id, { kind: "merge", id: `${id}#end`, joins: true }, (view, ctx) => {
    const { order = [] } = (valueAt(view, view.path) ?? {}) as { readonly order?: readonly string[] }
    return endBlock(view, ctx, order, options)
  })
}

export interface MapStartOptions extends BeginOptions {
  /** The list, as an expression or a template. */
  readonly over: string
}

/** Sends a message for every item. */
export function mapStart(steps: StepList, id: string, options: MapStartOptions): DefinitionNode {
  const { over, loop } = options
  const list = over.includes("{{") ? template(over, "steps") : expression(over, "steps")
  const evaluate = "value" in list ? list.value : list.evaluate
  return makeNode(steps, id, { kind: "map", loop }, (view, ctx) => {
    const found = parseIfJson(evaluate(scopeOf(view)))
    if (!Array.isArray(found)) throw noList(view, over)
    ctx.state.write(RECORDS, [{ id: view.path, begun: true }])
    return found.map((value, index) => ({ after: ctx.node, item: { index, value } }))
  })
}

/** Runs when all items have ended. Items that failed with on_error: continue have no output. */
export function mapEnd(steps: StepList, id: string, options: EndOptions = {}): DefinitionNode {
  return makeNode(steps, id, { kind: "merge", id: `${id}#end`, joins: true }, (view, ctx, results) => {
    const order = (results as readonly unknown[]).map((_, index) => String(index))
    return endBlock(view, ctx, order, options)
  })
}

function endBlock(view: View, ctx: Context, order: readonly string[], { last }: EndOptions): unknown {
  const after = leave(view, ctx, { order })
  return last ? resultAt(view.with({ id: view.path, order }), view.path) : after
}

/** Where routes end on a condition or a failure. The run's output is the latest one. */
export function stepsEnd(steps: StepList): DefinitionNode {
  return makeNode(steps, "#end", { kind: "end" }, (view) => {
    const path = view.lastPath
    return path === undefined ? undefined : resultAt(view, path)
  })
}

/** Where several routes of one branch meet. */
export function passStep(steps: StepList, id: string): DefinitionNode {
  return makeNode(steps, id, { kind: "merge" }, (_, ctx) => ({ after: ctx.node }))
}

function noList(view: View, over: string): SuperstepError {
  const text = `workflow: map "${view.path}" needs a list, but this is not a list: ${over}`
  return new SuperstepError("MAP_NEEDS_LIST", text, { retryable: false })
}

export interface BoxStepOptions extends StepNodeOptions {
  /** The step is an item of a map: its output is the output of its last step. */
  readonly item?: boolean | undefined
}

export function boxStep(
  steps: StepList,
  id: string,
  box: SubWorkflow,
  options: BoxStepOptions = {},
): DefinitionNode {
  const { last, timeout, item, ...policies } = options
  return makeNode(steps, id, { kind: "workflow", nested: box, ...policies }, async (view, ctx) => {
    const [records = []] = await withTimeout(ctx, view, timeout, async () => {
      try {
        return await ctx.call<Carried, StepRecord[]>(box, carriedBy(view))
      } catch (error) {
        throw failureOf(error)
      }
    })
    const output = item ? lastOf(records) : undefined
    const all = output === undefined ? records : [...records, { id: view.path, last: output }]
    if (all.length > 0) ctx.state.write(RECORDS, all)
    const after = { after: ctx.node }
    if (!last) return after
    const path = lastOf(all)
    return path === undefined ? null : resultAt(view.with(...all), path)
  })
}

/** The last node of a box: returns the records of its steps. */
export function boxEnd(steps: StepList, id: string): DefinitionNode {
  return makeNode(steps, id, { kind: "end", id: `${id}#out` }, (view) => view.own)
}

/** The error of the failed step, because users do not see the sub-workflow. */
function failureOf(error: unknown): unknown {
  if (!isSuperstepError(error) || !(error.cause instanceof Error)) return error
  const { fatal, ...data } = toErrorData(error.cause)
  // An error that is fatal inside the box is an ordinary failure of the box.
  return fatal === true ? fromErrorData(data) : error.cause
}

function carriedBy(view: View): Carried {
  const { prompt, items } = view
  return { prompt, records: [...view.outputs()], ...(items.length === 0 ? {} : { items }) }
}

function lastOf(records: readonly StepRecord[]): string | undefined {
  return records.findLast(({ begun }) => begun !== true)?.id
}

/** Unlike a node's timeout, this one includes the time in the sub-workflow. */
async function withTimeout<T>(
  ctx: Context,
  { path }: View,
  timeout: number | undefined,
  run: () => Promise<T>,
): Promise<T> {
  if (timeout === undefined) return await run()
  // A sleep is journaled, so every attempt has its own.
  const late = ctx.scope(`attempt ${ctx.attempt}`).sleep(timeout)
  const tooLate = late.then((): never => {
    throw new SuperstepError("TIMEOUT", `Step "${path}" took longer than ${timeout} ms.`)
  })
  return await Promise.race([run(), tooLate])
}
