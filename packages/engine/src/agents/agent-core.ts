/** What an agent is: its options, as its author writes them, and its core, which is made once and used by every task. */
import type { Node, NodePolicies, Workflow } from "../builder/index.ts"
import type { CallModelOptions, Message, ModelRef, ModelSettings } from "../models/index.ts"
import type { AnyState, Channel, Context, Run, RunOptions, Schema } from "../runtime/index.ts"
import type { ApprovalRules, Tool, Toolset } from "../tools/index.ts"
import type { AgentLimits } from "./agent-limits.ts"
import type { Guardrail } from "./guardrails.ts"
import type { HistoryPolicy } from "./history-policy.ts"
import type { LoadModels } from "./load-models.ts"
import type { HookOptions, Hooks } from "./middleware.ts"
import type { ToolChoice } from "./step-plan.ts"
import type { StopWhen } from "./stop-when.ts"
import type { OnTruncated, OutputFormat } from "./structured-output.ts"
import type { ToolTable } from "./tool-table.ts"

export interface AgentOptions<In = unknown, Needs = unknown> extends NodePolicies, HookOptions {
  /** Its name in usage, limits and scripts; also the node's id. */
  readonly name: string
  /** What it is good for: other agents choose by it whom they hand a task to. */
  readonly description?: string | undefined
  /** A model, or several: when the first does not answer, the next is asked. */
  readonly model: ModelRef | readonly ModelRef[]
  /** As a function, its result is recorded: once for each task, and for each hand-off to the agent. */
  readonly instructions?:
    | string
    | ((input: In, ctx: AgentContext<Needs>, handoff: HandedOver | undefined) => string | Promise<string>)
    | undefined
  /**
   * As a function, it is called for each task and again when that resumes. The names of the tools are recorded: a resumed
   * task has those that it had. Close toolsets that it creates yourself.
   */
  readonly tools?:
    | ToolList<Needs>
    | ((input: In, ctx: AgentContext<Needs>) => ToolList<Needs> | Promise<ToolList<Needs>>)
    | undefined
  /** What it takes. Default: anything. A string is the user's message, `{ messages }` is a conversation. */
  readonly input?: Schema<In> | undefined
  /** How much of a long conversation the model sees. Default: all of it. */
  readonly history?: HistoryPolicy | undefined
  /** A conversation that continues from task to task: read before, and added to after. Make it with `conversation(key)`. */
  readonly messages?: Channel<readonly Message[], readonly Message[]> | undefined
  readonly limits?: AgentLimits | undefined
  readonly settings?: ModelSettings | undefined
  /** How models are called: retries, timeouts, prices, limits per provider. */
  readonly calling?:
    | Omit<CallModelOptions, "signal" | "clock" | "onDelta" | "meter" | "beforeRetry">
    | undefined
  /** Models by name, from which `prepareStep` chooses. */
  readonly models?: Readonly<Record<string, ModelRef | readonly ModelRef[]>> | undefined
  /**
   * Whether the model calls tools. `required` and `{ tool }` hold until the agent has called a tool: otherwise it could
   * never answer. Default `auto`.
   */
  readonly toolChoice?: ToolChoice | undefined
  /** Ends the loop after tool calls when one of these holds: the text of the last reply is the answer. */
  readonly stopWhen?: StopWhen | undefined
  /** Checks of its input, its answers and its tool calls, in order. */
  readonly guardrails?: readonly Guardrail[] | undefined
  /**
   * Agents that may take over the conversation, each by itself or as `{ agent, payload, filter }`; as a function, for
   * agents that name each other.
   */
  readonly handoffs?: HandoffRefs | undefined
  /**
   * Who takes the next message of a thread after a hand-off: `first`, the default, this agent; `last`, the one that
   * answered last. Needs `messages`.
   */
  readonly continueWith?: "first" | "last" | undefined
  /** `each`: a tool `handoff_to_<name>` per agent, the default. `one`: one tool `handoff({ agent })`. */
  readonly handoffTools?: "each" | "one" | undefined
  /** Agents that do a task in their own conversation and return the answer: the tool `transfer_task`. */
  readonly subAgents?: AgentRefs | undefined
  /** Rules for all its tools. A matching rule decides, after any `deny`; without one, the tool's own approval does. */
  readonly approval?: ApprovalRules | undefined
  /** How often an answer that does not fit `output` goes back to the model. Default 2. */
  readonly repairs?: number | undefined
  /** An answer that reached the limit of output tokens. Default `accept`; one that then does not fit `output` fails. */
  readonly onTruncated?: OnTruncated | undefined
  /**
   * What happens at its limits, and at those of the run. `fail`, the default: the run takes its limit route, or ends.
   * `answer`: the model is asked once more, without tools, for an answer with what is known; a part of the limits and of
   * the budget is kept for that.
   */
  readonly onLimit?: "fail" | "answer" | undefined
  /** A tool's failure: `result`, the default, is shown to the model; `fail` fails the task; a function writes the message. */
  readonly onToolError?: "result" | "fail" | ((error: string, call: FailedCall) => string) | undefined
  /** False: replies are requested whole, and no deltas are sent. Default true. */
  readonly stream?: boolean | undefined
  readonly onError?: "fail" | "settle" | undefined
}

