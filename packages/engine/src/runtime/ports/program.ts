/** A workflow as the driver runs it: a graph with its functions, and the context that handlers receive. */
import type {
  Budget,
  Escalation,
  Graph,
  GraphNode,
  Json,
  NodeId,
  Route,
  RunId,
  SourcedUsage,
  TaskId,
  Usage,
  UsageSource,
} from "../../core/index.ts"
import type { Channel, JsonOnly, Reducer } from "./channel.ts"
import type { Clock } from "./clock.ts"
import type { ProgramFlow } from "./flow.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import type { Labels } from "./stored.ts"
import type { Schema } from "./values.ts"

/** An answer handler also receives the request that was answered. */
export type Handler = (message: never, ctx: Context, request: never) => unknown

export interface BoundHandler {
  readonly schema?: Schema | undefined
  /** Of a start node: throws before a run starts that cannot work on its input. */
  readonly check?: ((input: never) => Promise<void> | undefined) | undefined
  readonly run: Handler
}

export interface NodeFunctions {
  /** The first handler whose schema accepts a message receives it. */
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

/** Counts how often an edge was taken: a switch case with a limit stops matching. */
export interface Passes {
  passes(from: GraphNode, to: NodeId): number
}

/** Decides where a message of the node goes. */
export interface MessageRouter {
  /** A message that a handler returned, which may be an output, or sent. */
  route(message: Json, returned: boolean, passes: Passes): MaybePromise<Route>
  /** A message that names its target. */
  routeTo(target: NodeId, message: Json, passes: Passes): MaybePromise<Route>
}

export interface ProgramNode extends NodeFunctions {
  readonly node: GraphNode
  readonly router: MessageRouter
  /** The one handler of a node that takes every message. */
  readonly only: BoundHandler | undefined
  /** What its handlers return, as errors name it. */
  readonly returned: string
}

export function programNode(node: GraphNode, functions: NodeFunctions, router: MessageRouter): ProgramNode {
  const { handlers, onAnswer, output } = functions
  const [first] = handlers
  const only = handlers.length === 1 && first?.schema === undefined ? first : undefined
  return { node, handlers, onAnswer, output, router, only, returned: `What "${node.id}" returned` }
}

export interface Program {
  readonly graph: Graph
  /** By the graph's node index. */
  readonly nodes: readonly ProgramNode[]
  /** Reducers that are not built in, by name. */
  readonly reducers: ReadonlyMap<string, Reducer>
  /** The defaults of its runs. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
  /** How runtimes queue and limit its runs. */
  readonly flow?: ProgramFlow | undefined
}

declare const input: unique symbol
declare const output: unique symbol
declare const state: unique symbol

/** The state of a workflow whose channels are not known here. */
// biome-ignore lint/suspicious/noExplicitAny: whoever reads it knows what it is, as with JSON.parse.
export type AnyState = { readonly [key: string]: any }

/** A workflow as the runtime sees it. */
export interface Callable<In = never, Out = unknown, State = AnyState> {
  readonly name: string
  readonly program: Program
  /** For the compiler alone: its input and its outputs. */
  readonly [input]?: (value: In) => void
  readonly [output]?: Out
  readonly [state]?: State
}

/** Returned by a handler that returns several messages. */
export class MultiOutput {
  readonly values: readonly unknown[]

