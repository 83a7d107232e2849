/** Nodes: an id, one or several typed handlers, and their policies. */

import { type NodeId, type OpenRequest, type Settled, SuperstepError } from "../core/index.ts"
import type { Context, Handler, JsonOnly, Schema } from "../runtime/index.ts"
import { checkNodeOptions } from "./options.ts"
import type { Node, NodeDefinition, NodePolicies, TypedHandler } from "./wiring.ts"

/** What a handler's return value sends: `undefined` sends nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a handler without a return statement returns void.
type Sent<R> = Exclude<Awaited<R>, undefined | void>

/** A handler's result. It must be JSON, like what the handler sends and outputs through its context. */
type Returned<R, S = never, P = never> = R & JsonOnly<Sent<R> | S | P>

interface Common<Answer, A> extends NodePolicies {
  readonly id: NodeId
  /** Schema of the answers to `ctx.request`. */
  readonly answer?: Schema<Answer> | undefined
  /** Receives the answers to questions that the node asked with `ctx.request`; its result is sent on. */
  readonly onAnswer?: ((answer: Answer, ctx: Context, request: OpenRequest) => Returned<A>) | undefined
}

interface SingleHandler<In, R, Answer, A, S, P> extends Common<Answer, A> {
  readonly input?: Schema<In> | undefined
  readonly output?: Schema<Sent<R>> | undefined
  readonly run: (message: In, ctx: Context<S, P>) => Returned<R, S, P>
  readonly onError?: "fail" | undefined
}

/** With `onError: "settle"` the node sends `{ ok: true, value }`, or, after its final failure, `{ ok: false, error }`. */
type Settling<Options> = Omit<Options, "onError"> & { readonly onError: "settle" }

interface SeveralHandlers<H extends readonly TypedHandler[], Answer, A> extends Common<Answer, A> {
  readonly handlers: H
  readonly output?: Schema | undefined
  readonly onError?: "fail" | undefined
}

// Distributes over the handlers: together they accept what any of them accepts.
type TakenByOne<T> = T extends TypedHandler<infer In, unknown> ? In : never
type SentByOne<T> = T extends TypedHandler<never, infer R> ? Sent<R> : never
type TakenBy<H extends readonly TypedHandler[]> = TakenByOne<H[number]>
type SentBy<H extends readonly TypedHandler[]> = SentByOne<H[number]>

export function on<In, R>(
  schema: Schema<In>,
  run: (message: In, ctx: Context) => Returned<R>,
): TypedHandler<In, R> {
  return { schema, run: run as Handler }
}

// biome-ignore lint/suspicious/noExplicitAny: a handler without a parameter type takes anything, as in plain TypeScript.
export function node<In = any, R = unknown, S = never, P = never>(
  id: NodeId,
  handler: (message: In, ctx: Context<S, P>) => Returned<R, S, P> & JsonOnly<In>,
): Node<In, Sent<R> | S, P>
export function node<H extends readonly TypedHandler[], Answer, A = never>(
  options: Settling<SeveralHandlers<H, Answer, A>>,
): Node<TakenBy<H>, Settled<SentBy<H> | Sent<A>>>
export function node<H extends readonly TypedHandler[], Answer, A = never>(
  options: SeveralHandlers<H, Answer, A>,
): Node<TakenBy<H>, SentBy<H> | Sent<A>>
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function node<In = any, R = unknown, Answer = unknown, A = never, S = never, P = never>(
  options: Settling<SingleHandler<In, R, Answer, A, S, P>>,
): Node<In, Settled<Sent<R> | Sent<A>> | S, P>
// biome-ignore lint/suspicious/noExplicitAny: as above.
export function node<In = any, R = unknown, Answer = unknown, A = never, S = never, P = never>(
  options: SingleHandler<In, R, Answer, A, S, P>,
): Node<In, Sent<R> | Sent<A> | S, P>
export function node(idOrOptions: unknown, handler?: unknown): Node<never, unknown, unknown> {
  if (typeof idOrOptions === "string") return makeNode({ id: idOrOptions, run: handler as Handler })
  return makeNode(idOrOptions as NodeOptions)
}

/** The untyped options, as the implementation sees them. */
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
  checkNodeOptions(id, options)
  const definition: NodeDefinition = {
    kind: "node",
    handlers: bound,
    output,
    ...(onAnswer === undefined ? {} : { onAnswer: { schema: answer, run: onAnswer as Handler } }),
    ...policies,
  }
  return Object.freeze({ id, definition: Object.freeze(definition) })
}
