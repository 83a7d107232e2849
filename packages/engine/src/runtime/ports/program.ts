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
  SignalId,
  SourcedUsage,
  TaskId,
  Usage,
  UsageSource,
} from "../../core/index.ts"
import type { Channel, JsonOnly, Reducer } from "./channel.ts"
import type { Clock } from "./clock.ts"
import type { NodeFlow, ProgramFlow } from "./flow.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import type { ScheduleOptions } from "./schedules.ts"
import type { Labels } from "./stored.ts"
import type { Schema } from "./values.ts"

/** An answer handler also receives the request that was answered. */
export type Handler = (message: never, ctx: Context, request: never) => unknown

export interface BoundHandler {
  readonly schema?: Schema | undefined
  /** For a start node: throws before the run starts if the node cannot process its input. */
  readonly check?: ((input: never) => Promise<void> | undefined) | undefined
  readonly run: Handler
}

/** `inline`: where the run executes. `spread`: on any worker, if the runtime has a dispatcher that carries tasks. */
export type Placement = "inline" | "spread"

export interface NodeFunctions {
  /** The first handler whose schema accepts a message receives it. */
  readonly handlers: readonly BoundHandler[]
  /** Receives the answers to requests that the node opened without waiting. */
  readonly onAnswer?: BoundHandler | undefined
  /** Validates what a handler returns. */
  readonly output?: Schema | undefined
  /** Limits its tasks, across processes. */
  readonly flow?: NodeFlow | undefined
  /** Where its tasks execute. Default `inline`. */
  readonly placement?: Placement | undefined
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
  /** The only handler of a node, if it accepts every message. */
  readonly only: BoundHandler | undefined
  /** The name for returned values in error messages. */
  readonly returned: string
}

export function programNode(node: GraphNode, functions: NodeFunctions, router: MessageRouter): ProgramNode {
  const { handlers, onAnswer, output, flow, placement } = functions
  const [first] = handlers
  const only = handlers.length === 1 && first?.schema === undefined ? first : undefined
  const returned = `What "${node.id}" returned`
  return { node, handlers, onAnswer, output, flow, placement, router, only, returned }
}

/** Answers go to the node's answer handler, all other messages to its other handlers. */
export function handlersFor({ handlers, onAnswer }: ProgramNode, isAnswer: boolean): readonly BoundHandler[] {
  if (!isAnswer) return handlers
  return onAnswer === undefined ? [] : [onAnswer]
}

export interface Program {
  readonly graph: Graph
  /** Recorded as a label of its runs, which then continue with this version: see `WorkflowSource`. */
  readonly version?: string | undefined
  /** By the graph's node index. */
  readonly nodes: readonly ProgramNode[]
  /** Reducers that are not built in, by name. */
  readonly reducers: ReadonlyMap<string, Reducer>
  /** The defaults of its runs. */
  readonly timeout?: number | undefined
  readonly budget?: Budget | undefined
  /** How runtimes queue and limit its runs. */
  readonly flow?: ProgramFlow | undefined
  /** When runtimes run it by themselves. */
  readonly schedules?: readonly ScheduleOptions[] | undefined
}

declare const input: unique symbol
declare const output: unique symbol
declare const state: unique symbol

/** The state of a workflow whose channels are unknown. */
// biome-ignore lint/suspicious/noExplicitAny: the reader knows the type, as with JSON.parse.
export type AnyState = { readonly [key: string]: any }

/** A workflow as the runtime sees it. */
export interface Callable<In = never, Out = unknown, State = AnyState> {
  readonly name: string
  readonly program: Program
  /** Type only: its input and its outputs. */
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
  /** Answers that do not match the schema are rejected. */
  readonly schema?: Schema<Answer> | undefined
  /** The assignee: a person or a group, as your inbox knows them. */
  readonly to?: string | undefined
  /**
   * Milliseconds until the question escalates to the first of `escalate`; after the last, `default` is the answer, or the
   * question expires.
   */
  readonly timeout?: number | undefined
  /** Who is asked next if nobody answers in time. */
  readonly escalate?: readonly Escalation[] | undefined
  readonly default?: Answer | undefined
}

export interface WaitOptions<Value = unknown> {
  /** A value that does not match the schema is rejected. */
  readonly schema?: Schema<Value> | undefined
  /** Milliseconds until the wait ends with `default`, or throws SIGNAL_TIMEOUT. */
  readonly timeout?: number | undefined
  readonly default?: Value | undefined
}

/** A signal whose sender waits for a reply. */
export interface Update<Value = unknown> {
  readonly id: SignalId
  readonly value: Value
  /** Replies once. Resolves when the reply is durable. */
  reply(value?: unknown): Promise<void>
}

export interface CallOptions {
  /** Answers a request of the called workflow; undefined leaves it to a person. */
  readonly onRequest?: ((request: { prompt: string; data?: Json | undefined }) => unknown) | undefined
}

