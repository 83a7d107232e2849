/**
 * What a model is to the engine: the AI SDK's `LanguageModelV3`, so that any of its provider objects works as it is; what
 * one is asked, and what is recorded of its reply.
 */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
} from "@ai-sdk/provider"
import type { Json, Usage } from "../core/index.ts"

export type Model = LanguageModelV3
export type Message = LanguageModelV3Message
export type Prompt = LanguageModelV3Prompt

/** A model object, a name such as `openai/gpt-5`, or a configuration. */
export type ModelRef = Model | string | ModelConfig

export interface ModelConfig {
  /** `openai`, `anthropic`, `azure`, `ollama`, `openai-compatible`, `offline`, or one that was registered. */
  readonly provider: string
  readonly model: string
  /** Of the server; for `openai-compatible` it is needed. */
  readonly baseUrl?: string | undefined
  /** The environment variable that has the key. The key itself is never part of a configuration. */
  readonly tokenKey?: string | undefined
  readonly settings?: ModelSettings | undefined
}

/** How a model is to answer; an agent's settings come before a model's own. */
export type ModelSettings = Pick<
  LanguageModelV3CallOptions,
  | "temperature"
  | "maxOutputTokens"
  | "topP"
  | "topK"
  | "presencePenalty"
  | "frequencyPenalty"
  | "stopSequences"
  | "seed"
  | "providerOptions"
>

/** What a model is asked. Whoever calls it says who they are under `caller`, which scripts and cassettes look at. */
export interface ModelCall
  extends Pick<LanguageModelV3CallOptions, "prompt" | "tools" | "toolChoice" | "responseFormat">,
    ModelSettings {
  readonly caller: ModelCaller
}

export interface ModelCaller {
  readonly agent: string
  /** How many model calls the agent has made in this run before: the same after a restart. */
  readonly ordinal: number
}

/** A reply as it is recorded: plain data. */
export interface ModelReply {
  readonly content: readonly ReplyPart[]
  readonly finish: "stop" | "length" | "content-filter" | "tool-calls" | "error" | "other"
  /** `provider/model` of the one that answered, which may be a fallback. */
  readonly model: string
  /** With its price where that is known. */
  readonly usage: Usage
  /** What the provider said about itself; the offline model says here that it is no language model. */
  readonly metadata?: Json | undefined
}

export type ReplyPart =
  | { readonly type: "text"; readonly text: string; readonly providerMetadata?: Json | undefined }
  | { readonly type: "reasoning"; readonly text: string; readonly providerMetadata?: Json | undefined }
  | {
      readonly type: "tool-call"
      readonly id: string
      readonly name: string
      /** As the model wrote them: text that should be JSON. */
      readonly args: string
      readonly providerMetadata?: Json | undefined
    }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string }
  | {
      readonly type: "source"
      readonly id: string
      readonly title?: string | undefined
      readonly url?: string | undefined
    }

/** A piece of a reply as it comes. */
export interface ReplyDelta {
  readonly kind: "text" | "reasoning" | "tool"
  readonly text: string
  /** How much of its kind, and of its tool call, came before; a stream that is tried again starts over at 0. */
  readonly offset: number
  readonly tool?: { readonly id: string; readonly name: string } | undefined
}
