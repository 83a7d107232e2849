/** Ids are derived from what happened, never drawn: the same journal gives the same ids. */

declare const brand: unique symbol
type Branded<T, Name extends string> = T & { readonly [brand]?: Name }

/** Names one run: chosen by the caller, or made by the runtime. */
export type RunId = Branded<string, "RunId">
/** Names a node within its workflow: the author's word. */
export type NodeId = Branded<string, "NodeId">
/** One node, one visit: counted up within a run from 1, in the order tasks come into being. */
export type TaskId = Branded<number, "TaskId">
/** Names a question to a person within its run. */
export type RequestId = Branded<string, "RequestId">
/** Names a fan-in: its sources and its target. */
export type JoinId = Branded<string, "JoinId">
/** Names a timer within its run, after what waits for it. */
export type TimerId = Branded<string, "TimerId">
