/**
 * The behaviour that all steps share: a token enters, the step writes a record, and passes the token on. Tokens are
 * small, because the run's input and the outputs of steps are in its state.
 */
import type { NodeKeyOf, NodePolicies } from "../../../builder/index.ts"
import { type Json, type NodeId, SuperstepError } from "../../../core/index.ts"
import { textOf } from "../../../expressions/index.ts"
import type { Callable, Context, NodeFlowRun } from "../../../runtime/index.ts"
import { type DefinitionNode, definitionNode } from "../../definition-node.ts"
import { flowKey } from "../../flow.ts"
import { parseIfJson, plainJson } from "../../json-values.ts"
import { INPUT, type MapItem, outputOf, RECORDS, type StepRecord } from "./records.ts"
import type { StepList } from "./step-list.ts"
import { valueAt } from "./step-scope.ts"
import { View, type ViewOptions } from "./view.ts"

export interface StepNodeOptions extends Pick<NodePolicies, "description" | "retry" | "timeout" | "flow"> {
  /** The last step: its output is the run's. */
  readonly last?: boolean | undefined
  readonly loop?: StepLoopOptions | undefined
}

interface NodeParts extends StepNodeOptions {
  /** The node's id, if it is not the step's. */
  readonly id?: NodeId | undefined
  readonly kind: string
  readonly nested?: Callable<never, unknown> | undefined
  /** It joins branches: its message is a list of theirs. */
  readonly joins?: boolean | undefined
}

/** Returns the message to the next node, or the run's output. */
type Run = (view: View, ctx: Context, message: unknown) => unknown

export function makeNode(steps: StepList, pattern: string, parts: NodeParts, run: Run): DefinitionNode {
  const { id = pattern, kind, description, loop, retry, timeout, flow, nested, joins } = parts
  const handler = (message: unknown, ctx: Context) => {
    const turn = joins ? ({ after: "" } satisfies StepToken) : message
    const entry = entered(turn, ctx)
    const path = pathOf(pattern, entry.items)
    if (loop !== undefined) countLoop(path, turn, ctx, loop)
    return run(new View({ ...entry, steps, path, runId: ctx.runId }), ctx, message)
  }
  return definitionNode(id, kind, handler, { description, retry, timeout, flow, nested })
}

export function leave(view: View, ctx: Context, record: Omit<StepRecord, "id">, isLast?: boolean): unknown {
  ctx.state.write(RECORDS, [plainJson({ id: view.path, ...record })])
  return isLast ? (outputOf(record as StepRecord) ?? null) : { after: ctx.node }
}

/** The output at the path, as a copy. */
export function resultAt(view: View, path: string): Json {
  const { output = null } = (valueAt(view, path) ?? {}) as { readonly output?: Json }
  return plainJson(output)
}

export interface StepToken {
  readonly after: string
  readonly holds?: boolean | undefined
  readonly item?: MapItem | undefined
}

/** The input of a block that runs as a sub-workflow: everything that its steps can see. */
export interface Carried {
  readonly prompt: string
  readonly records: readonly StepRecord[]
  readonly items?: readonly MapItem[] | undefined
}

export interface StepLoopOptions {
  readonly after: readonly string[]
  /** How often it may run before the loop is left. Default 100. */
  readonly limit?: number | undefined
}

const MAX_LOOPS = 100

function entered(message: unknown, ctx: Context): Omit<ViewOptions, "steps" | "path" | "runId"> {
  // The step before failed with on_error: continue, so its input is this step's.
  if (isFailure(message)) return entered(message.input, ctx)
  if (isToken(message)) {
    const input = ctx.state.get(INPUT)
    const { prompt = "", items = [], carried = 0 } = input ?? {}
    const own = message.item === undefined ? items : [...items, message.item]
    return { prompt, input, records: () => ctx.state.get(RECORDS), items: own, carried }
  }
  if (isCarried(message)) {
    const { prompt, records, items = [] } = message
    ctx.state.write(INPUT, { prompt, ...(items.length === 0 ? {} : { items }), carried: records.length })
    if (records.length > 0) ctx.state.write(RECORDS, records)
    return { prompt, records: () => records, items, carried: records.length }
  }
  const prompt = textOf(message as Json | undefined)
  ctx.state.write(INPUT, { prompt })
  return { prompt, records: () => [], items: [], carried: 0 }
}

/** A key of a step's limits: an expression over the input of the run. */
export function stepFlowKey(text: string): NodeKeyOf {
  const read = flowKey(text)
  return (message: unknown, { state }) => read(parseIfJson(promptOf(message, state)))
}

function promptOf(message: unknown, state: NodeFlowRun["state"]): Json {
  if (isFailure(message)) return promptOf(message.input, state)
  if (isToken(message)) return state.get(INPUT)?.prompt ?? ""
  return isCarried(message) ? message.prompt : (message as Json)
}

/** Counts runs that come from inside of the loop; entering it from outside starts again at 1. */
function countLoop(path: string, message: unknown, ctx: Context, loop: StepLoopOptions): void {
  const { after, limit = MAX_LOOPS } = loop
  const isBack = after.includes(senderOf(message) ?? "")
  const runs = isBack ? (ctx.local.get<number>("runs") ?? 1) + 1 : 1
  if (runs > limit) {
    const text = `workflow: max loop iterations exceeded (step: ${path}, limit: ${limit})`
    throw new SuperstepError("MAX_LOOP_ITERATIONS", text, { fatal: true, retryable: false })
  }
  ctx.local.set("runs", runs)
}

function senderOf(message: unknown): string | undefined {
  if (isFailure(message)) return message.node
  return isToken(message) ? message.after : undefined
}

/** Replaces `*` by the index of the map's current item. */
function pathOf(pattern: string, items: readonly MapItem[]): string {
  let depth = 0
  return pattern
    .split("/")
    .map((name) => (name === "*" ? String(items[depth++]?.index ?? 0) : name))
    .join("/")
}

function isToken(message: unknown): message is StepToken {
  return has(message, "after") && typeof message.after === "string"
}

function isCarried(message: unknown): message is Carried {
  return has(message, "records") && Array.isArray(message.records)
}

function isFailure(message: unknown): message is { readonly node: string; readonly input: unknown } {
  return (
    has(message, "error") && has(message, "input") && has(message, "node") && typeof message.node === "string"
  )
}

function has<Key extends string>(value: unknown, key: Key): value is { readonly [key in Key]: unknown } {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
}
