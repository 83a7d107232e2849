/**
 * Brings runs, and tasks of nodes with placement `spread`, to processes that execute them. Absent: each process finds runs by
 * itself, in the store, and executes their tasks.
 *
 * A dispatcher decides nothing about runs and stores nothing of them: a lost `activate` delays a run until a process finds it in
 * the store, and a repeated one changes nothing.
 */
import type {
  ErrorData,
  Json,
  NodeId,
  RunId,
  RunStarted,
  RunStatus,
  TaskId,
  Undelivered,
  Usage,
} from "../../core/index.ts"
import type { LogLevel } from "./program.ts"
import type { Labels, Mail, MailOutcome, RunCreated } from "./stored.ts"

export interface Dispatcher {
  /**
   * Has some process call `runtime.worker.activate(runId, at)`: at the time, or as soon as possible. `graph`: one that has this
   * graph, as other versions of the workflow are at work beside it.
   */
  activate(runId: RunId, at?: number, graph?: string): Promise<void>
  /**
   * The same, as soon as possible, and resolves when that call has returned: the run has ended or waits. May resolve earlier, for
   * example if that takes long. Absent: callers look into the store for what has become of the run.
   */
  execute?(runId: RunId): Promise<void>
  /**
   * Has some process call `runtime.worker.start(run)`, and resolves with its reply. Undefined if no process takes it: it may still
   * arrive, and joins the run then if that was created otherwise. Absent: runs are created before a process is sent for.
   */
  start?(run: RunStart): Promise<StartReply | undefined>
  /**
   * Has some process call `runtime.worker.deliver(mail)`, and resolves with its outcome. Undefined if no process took it in time: it
   * may still arrive, and changes nothing then if it was delivered otherwise. Absent: mail is delivered through the store.
   */
  deliver?(mail: BroughtMail): Promise<MailReply | undefined>
  /**
   * Has some process call `runtime.worker.perform(task, state)`, and resolves with the outcome. Called again for the same task and attempt, by
   * this process or another, it resolves with the same outcome: the handler does not run again. Absent: tasks execute where
   * their run does.
   */
  perform?(task: SpreadTask, state: () => SpreadState): Promise<SpreadOutcome>
}

/** A run that does not exist yet, as data. */
export interface RunStart {
  readonly runId: RunId
  readonly created: RunCreated
  readonly entry: RunStarted
}

/** Sent when the run has ended or waits, or is not executed by that process. */
export interface StartReply {
  /** False: the process did not create the run, which may exist. */
  readonly isCreated: boolean
  /** Absent: the store has more to tell. */
  readonly ended?: EndedRun | undefined
}

/** Mail that a dispatcher brings to a process. */
export interface BroughtMail extends Mail {
  /** Where the store's live channel brings the reply too, ahead of the dispatcher. */
  readonly replyTo?: string | undefined
}

/** Sent when the mail has an outcome. */
export type MailReply = MailOutcome & {
  /** The run ended with it, at once. Absent: the store has more to tell. */
  readonly ended?: EndedRun | undefined
}

/** The end of a run, as the store has it too. */
export interface EndedRun {
  readonly status: RunStatus
  readonly outputs: readonly Json[]
  readonly state: { readonly [channel: string]: Json }
  readonly error?: ErrorData | undefined
  readonly undelivered: readonly Undelivered[]
  readonly usage: Usage
  readonly supersteps: number
}

/** An attempt at a task, as data. */
export interface SpreadTask {
  readonly runId: RunId
  readonly workflow: string
  /** The hash of the workflow's graph. */
  readonly graph: string
  readonly labels: Labels
  readonly node: NodeId
  readonly task: TaskId
  readonly attempt: number
  readonly message: Json
  /** The bytes that a value of the run may have. */
  readonly valueBytes: number
  /** Of an item of a map: which of how many. Items of one map may travel together. */
  readonly item?: { readonly map: TaskId; readonly index: number; readonly of: number } | undefined
}

/** The channels of the workflow's state. */
export type SpreadState = { readonly [channel: string]: Json }

/** What a handler did, in order. */
export type SpreadAction =
  | { readonly type: "send"; readonly value: Json; readonly to?: NodeId | undefined }
  | { readonly type: "output"; readonly value: Json }
  | { readonly type: "write"; readonly channel: string; readonly value: Json }
  | { readonly type: "emit"; readonly name: string; readonly data?: Json | undefined }
  | {
      readonly type: "log"
      readonly level: LogLevel
      readonly message: string
      readonly data?: Json | undefined
    }

export interface SpreadOutcome {
  /** No handler accepts the message: why not. */
  readonly rejected?: readonly string[] | undefined
  readonly error?: ErrorData | undefined
  /** What the handler returned, each value a message; empty: nothing. */
  readonly values?: readonly Json[] | undefined
  readonly actions?: readonly SpreadAction[] | undefined
  readonly usage?: Usage | undefined
  /** It recorded steps, which are needed no more when the task has its entry. */
  readonly hasSteps?: boolean | undefined
}

/** The same, which leaves inputs and answers to the store. Messages of spread tasks still travel: their author wants that. */
export function withoutValues(dispatcher: Dispatcher): Dispatcher {
  const { execute, perform } = dispatcher
  return {
    activate: dispatcher.activate.bind(dispatcher),
    ...(execute && { execute: execute.bind(dispatcher) }),
    ...(perform && { perform: perform.bind(dispatcher) }),
  }
}

/** Milliseconds until a sender no longer waits for a process that takes its mail. */
export const DISPATCH_PATIENCE = 5_000
