/** The compiler's part of the builder: which wiring is right. Nothing here exists at run time. */
import type { ErrorData, JoinPolicy, Json, Settled } from "../core/index.ts"
import type { Node } from "./node.ts"

/** Any node, whatever it takes and gives. */
export type AnyNode = Node<never, unknown>

export type OutOf<N> = N extends Node<never, infer Out> ? Out : never
type InOf<N> = N extends Node<infer In, unknown> ? In : never

/** A builder that has no start yet. */
declare const unset: unique symbol
export type Unset = typeof unset

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
  /** `CONVERGENCE`, `VISIT_LIMIT`, `LOOP_LIMIT`, `BUDGET_EXCEEDED` or `RUN_TIMEOUT`. */
  readonly code: string
  readonly message: string
}
