/** What a handler can do beside returning a value. */
import type { Budget, Escalation, Json, NodeId, RunId, TaskId, Usage, UsageSource } from "../core/index.ts"
import type { Callable } from "./callable.ts"
import type { Channel } from "./channel.ts"
import type { Clock } from "./clock.ts"
import type { Schema } from "./schema.ts"

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
   * the step is expected to use, against every budget above it. Throws BUDGET_EXCEEDED when that does not fit. Await what
   * it gives: the record is durable then. The result's usage takes the place of what was reserved; without a result it
   * stays counted. Called again, it replaces what this step has reserved.
   */
  reserve(usage: Usage, source?: UsageSource): Promise<void> | undefined
}

export interface StepOptions<T> {
  /** What the step used, to be counted when it is recorded. Absent: what it reserved. */
  readonly usage?: ((result: T) => Usage) | undefined
  /** Which agent and model used it. */
  readonly source?: ((result: T) => UsageSource) | undefined
  /**
   * What it has used though it failed. Counted at once, in place of what it reserved: a step that failed leaves no other
   * record.
   */
  readonly spent?:
    | (() => Iterable<{ readonly usage: Usage; readonly source?: UsageSource | undefined }>)
    | undefined
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

export type LogLevel = "debug" | "info" | "warn" | "error"

export interface Context {
  readonly runId: RunId
  readonly node: NodeId
  readonly task: TaskId
  readonly attempt: number
  /** The same for every attempt of this task, and after a crash: give it to what must not happen twice. */
  readonly idempotencyKey: string
  /** Aborted when the run is cancelled, fails or ends, or this attempt's time is up. */
  readonly signal: AbortSignal

  /** Sends a message along the node's edges, or to one of their targets by name. */
  send(message: unknown, options?: { readonly to?: NodeId | { readonly id: NodeId } | undefined }): void
  /** Adds to the run's outputs. */
  output(value: unknown): void

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

  /** Whether anybody watches the run here: what is told to nobody need not be made. */
  readonly isWatched: boolean
  /** Tells those who watch what a model says, as it comes. Not kept in the journal. */
  delta(delta: Delta): void
  /** Tells those who watch, under a name of your own. Not kept in the journal. */
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
  /** Asks a person without waiting: the answer comes to the node's `onAnswer`. */
  request(question: string | Question): void
  /** Waits, also across a restart of the process. */
  sleep(milliseconds: number): Promise<void>
  /** Runs the function once and records its result: after a crash or a retry the record answers. */
  step<T>(name: string, run: (step: PaidStep) => T | Promise<T>, options?: StepOptions<T>): Promise<T>
  /**
   * The same task, with keys of their own for steps, questions, sleeps and calls: for parts of a handler that run at the
   * same time, so that after a restart each finds its own records, in whatever order they come.
   */
  scope(name: string): Context
  /** The run's clock: what waits on it can be tested. */
  readonly clock: Clock
  /** Runs another workflow inside this task, and gives its outputs. */
  call<In, Out>(workflow: Callable<In, Out>, input: In, options?: CallOptions): Promise<Out[]>
}
