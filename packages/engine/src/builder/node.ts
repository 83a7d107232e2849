/** Nodes: an id, one or several typed handlers, and how the engine treats them. */
import {
  type Budget,
  type NodeId,
  type OpenRequest,
  type RetryPolicy,
  type Settled,
  SuperstepError,
} from "../core/index.ts"
import {
  type BoundHandler,
  type Callable,
  type Context,
  type Handler,
  type Schema,
  Several,
} from "../runtime/index.ts"

declare const takes: unique symbol
declare const gives: unique symbol

/** `In` is what its handlers take, `Out` what they send along its edges. */
export interface Node<in In = never, out Out = unknown> {
  readonly id: NodeId
  readonly definition: NodeDefinition
  /** For the compiler alone. */
  readonly [takes]?: (message: In) => void
  readonly [gives]?: Out
}

/** A node as the builder sees it, types aside. */
interface NodeDefinition extends NodePolicies {
  readonly kind: string
  readonly handlers: readonly BoundHandler[]
  readonly onAnswer?: BoundHandler | undefined
  readonly output?: Schema | undefined
  readonly onError?: "fail" | "settle" | undefined
  /** The workflow that the node runs. */
  readonly nested?: Callable | undefined
}

export interface NodePolicies {
  readonly description?: string | undefined
  readonly retry?: RetryPolicy | undefined
  /** Milliseconds one attempt may take; waiting for a person, a timer or a child does not count. */
  readonly timeout?: number | undefined
  /** Deliveries that may overlap. Default 1. */
  readonly concurrency?: number | undefined
  /** Visits in one run; one more ends it with status `limit`. */
  readonly maxVisits?: number | undefined
  /** The most that its tasks may use in one run, all together; past it the run ends with status `limit`. */
  readonly budget?: Budget | undefined
}

/** What a handler's return value sends: `undefined` sends nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void.
type Sent<R> = Exclude<Awaited<R>, undefined | void>

interface Common<Answer, A> extends NodePolicies {
  readonly id: NodeId
  /** Schema of the answers to `ctx.request`. */
  readonly answer?: Schema<Answer> | undefined
  /** Takes the answers to questions that the node asked with `ctx.request`; what it returns is sent on. */
  readonly onAnswer?: ((answer: Answer, ctx: Context, request: OpenRequest) => A) | undefined
}

interface SingleHandler<In, R, Answer, A> extends Common<Answer, A> {
  readonly input?: Schema<In> | undefined
  readonly output?: Schema<Sent<R>> | undefined
  readonly run: (message: In, ctx: Context) => R
  readonly onError?: "fail" | undefined
}

/** With `onError: "settle"` the node sends `{ ok: true, value }`, or, when it failed for good, `{ ok: false, error }`. */
type Settling<Options> = Omit<Options, "onError"> & { readonly onError: "settle" }

/** A handler for the messages that a schema accepts. */
export interface TypedHandler<in In = never, out R = unknown> {
  readonly schema: Schema
  readonly run: Handler
  readonly [takes]?: (message: In) => void
  readonly [gives]?: R
}

interface SeveralHandlers<H extends readonly TypedHandler[], Answer, A> extends Common<Answer, A> {
  readonly handlers: H
  readonly output?: Schema | undefined
  readonly onError?: "fail" | undefined
}

// Over each handler by itself: together they take what any of them takes.
type TakenByOne<T> = T extends TypedHandler<infer In, unknown> ? In : never
type SentByOne<T> = T extends TypedHandler<never, infer R> ? Sent<R> : never
type TakenBy<H extends readonly TypedHandler[]> = TakenByOne<H[number]>
type SentBy<H extends readonly TypedHandler[]> = SentByOne<H[number]>

export function on<In, R>(schema: Schema<In>, run: (message: In, ctx: Context) => R): TypedHandler<In, R> {
  return { schema, run: run as Handler }
}

