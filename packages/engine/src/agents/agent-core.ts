/** An agent: its options, as its author writes them, and its core, which is created once and used by every task. */
import type { Node, NodePolicies, Workflow } from "../builder/index.ts"
import type { CallModelOptions, Message, ModelRef, ModelSettings } from "../models/index.ts"
import type { AnyState, Channel, Context, Run, RunOptions, Schema } from "../runtime/index.ts"
import type { ApprovalRules, Tool, Toolset } from "../tools/index.ts"
import type { AgentLimits, Guard, StopWhen } from "./agent-limits.ts"
import type { Guardrail } from "./guardrails.ts"
import type { HistoryPolicy } from "./history-policy.ts"
import type { HookInfo, HookOptions, Hooks } from "./middleware.ts"
import type { Secrets } from "./secrets.ts"
import type { AgentScope, LoadModels, ToolChoice, ToolTable } from "./step-plan.ts"
import type { OnTruncated, OutputFormat } from "./structured-output.ts"

export interface AgentOptions<In = unknown, Needs = unknown> extends NodePolicies, HookOptions {
  /** The agent's name in usage, limits and scripts; also the node's id. */
  readonly name: string
  /** What the agent is good for: other agents use it to decide whom to hand a task to. */
  readonly description?: string | undefined
  /** A model, or a list of models: if the first does not answer, the next is called. */
  readonly model: ModelRef | readonly ModelRef[]
  /** The result of a function is recorded once per task, and once per hand-off to the agent. */
  readonly instructions?:
    | string
    | ((input: In, ctx: AgentContext<Needs>, handoff: HandedOver | undefined) => string | Promise<string>)
    | undefined
  /**
   * A function is called for each task, and again when the task resumes. The names of the tools are recorded, so a
   * resumed task has the same tools. Close toolsets that the function creates yourself.
   */
  readonly tools?:
    | ToolList<Needs>
    | ((input: In, ctx: AgentContext<Needs>) => ToolList<Needs> | Promise<ToolList<Needs>>)
    | undefined
  /** The schema of the input. Default: any input. A string is the user's message, `{ messages }` is a conversation. */
  readonly input?: Schema<In> | undefined
  /** How much of a long conversation the model sees. Default: all of it. */
  readonly history?: HistoryPolicy | undefined
  /** A conversation that continues from task to task. Create it with `conversation(key)`. */
  readonly messages?: Channel<readonly Message[], readonly Message[]> | undefined
  readonly limits?: AgentLimits | undefined
  readonly settings?: ModelSettings | undefined
  /** How models are called: retries, timeouts, prices and provider limits. */
  readonly calling?:
    | Omit<
        CallModelOptions,
        "signal" | "clock" | "slots" | "onDelta" | "onAnswered" | "meter" | "beforeRetry"
      >
    | undefined
  /** Models by name, for `prepareStep` to choose from. */
  readonly models?: Readonly<Record<string, ModelRef | readonly ModelRef[]>> | undefined
  /**
   * Whether the model calls tools. `required` and `{ tool }` apply until the agent has called a tool: otherwise it could
   * never answer. Default `auto`.
   */
  readonly toolChoice?: ToolChoice | undefined
  /** Ends the loop after tool calls if one of these conditions holds. The text of the last reply is the answer. */
  readonly stopWhen?: StopWhen | undefined
  /** Checks of the input, the answers and the tool calls, in order. */
  readonly guardrails?: readonly Guardrail[] | undefined
  /**
   * Agents that may take over the conversation, each an agent or `{ agent, payload, filter }`. Use a function for agents
   * that refer to each other.
   */
  readonly handoffs?: HandoffRefs | undefined
  /**
   * Which agent receives the next message of a thread after a hand-off: `first`, the default, is this agent; `last` is
   * the one that answered last. Needs `messages`.
   */
  readonly continueWith?: "first" | "last" | undefined
  /** `each`: a tool `handoff_to_<name>` per agent, the default. `one`: one tool `handoff({ agent })`. */
  readonly handoffTools?: "each" | "one" | undefined
  /**
   * Agents that the tool `transfer_task` can delegate a task to. Each works in a conversation of its own and returns its
   * answer.
   */
  readonly subAgents?: AgentRefs | undefined
  /** Rules for all tools. `deny` comes first, then any other matching rule; without one, the tool's own approval decides. */
  readonly approval?: ApprovalRules | undefined
  /** How often an answer that does not match `output` goes back to the model. Default 2. */
  readonly repairs?: number | undefined
  /**
   * How to handle an answer that reached the limit of output tokens. Default `accept`; if it then does not match
   * `output`, the task fails.
   */
  readonly onTruncated?: OnTruncated | undefined
  /**
   * What happens at the limits of the agent and of the run. `fail`, the default: the run takes its limit route, or ends.
   * `answer`: the model is called once more, without tools, to answer with what it knows; a part of the limits and of the
   * budget is reserved for that.
   */
  readonly onLimit?: "fail" | "answer" | undefined
  /**
   * What happens when a tool fails: `result`, the default, shows the error to the model; `fail` fails the task; a
   * function returns the message for the model.
   */
  readonly onToolError?: "result" | "fail" | ((error: string, call: FailedCall) => string) | undefined
  /** False requests complete replies and sends no deltas. Default true. */
  readonly stream?: boolean | undefined
  /**
   * False records of a model call only its reply: no instructions, settings, names of tools, response id or time to the first
   * token. Default true.
   */
  readonly recordCalls?: boolean | undefined
  readonly onError?: "fail" | "settle" | undefined
}