/** A step in progress that costs money or has an external effect. */
export interface PaidStep {
  /**
   * Whether an earlier start of the step, by a process that died or an attempt that failed, left no result: its effect may
   * have happened.
   */
  readonly mayHaveRun: boolean
  /**
   * Call this right before the request is sent: it records that the step has started, and counts `usage`, the most that the
   * step is expected to use, against every budget above it. Throws BUDGET_EXCEEDED if that exceeds a budget. Await the
   * returned promise: it resolves when the record is durable. The result's usage replaces what was reserved; without a
   * result it stays counted. Another call replaces the reservation. `headroom` must be available too but is not reserved: it
   * stays free for what follows the step.
   */
  reserve(usage: Usage, source?: UsageSource, headroom?: Usage): Promise<void> | undefined
}

export interface StepOptions<T> {
  /** The usage of the step, counted when it is recorded. Absent: what it reserved. */
  readonly usage?: ((result: T) => Usage) | undefined
  /** The agent and the model that used it. */
  readonly source?: ((result: T) => UsageSource) | undefined
  /** Additional usage of other sources, such as attempts with another model. */
  readonly also?: ((result: T) => Iterable<SourcedUsage>) | undefined
  /**
   * The usage so far. Called when the step fails or is stopped, and counted in place of its reservation: such a step leaves
   * no other record.
   */
  readonly spent?: (() => Iterable<SourcedUsage>) | undefined
  /** How it was done, for people who inspect the run. It is recorded beside the result, and never returned. */
  readonly details?: ((result: T) => Json | undefined) | undefined
}

/** A chunk of a model's output. */
export interface Delta {
  /** Which of the task's model calls it belongs to. */
  readonly call: string
  readonly kind: "text" | "reasoning" | "tool"
  readonly text: string
  /** The length of earlier chunks of the same kind and tool call. A retried stream starts over at 0. */
  readonly offset: number
  readonly agent?: string | undefined
  /** The tool call whose arguments these are. */
  readonly tool?: { readonly id: string; readonly name: string } | undefined
}

/** The data of an answer that has arrived so far. */
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
  /** The labels that the run was started with, for example its user. Nothing in the run changes them. */
  readonly labels: Labels
  readonly node: NodeId
  readonly task: TaskId
  readonly attempt: number
  /** Identical for every attempt at this task, also after a crash: pass it to APIs that must not act twice. */
  readonly idempotencyKey: string
  /** Aborted when the run is cancelled, fails or ends, or this attempt times out. */
  readonly signal: AbortSignal
  /** The `context` that was passed to `run`, or to `resume` in this process. Throws CONTEXT_MISSING without one. */
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

  /** Whether the run has a watcher, or may get one at any time, as with a store. Otherwise live events are not needed. */
  readonly isWatched: boolean
  /** Streams model output to watchers. Not journaled. */
  delta(delta: Delta): void
  /** Streams the data of an answer that has arrived so far to watchers. Not journaled. */
  partial(output: PartialOutput): void
  /** Streams the progress of a tool to watchers. Not journaled. */
  progress(progress: ToolProgress): void
  /** Sends a custom event to watchers. Not journaled. */
  emit(name: string, data?: unknown): void
  log(level: LogLevel, message: string, data?: unknown): void
  /** Counts tokens, money and calls against the run's budget, when the task ends. */
  use(usage: Usage): void
  /** What the whole run has used and reserved so far, and what remains of its budget; empty without a budget. */
  readonly budget: { readonly used: Usage; readonly left: Budget }
  /** Throws if the budget of the run or of the node is used up. Call it before something that costs money. */
  checkBudget(): void
  /** What an agent has used and reserved in the whole run, over all its tasks. */
  usedBy(agent: string): Usage
  /** What this workflow has used so far, with its sub-workflows; if another workflow called it, since that call. */
  readonly usedHere: Usage

  /** Asks a person, and waits for the answer. */
  ask<Answer = unknown>(question: string | Question<Answer>): Promise<Answer>
  /** Asks a person without waiting: the node's `onAnswer` receives the answer. */
  request(question: string | Question): void
  /**
   * Waits for a signal with this name and returns its value. Signals that arrived earlier are buffered; waits take signals
   * in order, one each.
   */
  waitFor<Value = unknown>(name: string, options?: WaitOptions<Value>): Promise<Value>
  /** The same for a signal whose sender waits for a reply: see `runtime.update`. */
  waitForUpdate<Value = unknown>(
    name: string,
    options?: Omit<WaitOptions<Value>, "default">,
  ): Promise<Update<Value>>
  /** Waits, across restarts of the process too. */
  sleep(milliseconds: number): Promise<void>
  /** Runs the function once and records its result; a retry, or a resume after a crash, returns the recorded result. */
  step<T>(name: string, run: (step: PaidStep) => T | Promise<T>, options?: StepOptions<T>): Promise<T>
  /**
   * The same task with separate keys for steps, questions, waits, sleeps and calls: for parts of a handler that run concurrently,
   * so that after a restart each finds its own records in any order.
   */
  scope(name: string): Context<Sent, Output>
  /** The run's clock: use it so that tests can control time. */
  readonly clock: Clock
  /** Runs another workflow inside this task, and returns its outputs. */
  call<In, Out>(workflow: Callable<In, Out>, input: In, options?: CallOptions): Promise<Out[]>
}
