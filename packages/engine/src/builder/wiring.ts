/** The types of nodes and joins, which define the wiring that the compiler accepts. */
import type {
  Budget,
  ErrorData,
  JoinPolicy,
  Json,
  NodeId,
  RetryPolicy,
  Settled,
  Turn,
} from "../core/index.ts"
import type { BoundHandler, Callable, Handler, Placement, Schema } from "../runtime/index.ts"
import type { NodeFlowOptions } from "./flow-options.ts"

declare const takes: unique symbol
declare const gives: unique symbol
declare const putsOut: unique symbol

/** `In` is what its handlers accept, `Out` what they send along its edges, `Put` what they add to the outputs directly. */
export interface Node<in In = never, out Out = unknown, out Put = never> {
  readonly id: NodeId
  readonly definition: NodeDefinition
  /** Type only. */
  readonly [takes]?: (message: In) => void
  readonly [gives]?: Out
  readonly [putsOut]?: Put
}

/** An untyped node, as the builder sees it. */
export interface NodeDefinition extends NodePolicies {
  readonly kind: string
  /** The name that people see. Default: its id. */
  readonly name?: string | undefined
  readonly handlers: readonly BoundHandler[]
  readonly onAnswer?: BoundHandler | undefined
  readonly output?: Schema | undefined
  readonly onError?: "fail" | "settle" | undefined
  /** The workflow that the node runs. */
  readonly nested?: Callable | undefined
  /** Of a node that passes turns around: who can follow whom, for diagrams. */
  readonly turns?: readonly Turn[] | undefined
  /** Limitations of the node's schemas, which become warnings of the workflow. */
  readonly warnings?: readonly string[] | undefined
}

export interface NodePolicies {
  readonly description?: string | undefined
  readonly retry?: RetryPolicy | undefined
  /** Milliseconds one attempt may take; waiting for a person, a timer or a child does not count. */
  readonly timeout?: number | undefined
  /** Deliveries that may overlap in one run. Default 1. */
  readonly concurrency?: number | undefined
  /** Limits its tasks across all runs and processes of a store. */
  readonly flow?: NodeFlowOptions | undefined
  /**
   * Where its tasks execute: `inline`, where the run does, or `spread`, on any worker. Without a dispatcher (docs/restate.md) both
   * are the same. Default `inline`.
   */
  readonly placement?: Placement | undefined
  /** Maximum visits in one run; one more ends it with status `limit`. */
  readonly maxVisits?: number | undefined
  /** The budget of all its tasks in one run; when exceeded, the run ends with status `limit`. */
  readonly budget?: Budget | undefined
}

/** A handler for the messages that a schema accepts. */
export interface TypedHandler<in In = never, out R = unknown> {
  readonly schema: Schema
  readonly run: Handler
  readonly [takes]?: (message: In) => void
  readonly [gives]?: R
}

/** Any node, whatever its input and output. */
export type AnyNode = Node<never, unknown, unknown>

export type OutOf<N> = N extends Node<never, infer Out, unknown> ? Out : never
export type PutOf<N> = N extends Node<never, unknown, infer Put> ? Put : never
type InOf<N> = N extends Node<infer In, unknown, unknown> ? In : never

declare const unset: unique symbol
/** A builder that has no start yet. */
export interface Unset {
  readonly [unset]: "this workflow has no start: call .start(node) or .chain(…) before .build()"
}

/** The type of `run` and similar methods on a builder: the compiler's error shows it, and calling it throws. */
export type Unbuilt<In> = [In] extends [Unset]
  ? NotBuilt<"give it a start with .start(node) or .chain(…), then call .build()">
  : NotBuilt<"call .build() first">

/** No value has this type: the compiler's error shows it, with what to do. */
export interface NotBuilt<What> {
  readonly [unset]: What
}

/** Each node of a chain must accept the output of the previous one; the first that does not is marked. */
export type Linked<N extends readonly unknown[]> = N extends readonly [infer A, infer B, ...infer Rest]
  ? [OutOf<A>] extends [InOf<B>]
    ? readonly [A, ...Linked<readonly [B, ...Rest]>]
    : readonly [
        A,
        { readonly "this node does not accept the output of the previous node": [OutOf<A>, InOf<B>] },
        ...Rest,
      ]
  : N

export type FirstIn<N> = N extends readonly [infer First, ...unknown[]] ? InOf<First> : never
export type LastOut<N> = N extends readonly [...unknown[], infer Last] ? OutOf<Last> : never

type Outs<S extends readonly unknown[]> = { readonly [K in keyof S]: OutOf<S[K]> }
type SettledOuts<S extends readonly unknown[]> = { readonly [K in keyof S]: Settled<OutOf<S[K]>> }

/** The list that the target of a fan-in receives. */
export type Joined<S extends readonly unknown[], Kind extends JoinPolicy["kind"]> = Kind extends "all"
  ? Outs<S>
  : Kind extends "settle"
    ? SettledOuts<S>
    : readonly OutOf<S[number]>[]

/** The message that the target of an error edge receives. */
export interface Failure {
  readonly node: string
  readonly error: ErrorData
  /** The message that the failed node was working on. */
  readonly input: Json
}

/** The message that the node of a limit route receives. */
export interface LimitNotice {
  /** `CONVERGENCE`, `VISIT_LIMIT`, `LOOP_LIMIT`, `AGENT_LIMIT`, `BUDGET_EXCEEDED` or `RUN_TIMEOUT`. */
  readonly code: string
  readonly message: string
  /** For an agent: the limit, such as `limits.iterations`, `budget.tokens` or `timeout`. */
  readonly limit?: string | undefined
  /** The agent, its conversation so far, and its last text: a partial answer. */
  readonly agent?: string | undefined
  readonly messages?: readonly Json[] | undefined
  readonly answer?: string | undefined
  /** Other agents that were executing: in other branches, in sub-workflows, or for that agent. */
  readonly others?: readonly UnfinishedAgent[] | undefined
}

/** The progress of an agent when a limit ended its work. */
export interface UnfinishedAgent {
  readonly agent: string
  readonly messages: readonly Json[]
  readonly answer?: string | undefined
}

declare const join: unique symbol

/** Carries the type of the list that the target receives. */
export interface Join<Kind extends JoinPolicy["kind"] = JoinPolicy["kind"]> {
  readonly policy: JoinPolicy
  readonly [join]?: Kind
}

/** Fires when every source has sent: the target receives one message of each, in the declared order. */
export function all(): Join<"all"> {
  return { policy: { kind: "all" } }
}

/** Fires with the first message; later messages are reported as undelivered. */
export function any(): Join<"any"> {
  return { policy: { kind: "any" } }
}

/** Fires when `count` sources have sent: the target receives their messages, in the declared order. */
export function quorum(count: number): Join<"quorum"> {
  return { policy: { kind: "quorum", count } }
}

/** Fires when every source has sent or can no longer send: `{ ok: true, value }` or `{ ok: false, error }` for each. */
export function settle(): Join<"settle"> {
  return { policy: { kind: "settle" } }
}
