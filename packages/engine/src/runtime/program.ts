/** A graph with its functions: what a driver needs to run it. Made once, shared by any number of runs. */
import type { Budget, Graph, GraphNode, Json, NodeId } from "../core/index.ts"
import type { Context } from "./context.ts"
import type { Router } from "./router.ts"
import type { Schema } from "./schema.ts"

/** An answer handler is given the request that was answered too. */
export type Handler = (message: never, ctx: Context, request: never) => unknown

export interface BoundHandler {
  readonly schema?: Schema | undefined
  readonly run: Handler
}

export interface NodeFunctions {
  /** The first whose schema accepts a message takes it. */
  readonly handlers: readonly BoundHandler[]
  /** Takes the answers to requests that the node opened and did not wait for. */
  readonly onAnswer?: BoundHandler | undefined
  /** Checked against what a handler returns. */
  readonly output?: Schema | undefined
}

export type Condition = (message: never) => boolean | Promise<boolean>
export type Select = (
  message: never,
  targets: readonly NodeId[],
) => readonly NodeId[] | Promise<readonly NodeId[]>
export type Reducer = (current: Json | undefined, write: Json) => Json

export interface ProgramNode extends NodeFunctions {
  readonly node: GraphNode
  readonly router: Router
  /** The one handler of a node that takes every message. */
  readonly only: BoundHandler | undefined
}

export function programNode(node: GraphNode, functions: NodeFunctions, router: Router): ProgramNode {
  const { handlers, onAnswer, output } = functions
  const [first] = handlers
  const only = handlers.length === 1 && first?.schema === undefined ? first : undefined
  return { node, handlers, onAnswer, output, router, only }
}

export interface Program {
  readonly graph: Graph
  /** By the graph's node index. */
  readonly nodes: readonly ProgramNode[]
  /** Reducers that are not built in, by name. */
  readonly reducers: ReadonlyMap<string, Reducer>
  /** What a run has that is not given its own. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
}
