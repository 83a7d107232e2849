/** What all steps have in common: they are entered, leave a record, and say whose turn is next. */
import type { Node, NodePolicies } from "../../builder/index.ts"
import type { Json, NodeId } from "../../core/index.ts"
import type { Callable, Context } from "../../runtime/index.ts"
import { plainJson } from "../plain-json.ts"
import { arrive, type LoopOptions, type Token } from "./arrival.ts"
import { RECORDS, type StepRecord } from "./records.ts"
import type { StepList } from "./step-list.ts"
import { valueAt } from "./step-values.ts"
import { outputOf, type View } from "./view.ts"

/** Any: which nodes are wired to which was settled when the plan was written. */
// biome-ignore lint/suspicious/noExplicitAny: as said above.
export type StepNode = Node<any, any>

export interface StepOptions extends Pick<NodePolicies, "description" | "retry" | "timeout"> {
  /** Nothing comes after it: what it leaves is the run's output. */
  readonly last?: boolean | undefined
  /** It is where a loop begins. */
  readonly loop?: LoopOptions | undefined
}

interface NodeParts extends StepOptions {
  /** The node's, where it is not the step's. */
  readonly id?: NodeId | undefined
  readonly kind: string
  readonly nested?: Callable<never, unknown> | undefined
  /** Its message is a list of others', and says nothing about whose turn it is. */
  readonly joins?: boolean | undefined
}

/** Gives the message to the next node, or the run's output. */
type Run = (view: View, ctx: Context, message: unknown) => unknown

export function makeNode(steps: StepList, pattern: string, parts: NodeParts, run: Run): StepNode {
  const { id = pattern, kind, description, loop, retry, timeout, nested, joins } = parts
  const handler = (message: unknown, ctx: Context) => {
    const turn = joins ? ({ after: "" } satisfies Token) : message
    return run(arrive(steps, pattern, turn, ctx, loop), ctx, message)
  }
  const definition = {
    kind,
    handlers: [{ run: handler as never }],
    ...(description === undefined ? {} : { description }),
    ...(retry === undefined ? {} : { retry }),
    ...(timeout === undefined ? {} : { timeout }),
    ...(nested === undefined ? {} : { nested: nested as Callable }),
  }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

/** Its record is written once, here. */
export function leave(view: View, ctx: Context, record: Omit<StepRecord, "id">, isLast?: boolean): unknown {
  ctx.state.write(RECORDS, [plainJson({ id: view.path, ...record })])
  return isLast ? (outputOf(record as StepRecord) ?? null) : { after: ctx.node }
}

/** A block ends, or the run does: what is there at the path, as data of its own. */
export function resultAt(view: View, path: string): Json {
  const { output = null } = (valueAt(view, path) ?? {}) as { readonly output?: Json }
  return plainJson(output)
}
