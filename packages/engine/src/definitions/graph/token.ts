/** Messages between the nodes of a graph. They say whose turn it is, and where to find what was left before. */
import type { NodeId } from "../../core/index.ts"

export interface Token {
  readonly from: NodeId
  /** Whose turn it is. */
  readonly go: readonly NodeId[]
  /** What was left before is in the outputs under this name; absent: there is nothing but the goal. */
  readonly key?: string | undefined
  /** The ways it has come, from the outside in. */
  readonly lanes?: readonly Lane[] | undefined
  /** Every target begins a way of its own. */
  readonly opens?: Opening | undefined
  /** Why a person is asked. */
  readonly reason?: Reason | undefined
  /** The way has come to an end elsewhere: there is nothing to wait for. */
  readonly gone?: boolean | undefined
}

interface Opening {
  /** Of the task that opened them, so that those of another round are told apart. */
  readonly task: number
  /** The targets are single nodes, and go back to the one that opened. */
  readonly members?: boolean | undefined
}

/** One of several ways that were begun together. */
export interface Lane extends Opening {
  readonly at: NodeId
  readonly index: number
  readonly of: number
  /** The first node on it. */
  readonly branch: NodeId
}

export interface Reason {
  readonly code: string
  readonly message: string
}

export function isToken(message: unknown): message is Token {
  return typeof message === "object" && message !== null && "go" in message && "from" in message
}

/** The ways as the receiver sees them. */
export function lanesOf(token: Token, node: NodeId): readonly Lane[] {
  const { from, go, lanes = [], opens } = token
  if (opens === undefined) return lanes
  return [...lanes, { ...opens, at: from, index: go.indexOf(node), of: go.length, branch: node }]
}

/** For the edge to a node. */
export function leadsTo(node: NodeId): (token: unknown) => boolean {
  return (token) => isToken(token) && token.go.includes(node)
}