  constructor(values: readonly unknown[]) {
    this.values = values
  }
}

export interface Question<Answer = unknown> {
  readonly prompt: string
  /** What the person needs to see to answer. */
  readonly data?: unknown
  /** Answers that do not fit are refused. */
  readonly schema?: Schema<Answer> | undefined
  /** Whom it is for: a person or a group, as your inbox knows them. */
  readonly to?: string | undefined
  /** Milliseconds until it goes on to the first of `escalate`; after the last, `default` is the answer, or it expires. */
  readonly timeout?: number | undefined
  /** Who is asked next when nobody answered in time. */
  readonly escalate?: readonly Escalation[] | undefined
  readonly default?: Answer | undefined
}

export interface CallOptions {
  /** Answers a request of the called workflow; undefined leaves it to the person. */
  readonly onRequest?: ((request: { prompt: string; data?: Json | undefined }) => unknown) | undefined
}

/** A step under way, for one that costs or has an effect that must not be forgotten. */
export interface PaidStep {
  /**
   * Whether the step was started before, by a process that died or an attempt that failed, and left no result: its effect
   * may have happened.
   */
  readonly mayHaveRun: boolean
  /**
   * Call this right before the request is sent: it records that the step has started, and counts `usage`, the most that
   * the step is expected to use, against every budget above it. Throws BUDGET_EXCEEDED when that does not fit. Await the
   * returned promise: the record is durable then. The result's usage replaces what was reserved; without a result it
   * stays counted. Called again, it replaces what this step has reserved. `headroom` must fit too, and is not reserved: it
   * stays free for what comes after the step.
   */
  reserve(usage: Usage, source?: UsageSource, headroom?: Usage): Promise<void> | undefined
}

export interface StepOptions<T> {
  /** What the step used, to be counted when it is recorded. Absent: what it reserved. */
  readonly usage?: ((result: T) => Usage) | undefined
  /** Which agent and model used it. */
  readonly source?: ((result: T) => UsageSource) | undefined
  /** What else it used, of other sources: attempts with another model. */
  readonly also?: ((result: T) => Iterable<SourcedUsage>) | undefined
  /**
   * What it has used so far. Asked when the step fails, and when it is stopped in the middle: counted in place of what it
   * reserved, since such a step leaves no other record.
   */
  readonly spent?: (() => Iterable<SourcedUsage>) | undefined
}

/** A piece of what a model says. */
export interface Delta {
  /** Which of the task's model calls it belongs to. */
  readonly call: string
  readonly kind: "text" | "reasoning" | "tool"
  readonly text: string
  /** How much of its kind, and of its tool call, came before. A stream that is tried again starts over at 0. */
  readonly offset: number
  readonly agent?: string | undefined
  /** The tool call whose arguments these are. */
  readonly tool?: { readonly id: string; readonly name: string } | undefined
}

/** The data of an answer, as far as it has arrived. */
export interface PartialOutput {
  /** Which of the task's model calls it belongs to. */
  readonly call: string
  readonly value: unknown
  readonly agent?: string | undefined
}

/** What a tool reports while it runs. */
export interface ToolProgress {
  readonly tool: { readonly id: string; readonly name: string }
  readonly data?: unknown
  readonly agent?: string | undefined
}

export type LogLevel = "debug" | "info" | "warn" | "error"

export interface SendOptions {
  /** One of the targets of the node's edges. */
  readonly to?: NodeId | { readonly id: NodeId } | undefined
}

/**
 * A handler may declare what it sends along the node's edges and what it adds to the outputs:
 * `(message, ctx: Context<Email, Report>)`. The edges then take an `Email` too, and the run outputs a `Report`.
 */
export interface Context<Sent = never, Output = never> {
  readonly runId: RunId
  /** The run's labels, as whoever started it gave them: for whom it works, for example. Nothing in the run changes them. */
  readonly labels: Labels
  readonly node: NodeId
  readonly task: TaskId
  readonly attempt: number
  /** The same for every attempt at this task, also after a crash: pass it to APIs that must not act twice. */
  readonly idempotencyKey: string
  /** Aborted when the run is cancelled, fails or ends, or this attempt's time is up. */
  readonly signal: AbortSignal
  /** What was passed as `context` to `run`, or to `resume` in this process. Throws CONTEXT_MISSING without one. */
  readonly context: unknown

  /** Sends a message along the edges of the node whose conditions hold: all of them, or those to the target `to`. */
  send(message: Sent, options?: SendOptions): void
  send<M>(message: [Sent] extends [never] ? M & JsonOnly<M> : never, options?: SendOptions): void
  /** Adds to the run's outputs. */
  output(value: Output): void
  output<V>(value: [Output] extends [never] ? V & JsonOnly<V> : never): void

  /** State of the run, shared by its nodes. Reads see the last commit; writes become visible with the next. */
  readonly state: {
    get<T>(channel: Channel<T, never>): T
    write<W>(channel: Channel<unknown, W>, value: W): void
  }
  /** The node's own state, kept from one message to the next. */
  readonly local: {
    get<T>(key: string): T | undefined
    set(key: string, value: unknown): void
  }

  /** Whether anybody watches the run, or may begin to at any time, as with a store. Otherwise live events need not be made. */
  readonly isWatched: boolean
  /** Streams what a model says to watchers. Not journaled. */
  delta(delta: Delta): void
  /** Streams the data of an answer to watchers, as far as it has arrived. Not journaled. */
  partial(output: PartialOutput): void
  /** Streams to watchers what a tool reports. Not journaled. */
  progress(progress: ToolProgress): void
  /** Sends a custom event to watchers. Not journaled. */
  emit(name: string, data?: unknown): void
  log(level: LogLevel, message: string, data?: unknown): void
  /** Counts tokens, money and calls against the run's budget, when the task ends. */
  use(usage: Usage): void
  /** What the whole run has used and reserved so far, and what is left of its budget; empty where there is none. */
  readonly budget: { readonly used: Usage; readonly left: Budget }
  /** Throws when the budget of the run or of the node is used up: for before something that costs. */
  checkBudget(): void
  /** What an agent has used and reserved in the whole run, over all its tasks. */
  usedBy(agent: string): Usage
  /** What this workflow has used so far, where it was called by another: since it was, with all that it called itself. */
  readonly usedHere: Usage

  /** Asks a person, and waits for the answer. */
  ask<Answer = unknown>(question: string | Question<Answer>): Promise<Answer>
  /** Asks a person without waiting: the node's `onAnswer` receives the answer. */
  request(question: string | Question): void
  /** Waits, across restarts of the process too. */
  sleep(milliseconds: number): Promise<void>
  /** Runs the function once and records its result; a retry, or a resume after a crash, returns the record. */
  step<T>(name: string, run: (step: PaidStep) => T | Promise<T>, options?: StepOptions<T>): Promise<T>
  /**
   * The same task, with keys of their own for steps, questions, sleeps and calls: for parts of a handler that run at the
   * same time, so that after a restart each finds its own records, in whatever order they come.
   */
  scope(name: string): Context<Sent, Output>
  /** The run's clock: what waits on it can be tested. */
  readonly clock: Clock
  /** Runs another workflow inside this task, and returns its outputs. */
  call<In, Out>(workflow: Callable<In, Out>, input: In, options?: CallOptions): Promise<Out[]>
}
