/** What an agent is made of, as its author writes it. */
import type { NodePolicies } from "../builder/index.ts"
import type { CallModelOptions, Message, ModelRef, ModelSettings } from "../models/index.ts"
import type { Channel, Context, Schema } from "../runtime/index.ts"
import type { ApprovalRules, Tool, Toolset } from "../tools/index.ts"
import type { Agent } from "./agent.ts"
import type { AgentLimits } from "./agent-limits.ts"
import type { HistoryPolicy } from "./history-policy.ts"

export interface AgentOptions<In = unknown> extends NodePolicies {
  /** Its name in usage, limits and scripts; the node's id too. */
  readonly name: string
  /** What it is good for: other agents choose by it whom they hand a task to. */
  readonly description?: string | undefined
  /** A model, or several: when the first does not answer, the next is asked. */
  readonly model: ModelRef | readonly ModelRef[]
  readonly instructions?: string | ((input: In, ctx: Context) => string | Promise<string>) | undefined
  readonly tools?: readonly (Tool | Toolset)[] | undefined
  /** What it takes; absent: anything. A text is what the user says, `{ messages }` is a conversation. */
  readonly input?: Schema<In> | undefined
  /** How much of a long conversation the model sees. Default: all of it. */
  readonly history?: HistoryPolicy | undefined
  /** A conversation that goes on from task to task: read before, and added to after. Make it with `conversation(key)`. */
  readonly messages?: Channel<readonly Message[], readonly Message[]> | undefined
  readonly limits?: AgentLimits | undefined
  readonly settings?: ModelSettings | undefined
  /** How models are called: retries, time-outs, prices, limits per provider. */
  readonly calling?:
    | Omit<CallModelOptions, "signal" | "clock" | "onDelta" | "onDropped" | "beforeRetry">
    | undefined
  /** Agents that may take over the conversation; as a function, for agents that name each other. */
  readonly handoffs?: Fellows | undefined
  /** `each`: a tool `handoff_to_<name>` per agent, the default. `one`: one tool `handoff({ agent })`. */
  readonly handoffTools?: "each" | "one" | undefined
  /** Agents that do a task in a conversation of their own and give back the answer: the tool `transfer_task`. */
  readonly subAgents?: Fellows | undefined
  /** Rules over all its tools. A rule that fits decides, after any `deny`; where none fits, the tool's own approval does. */
  readonly approval?: ApprovalRules | undefined
  /** How often an answer that does not fit `output` goes back to the model. Default 2. */
  readonly repairs?: number | undefined
  /** A tool's failure: `result`, the default, tells the model; `fail` fails the task; a function says what the model is told. */
  readonly onToolError?: "result" | "fail" | ((error: string, call: FailedCall) => string) | undefined
  /** False: replies are asked for whole, and nothing is told while they come. Default true. */
  readonly stream?: boolean | undefined
  readonly onError?: "fail" | "settle" | undefined
}

export type Fellows = readonly Agent[] | (() => readonly Agent[])

export interface FailedCall {
  readonly tool: string
  readonly id: string
}

/** The options with the type of the input let go, as the implementation sees them. */
export type SomeAgentOptions = Omit<AgentOptions<never>, "input"> & { readonly input?: Schema | undefined }
