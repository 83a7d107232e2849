/**
 * A model is the AI SDK's `LanguageModelV3`, so any of its provider objects works as it is. A `ModelCall` is what it is
 * asked, a `ModelReply` what is recorded of its answer.
 */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3ToolResultOutput,
} from "@ai-sdk/provider"
import type { Json, Usage } from "../core/index.ts"
import { omitUndefined } from "../core/internal.ts"
import { clipped } from "../text/index.ts"

export type Model = LanguageModelV3
export type Message = LanguageModelV3Message
export type Prompt = LanguageModelV3Prompt

/** A model object, a name such as `openai/gpt-5`, or a configuration. */
export type ModelRef = Model | string | ModelConfig

export interface ModelConfig {
  /** `openai`, `anthropic`, `azure`, `ollama`, `openai-compatible`, `offline`, or one that was registered. */
  readonly provider: string
  readonly model: string
  /** Of the server; for `openai-compatible` it is needed. `${env.NAME}` in it is filled from the environment. */
  readonly baseUrl?: string | undefined
  /** The environment variable that has the key: `NAME` or `${env.NAME}`. The key itself is never part of a configuration. */
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
  readonly finish: FinishReason
  /** `provider/model` of the one that answered, which may be a fallback. */
  readonly model: string
  /** With its price where that is known. */
  readonly usage: Usage
  /** What the provider said about itself; the offline model says here that it is no language model. */
  readonly metadata?: Json | undefined
}

/**
 * Why a reply ended. `length`: it was cut off. `content-filter`: the provider stopped it. `refusal`: the model declined.
 * `empty`: it has neither text nor calls. `pause`: the provider wants the conversation back to continue its own calls.
 */
export type FinishReason =
  | "stop"
  | "length"
  | "content-filter"
  | "refusal"
  | "empty"
  | "pause"
  | "tool-calls"
  | "error"
  | "other"

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
  /** A tool that the provider ran itself, as part of the reply. */
  | {
      readonly type: "provider-call"
      readonly id: string
      readonly name: string
      readonly args: string
      readonly providerMetadata?: Json | undefined
    }
  | {
      readonly type: "provider-result"
      readonly id: string
      readonly name: string
      readonly result: Json
      readonly isError?: boolean | undefined
      readonly providerMetadata?: Json | undefined
    }
  | { readonly type: "file"; readonly mediaType: string; readonly data: string }
  | {
      readonly type: "source"
      readonly id: string
      readonly title?: string | undefined
      readonly url?: string | undefined
      /** Where a file is at the provider, such as one that its code interpreter made. */
      readonly providerMetadata?: Json | undefined
    }

/** A piece of a reply as it comes. */
export interface ReplyDelta {
  readonly kind: "text" | "reasoning" | "tool"
  readonly text: string
  /** How much of its kind, and of its tool call, came before; a stream that is tried again starts over at 0. */
  readonly offset: number
  readonly tool?: { readonly id: string; readonly name: string } | undefined
}

/** `openai` of `openai.responses`: the interface that a provider uses is not part of its name. */
export function providerOf({ provider }: Pick<Model, "provider">): string {
  const dot = provider.indexOf(".")
  return dot > 0 ? provider.slice(0, dot) : provider
}

/** The name in records, prices and messages: `openai/gpt-5`. */
export function modelName(model: Pick<Model, "provider" | "modelId">): string {
  return `${providerOf(model)}/${model.modelId}`
}

const ADAPTS: unique symbol = Symbol.for("superstep.adapts") as never

/** The mark of a model that passes calls on to another, and adapts them to that one itself. */
export const ADAPTING = { [ADAPTS]: true } as const

export function adaptsCalls(model: Model & { readonly [ADAPTS]?: true }): boolean {
  return model[ADAPTS] === true
}

const SETTINGS: unique symbol = Symbol.for("superstep.settings") as never

type WithSettings = Model & { readonly [SETTINGS]?: ModelSettings }

/** The settings that `withSettings` attached to a model. */
export function settingsOf(model: Model): ModelSettings {
  return (model as WithSettings)[SETTINGS] ?? {}
}

/** A model that answers with these settings, where a call sets no others. */
export function withSettings(model: Model, settings: ModelSettings): Model {
  const filled = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
    const providerOptions = mergeProviders(settings.providerOptions, options.providerOptions)
    return { ...settings, ...(omitUndefined(options) as LanguageModelV3CallOptions), providerOptions }
  }
  const own: WithSettings = {
    ...(adaptsCalls(model) && ADAPTING),
    [SETTINGS]: { ...settingsOf(model), ...settings },
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate(filled(options)),
    doStream: (options) => model.doStream(filled(options)),
  }
  return own
}

type ProviderOptions = NonNullable<LanguageModelV3CallOptions["providerOptions"]>

function mergeProviders(own: ProviderOptions = {}, options: ProviderOptions = {}): ProviderOptions {
  const all = { ...own }
  for (const [provider, values] of Object.entries(options)) all[provider] = { ...all[provider], ...values }
  return all
}

/** A message as text: for patterns, summaries and error messages. */
export function messageText({ content }: Message): string {
  if (typeof content === "string") return content
  return content.map(partText).join("\n")
}

function partText(part: Exclude<Message["content"], string>[number]): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text
    case "file":
      return `[file ${part.filename ?? part.mediaType}]`
    case "tool-call":
      return `${part.toolName}(${JSON.stringify(part.input) ?? ""})`
    case "tool-result":
      return outputText(part.output)
    case "tool-approval-response":
      return part.approved ? "approved" : `denied ${part.reason ?? ""}`
  }
}

function outputText(output: LanguageModelV3ToolResultOutput): string {
  switch (output.type) {
    case "text":
    case "error-text":
      return output.value
    case "execution-denied":
      return `denied ${output.reason ?? ""}`
    case "content":
      return output.value.map((part) => (part.type === "text" ? part.text : `[${part.type}]`)).join("\n")
    default:
      return JSON.stringify(output.value)
  }
}

/** On one line and in quotes, short enough for an error message. */
export function quotedExcerpt(text: string, maxLength = 200): string {
  const line = text.replace(/\s+/g, " ").trim()
  return `"${clipped(line, maxLength)}"`
}

// The interface of a model: providers differ in what they accept.

/**
 * `responses` and `chat` are OpenAI's and those of compatible servers, `messages` is Anthropic's. Others get calls as they
 * are: their packages know what they take.
 */
export type ModelInterface = "responses" | "chat" | "messages" | "other"

export function interfaceOf(model: Pick<Model, "provider">): ModelInterface {
  const { provider } = model
  // Its package names an interface of OpenAI, and speaks Ollama's own.
  if (providerOf(model) === "ollama") return "other"
  if (provider.endsWith(".responses")) return "responses"
  if (provider.endsWith(".chat")) return "chat"
  return provider.endsWith(".messages") ? "messages" : "other"
}
