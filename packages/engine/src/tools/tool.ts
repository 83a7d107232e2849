/** Something that an agent can do: described for the model, checked on the way in, run for real. */
import type { Json, RetryPolicy } from "../core/index.ts"
import type { Context } from "../runtime/index.ts"

export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of its arguments, as the model gets to see it. */
  readonly parameters: Json
  /** What the model wrote, checked: the arguments, or why they do not fit. */
  parse(args: unknown): ParsedArgs | Promise<ParsedArgs>
  readonly approval?: Approval | undefined
  /** Milliseconds one attempt may take. */
  readonly timeout?: number | undefined
  readonly retry?: RetryPolicy | undefined
  /** Running it again does no harm: a call that was under way when the process died is made again without asking. */
  readonly idempotent?: boolean | undefined
  /**
   * It records what it does itself, through `ctx` (`ask`, `step`, `call`): it is not a step of its own, runs again after a
   * restart, and its records answer. A run may be put aside while it waits.
   */
  readonly durable?: boolean | undefined
  /** Its failure fails the task; every other tool's failure is a result for the model. */
  readonly fatal?: boolean | undefined
  /** Names of arguments that must not be journaled, logged or shown. */
  readonly secret?: readonly string[] | undefined
  run(args: never, call: ToolCallContext): unknown
}

export type ParsedArgs =
  | { readonly ok: true; readonly args: unknown }
  | { readonly ok: false; readonly reason: string }

export interface ToolCallContext {
  /** The id that the model gave the call. */
  readonly id: string
  readonly agent: string
  readonly tool: string
  /** Aborted when the task is stopped or the tool's time is up. */
  readonly signal: AbortSignal
  /** The same when the call is made again after a crash or a retry. */
  readonly idempotencyKey: string
  /** What the handler of the agent's node has: `ask`, `sleep`, `step`, `call`, `state`, `emit`, `log`, … */
  readonly ctx: Context
}

/** Whether a person is asked before the tool runs: always, never, by rules, or by a function of the arguments. */
export type Approval =
  | "always"
  | "never"
  | ApprovalRules
  | ((
      args: never,
      call: { readonly tool: string; readonly agent: string },
    ) => ApprovalVerdict | Promise<ApprovalVerdict>)

export type ApprovalVerdict = "allow" | "ask" | "deny"

/** Patterns of `tool` or `tool:argument text`, with `*`. `deny` comes first, then `allow`, then `ask`; none: ask. */
export interface ApprovalRules {
  readonly deny?: readonly string[] | undefined
  readonly allow?: readonly string[] | undefined
  readonly ask?: readonly string[] | undefined
}

/** Several tools under one roof, with something to open and to close. */
export interface Toolset {
  readonly name: string
  /** Called once per task of an agent, before its first model call. */
  tools(ctx: Context): readonly Tool[] | Promise<readonly Tool[]>
  /** What the agent is told about them, after its own instructions. */
  readonly instructions?: string | undefined
  close?(): Promise<void> | void
}