/**
 * Agents, or a function `() => [a, b]` that returns them. What the function returns is checked when it is called: a type
 * for it would make the types of agents that name each other circular, and each would need an annotation.
 */
// biome-ignore lint/complexity/noBannedTypes: given any signature, the compiler infers the type of what is returned.
export type AgentRefs = readonly Agent[] | Function

// biome-ignore lint/complexity/noBannedTypes: as above.
export type HandoffRefs = readonly (Agent | Handoff)[] | Function

/** An agent to hand the conversation to, and how. */
export interface Handoff {
  readonly agent: Agent
  /** What the model has to say for the hand-off: the schema of an object. The agent that takes over sees it. */
  readonly payload?: Schema | undefined
  /**
   * What the agent that takes over sees of the conversation. It must return the same for the same messages, and what it
   * returns is made valid for providers. The conversation itself is kept whole.
   */
  readonly filter?: ((messages: readonly Message[], handoff: HandedOver) => readonly Message[]) | undefined
  /** When to hand over, for the model. Default: the agent's own description. */
  readonly description?: string | undefined
}

/** A hand-off, as the agent that takes over gets to know it. */
export interface HandedOver {
  readonly from: string
  /** What the model said for it; undefined without a schema for it. */
  readonly payload: unknown
}

type ToolList<Needs> = readonly (Tool<Needs> | Toolset)[]

export interface FailedCall {
  readonly tool: string
  readonly id: string
}

/** The options without the type of the input, as the implementation sees them. */
// biome-ignore lint/suspicious/noExplicitAny: whatever its tools need, the run passes it to them.
export type SomeAgentOptions = Omit<AgentOptions<never, any>, "input"> & {
  readonly input?: Schema | undefined
}

/** The context of the agent's node; its `context` is what the run's options have. */
export type AgentContext<Needs> = Context & { readonly context: Needs }

/** The options of a run. With tools that read its context, that is required. */
export type AgentRunOptions<Needs> = unknown extends Needs
  ? [options?: RunOptions]
  : [options: RunOptions & { readonly context: Needs }]

/** `Needs` is the type of the context that its tools and instructions read. */
export interface Agent<In = never, Out = unknown, Needs = unknown> extends Node<In, Out>, Workflow<In, Out> {
  run(input: In, ...options: AgentRunOptions<Needs>): Run<Out, AnyState>
  stream(input: In, ...options: AgentRunOptions<Needs>): Run<Out, AnyState>
  /** The agent as a tool of another one: it works in its own conversation, and its answer is the result. */
  asTool(options?: AgentToolOptions): Tool
  /** Closes what its toolsets have opened. */
  close(): Promise<void>
  /** For the engine. */
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
  /** Schemas that its providers cannot enforce, and why. */
  readonly warnings: readonly string[]
  /** The models that write its summaries. */
  readonly summariser: LoadModels
  /** From which its hooks choose, by name. */
  readonly namedModels: ReadonlyMap<string, LoadModels>
  readonly hooks: Hooks | undefined
  /** The agents that it may hand the conversation to. */
  handoffs(): readonly Agent[]
  tools(ctx: Context, input: unknown): ToolTable | Promise<ToolTable>
}

/** The key of an agent's core; the same in two copies of the library. */
export const CORE: unique symbol = Symbol.for("superstep.agent") as never

export function coreOf(agent: Agent): AgentCore {
  return agent[CORE]
}