// biome-ignore lint/suspicious/noExplicitAny: a handler without a parameter type takes anything, as in plain TypeScript.
export function node<In = any, R = unknown>(
  id: NodeId,
  handler: (message: In, ctx: Context) => R,
): Node<In, Sent<R>>
export function node<H extends readonly TypedHandler[], Answer, A = never>(
  options: Settling<SeveralHandlers<H, Answer, A>>,
): Node<TakenBy<H>, Settled<SentBy<H> | Sent<A>>>
export function node<H extends readonly TypedHandler[], Answer, A = never>(
  options: SeveralHandlers<H, Answer, A>,
): Node<TakenBy<H>, SentBy<H> | Sent<A>>
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function node<In = any, R = unknown, Answer = unknown, A = never>(
  options: Settling<SingleHandler<In, R, Answer, A>>,
): Node<In, Settled<Sent<R> | Sent<A>>>
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function node<In = any, R = unknown, Answer = unknown, A = never>(
  options: SingleHandler<In, R, Answer, A>,
): Node<In, Sent<R> | Sent<A>>
export function node(idOrOptions: NodeId | NodeOptions, handler?: Handler): Node {
  if (typeof idOrOptions === "string") return makeNode({ id: idOrOptions, run: handler })
  return makeNode(idOrOptions)
}

/** The options with their types let go, as the implementation sees them. */
interface NodeOptions extends NodePolicies {
  readonly id: NodeId
  readonly input?: Schema | undefined
  readonly output?: Schema | undefined
  readonly run?: Handler | undefined
  readonly handlers?: readonly TypedHandler[] | undefined
  readonly answer?: Schema | undefined
  readonly onAnswer?: ((answer: never, ctx: Context, request: OpenRequest) => unknown) | undefined
  readonly onError?: "fail" | "settle" | undefined
}

function makeNode(options: NodeOptions): Node {
  const { id, input, output, run, handlers, answer, onAnswer, ...policies } = options
  const bound = handlers ?? (run === undefined ? [] : [{ schema: input, run }])
  if (typeof id !== "string" || bound.length === 0 || bound.some((one) => typeof one.run !== "function")) {
    throw new SuperstepError(
      "NODE_INVALID",
      `Node "${String(id)}" needs an id and a handler: node(id, handler), or node({ id, run }).`,
    )
  }
  const definition: NodeDefinition = {
    kind: "node",
    handlers: bound,
    output,
    ...(onAnswer === undefined ? {} : { onAnswer: { schema: answer, run: onAnswer as Handler } }),
    ...policies,
  }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

/** A node that runs a workflow and sends on what it puts out. */
export function workflowNode<In, Out>(
  id: NodeId,
  workflow: Callable<In, Out>,
  options: SubWorkflowOptions,
): Node<In, Out> {
  const { onRequest, ...policies } = options
  const start = workflow.program.nodes[workflow.program.graph.start]
  const run = async (message: In, ctx: Context) =>
    new Several(await ctx.call(workflow, message, { onRequest }))
  const definition: NodeDefinition = {
    kind: "workflow",
    // The start node's handlers say what the workflow takes: a message they refuse is not delivered.
    handlers: (start?.handlers ?? []).map(({ schema }) => ({
      schema: unchanged(schema),
      run: run as Handler,
    })),
    nested: workflow as unknown as Callable,
    ...policies,
  }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}

export interface SubWorkflowOptions extends NodePolicies {
  /** Answers a request of the sub-workflow; undefined leaves it to the person. */
  readonly onRequest?: ((request: { prompt: string; data?: unknown }) => unknown) | undefined
}

/** Checks like the schema and hands on the message as it came: the start node itself will read it. */
function unchanged(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined
  const standard = schema["~standard"]
  const validate: Schema["~standard"]["validate"] = (value) => {
    const keep = (result: Awaited<ReturnType<typeof standard.validate>>) =>
      result.issues === undefined ? { value } : result
    const result = standard.validate(value)
    return result instanceof Promise ? result.then(keep) : keep(result)
  }
  return { "~standard": { ...standard, validate } }
}
