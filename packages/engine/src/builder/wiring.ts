/** How nodes connect: nodes and joins as types, and which wiring the compiler accepts. */
import type { Budget, ErrorData, JoinPolicy, Json, NodeId, RetryPolicy, Settled } from "../core/index.ts"
import type { BoundHandler, Callable, Handler, Schema } from "../runtime/index.ts"

declare const takes: unique symbol
declare const gives: unique symbol
declare const putsOut: unique symbol

/** `In` is what its handlers take, `Out` what they send along its edges, `Put` what they add to the outputs themselves. */
export interface Node<in In = never, out Out = unknown, out Put = never> {
  readonly id: NodeId
  readonly definition: NodeDefinition
  /** For the compiler alone. */
  readonly [takes]?: (message: In) => void
  readonly [gives]?: Out
  readonly [putsOut]?: Put
}

/** A node as the builder sees it, types aside. */
export interface NodeDefinition extends NodePolicies {
  readonly kind: string
  readonly handlers: readonly BoundHandler[]
  readonly onAnswer?: BoundHandler | undefined
  readonly output?: Schema | undefined
  readonly onError?: "fail" | "settle" | undefined
  /** The workflow that the node runs. */
  readonly nested?: Callable | undefined
  /** What a schema of the node cannot do, in words: it becomes a warning of the workflow. */
  readonly warnings?: readonly string[] | undefined
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

/** A handler for the messages that a schema accepts. */
export interface TypedHandler<in In = never, out R = unknown> {
  readonly schema: Schema
  readonly run: Handler
  readonly [takes]?: (message: In) => void
  readonly [gives]?: R
}

/** Any node, whatever it takes and gives. */
export type AnyNode = Node<never, unknown, unknown>

export type OutOf<N> = N extends Node<never, infer Out, unknown> ? Out : never
export type PutOf<N> = N extends Node<never, unknown, infer Put> ? Put : never
type InOf<N> = N extends Node<infer In, unknown, unknown> ? In : never

declare const unset: unique symbol
/** A builder that has no start yet. */
export interface Unset {
  readonly [unset]: "this workflow has no start: call .start(node) or .chain(…) before .build()"
}

/** What `run` and the like are on a builder: a type that the compiler's error names, and a function that throws. */
export type Unbuilt<In> = [In] extends [Unset]
  ? NotBuilt<"give it a start with .start(node) or .chain(…), then call .build()">
  : NotBuilt<"call .build() first">

/** Nothing is of this type: the compiler's error shows it, with what to do. */
export interface NotBuilt<What> {
  readonly [unset]: What
}

/** Each node of a chain must take what the one before it gives; the first that does not is marked. */
export type Linked<N extends readonly unknown[]> = N extends readonly [infer A, infer B, ...infer Rest]
  ? [OutOf<A>] extends [InOf<B>]
    ? readonly [A, ...Linked<readonly [B, ...Rest]>]
    : readonly [
        A,
        { readonly "this node does not take what the node before it gives": [OutOf<A>, InOf<B>] },
        ...Rest,
      ]
  : N

export type FirstIn<N> = N extends readonly [infer First, ...unknown[]] ? InOf<First> : never
export type LastOut<N> = N extends readonly [...unknown[], infer Last] ? OutOf<Last> : never

type Outs<S extends readonly unknown[]> = { readonly [K in keyof S]: OutOf<S[K]> }
type SettledOuts<S extends readonly unknown[]> = { readonly [K in keyof S]: Settled<OutOf<S[K]>> }

/** The list that the target of a fan-in gets. */
export type Joined<S extends readonly unknown[], Kind extends JoinPolicy["kind"]> = Kind extends "all"
  ? Outs<S>
  : Kind extends "settle"
    ? SettledOuts<S>
    : readonly OutOf<S[number]>[]

/** What the target of an error edge gets. */
export interface Failure {
  readonly node: string
  readonly error: ErrorData
  /** The message that the failed node was working on. */
  readonly input: Json
}

/** What the node of a limit route gets. */
export interface LimitNotice {
  /** `CONVERGENCE`, `VISIT_LIMIT`, `LOOP_LIMIT`, `AGENT_LIMIT`, `BUDGET_EXCEEDED` or `RUN_TIMEOUT`. */
  readonly code: string
  readonly message: string
  /** Where an agent was at work: which limit it was, such as `limits.iterations`, `budget.tokens` or `timeout`. */
  readonly limit?: string | undefined
  /** The agent, its conversation so far, and its last text: a partial answer. */
  readonly agent?: string | undefined
  readonly messages?: readonly Json[] | undefined
  readonly answer?: string | undefined
  /** Other agents that were executing: in other branches, in sub-workflows, or for that agent. */
  readonly others?: readonly UnfinishedAgent[] | undefined
}

/** How far an agent had come when a limit ended its work. */
export interface UnfinishedAgent {
  readonly agent: string
  readonly messages: readonly Json[]
  readonly answer?: string | undefined
}

declare const join: unique symbol

/** Carries, for the compiler, which list the target gets. */
export interface Join<Kind extends JoinPolicy["kind"] = JoinPolicy["kind"]> {
  readonly policy: JoinPolicy
  readonly [join]?: Kind
}

/** When every source has sent: the target gets one message of each, in the declared order. */
export function all(): Join<"all"> {
  return { policy: { kind: "all" } }
}

/** With the first message; those of the other sources are late and reported. */
export function any(): Join<"any"> {
  return { policy: { kind: "any" } }
}

/** When `count` sources have sent: their messages, in the declared order. */
export function quorum(count: number): Join<"quorum"> {
  return { policy: { kind: "quorum", count } }
}

/** When every source has sent or can no longer send: `{ ok: true, value }` or `{ ok: false, error }` for each. */
export function settle(): Join<"settle"> {
  return { policy: { kind: "settle" } }
}