/**
 * Agents, or a function `() => [a, b]` that returns them. The function's result is checked when it is called: a type for
 * it would make the types of agents that refer to each other circular, and each would need an annotation.
 */
// biome-ignore lint/complexity/noBannedTypes: with any signature, the compiler infers the returned type.
export type AgentRefs = readonly Agent[] | Function

// biome-ignore lint/complexity/noBannedTypes: as above.
export type HandoffRefs = readonly (Agent | Handoff)[] | Function

/** A hand-off: the agent that takes over, and its options. */
export interface Handoff {
  readonly agent: Agent
  /** An object schema of the data that the model passes with the hand-off. The agent that takes over sees it. */
  readonly payload?: Schema | undefined
  /**
   * Selects what the agent that takes over sees of the conversation. It must be deterministic. Its result is made valid
   * for providers; the conversation itself stays complete.
   */
  readonly filter?: ((messages: readonly Message[], handoff: HandedOver) => readonly Message[]) | undefined
  /** Describes to the model when to hand over. Default: the agent's own description. */
  readonly description?: string | undefined
}

/** A hand-off, as the agent that takes over sees it. */
export interface HandedOver {
  readonly from: string
  /** The data that the model passed; undefined without a `payload` schema. */
  readonly payload: unknown
}

type ToolList<Needs> = readonly (Tool<Needs> | Toolset)[]

export interface FailedCall {
  readonly tool: string
  readonly id: string
}

/** The options without the input type, for the implementation. */
// biome-ignore lint/suspicious/noExplicitAny: its tools may need any context; the run passes it to them.
export type SomeAgentOptions = Omit<AgentOptions<never, any>, "input"> & {
  readonly input?: Schema | undefined
}

/** The context of the agent's node; `context` is the one in the run's options. */
export type AgentContext<Needs> = Context & { readonly context: Needs }

/** The options of a run. `context` is required if the tools read it. */
export type AgentRunOptions<Needs> = unknown extends Needs
  ? [options?: RunOptions]
  : [options: RunOptions & { readonly context: Needs }]

/** `Needs` is the type of the context that the tools and instructions read. */
export interface Agent<In = never, Out = unknown, Needs = unknown> extends Node<In, Out>, Workflow<In, Out> {
  run(input: In, ...options: AgentRunOptions<Needs>): Run<Out, AnyState>
  stream(input: In, ...options: AgentRunOptions<Needs>): Run<Out, AnyState>
  /** The agent as a tool of another agent: it works in a conversation of its own, and its answer is the result. */
  asTool(options?: AgentToolOptions): Tool
  /** Closes its toolsets. */
  close(): Promise<void>
  /** Internal. */
  readonly [CORE]: AgentCore
}

export interface AgentToolOptions {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly approval?: "always" | "never" | ApprovalRules | undefined
}

export interface AgentCore {
  readonly name: string
  readonly description: string | undefined
  readonly options: SomeAgentOptions
  readonly output: OutputFormat
  readonly models: LoadModels
  /** Warnings about schemas that its providers cannot enforce. */
  readonly warnings: readonly string[]
  /** The models that write summaries. */
  readonly summariser: LoadModels
  /** The models that hooks choose from, by name. */
  readonly namedModels: ReadonlyMap<string, LoadModels>
  readonly hooks: Hooks | undefined
  /** The agents that it may hand the conversation over to. */
  handoffs(): readonly Agent[]
  tools(ctx: Context, input: unknown): ToolTable | Promise<ToolTable>
}

/** The key of an agent's core; the same for all copies of the library. */
export const CORE: unique symbol = Symbol.for("superstep.agent") as never

export function coreOf(agent: Agent): AgentCore {
  return agent[CORE]
}

/** The agent whose turn it is. The scope, the guards and the secrets belong to the conversation. */
export interface ActiveAgent {
  readonly core: AgentCore
  readonly tools: ToolTable
  readonly scope: AgentScope
  /** One guard for each agent that took part. */
  readonly guards: readonly Guard[]
  readonly secrets: Secrets
  /** What hooks see at this model call of the conversation. */
  about(step: number): HookInfo
}
