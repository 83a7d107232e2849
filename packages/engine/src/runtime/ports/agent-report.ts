/** The report of an agent on one input: its steps, its conversation, who answered and why the answer ended. */
import type { LanguageModelV3Message } from "@ai-sdk/provider"
import type { Json, Usage } from "../../core/index.ts"

/** A source that a model cites. */
export interface AgentSource {
  readonly id: string
  readonly title?: string | undefined
  readonly url?: string | undefined
  /** The location of a file at the provider, for example one that its code interpreter created. */
  readonly providerMetadata?: Json | undefined
}

/** One model call, with the tool calls that followed from it. */
export interface AgentStep {
  readonly agent: string
  /** `provider/model` of the model that answered. */
  readonly model: string
  readonly text: string
  readonly reasoning: string
  readonly finishReason: string
  readonly usage: Usage
  readonly sources: readonly AgentSource[]
  readonly calls: readonly StepCall[]
}

export interface StepCall {
  readonly id: string
  readonly name: string
  /** As the model wrote them; secrets are masked. */
  readonly args: unknown
  /** What the model saw: the result, or the message of a failure. */
  readonly result: Json
  readonly ok: boolean
}

export interface AgentReport {
  /** The agent that was asked, and the one that answered: they differ after a hand-off. */
  readonly agent: string
  readonly lastAgent: string
  readonly steps: readonly AgentStep[]
  /** What the task added to the conversation, its input included. */
  readonly transcript: readonly LanguageModelV3Message[]
  /** Of the last model call; undefined if there was none. */
  readonly finishReason: string | undefined
  /** Of the last model call. */
  readonly reasoning: string
  /** Of all model calls. */
  readonly sources: readonly AgentSource[]
}
