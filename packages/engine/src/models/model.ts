/**
 * A model is the AI SDK's `LanguageModelV3`, so every provider object of the SDK works unchanged. A `ModelCall` is a
 * request, a `ModelReply` the recorded answer.
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
import type { ProviderLimit } from "./call/provider-limits.ts"

export type Model = LanguageModelV3
export type Message = LanguageModelV3Message
export type Prompt = LanguageModelV3Prompt

/** A model object, a name such as `openai/gpt-5`, or a configuration. */
export type ModelRef = Model | string | ModelConfig

export interface ModelConfig {
  /** A built-in provider, such as `openai`, `google` or `openai-compatible`, or a registered one. */
  readonly provider: string
  readonly model: string
  /** The URL of the server; required for `openai-compatible`. `${env.NAME}` is replaced from the environment. */
  readonly baseUrl?: string | undefined
  /** The environment variable with the API key: `NAME` or `${env.NAME}`. The key itself is never part of a configuration. */
  readonly tokenKey?: string | undefined
  /** Of providers that have OpenAI's APIs: which one. Default: `responses` for OpenAI's own server, else `chat`. */
  readonly api?: "responses" | "chat" | undefined
  readonly settings?: ModelSettings | undefined
  /** How many requests it gets, from all processes on the store of a run. */
  readonly limits?: ProviderLimit | undefined
}

/** Settings of a model call; an agent's settings override a model's own. */
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

/** A request to a model. `caller` names the caller, for scripts and cassettes. */
export interface ModelCall
  extends Pick<LanguageModelV3CallOptions, "prompt" | "tools" | "toolChoice" | "responseFormat">,
    ModelSettings {
  readonly caller: ModelCaller
}

export interface ModelCaller {
  readonly agent: string
  /** The number of earlier model calls of the agent in this run: the same after a restart. */
  readonly ordinal: number
}

/** A reply as it is recorded: plain data. */
export interface ModelReply {
  readonly content: readonly ReplyPart[]
  readonly finish: FinishReason
  /** `provider/model` of the model that answered, which may be a fallback. */
  readonly model: string
  /** Includes the cost if the price is known. */
  readonly usage: Usage
  /** Metadata of the provider; the offline model states here that it is not a language model. */
  readonly metadata?: Json | undefined
}

/**
 * Why a reply ended. `length`: it reached the limit of output tokens. `content-filter`: the provider stopped it.
 * `refusal`: the model declined. `empty`: it has neither text nor calls. `pause`: the provider needs the conversation
 * sent back to continue its own calls.
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
      /** The arguments as the model wrote them: text that should be JSON. */
      readonly args: string
      readonly providerMetadata?: Json | undefined
    }
  /** A call of a tool that the provider ran itself, as part of the reply. */
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
      /** The location of a file at the provider, such as one that its code interpreter created. */
      readonly providerMetadata?: Json | undefined
    }

/** A piece of a reply as it arrives. */
export interface ReplyDelta {
  readonly kind: "text" | "reasoning" | "tool"
  readonly text: string
  /** The length of the earlier text of the same kind and tool call; 0 again after a retry. */
  readonly offset: number
  readonly tool?: { readonly id: string; readonly name: string } | undefined
}

/** `openai` for `openai.responses`: the interface is not part of the provider's name. */
export function providerOf({ provider }: Pick<Model, "provider">): string {
  const dot = provider.indexOf(".")
  return dot > 0 ? provider.slice(0, dot) : provider
}

/** The name in records, prices and messages: `openai/gpt-5`. */
export function modelName(model: Pick<Model, "provider" | "modelId">): string {
  return `${providerOf(model)}/${model.modelId}`
}

const ADAPTS: unique symbol = Symbol.for("superstep.adapts") as never

/** Marks a model that passes calls on to another, and adapts them to that model itself. */
export const ADAPTING = { [ADAPTS]: true } as const

export function adaptsCalls(model: Model & { readonly [ADAPTS]?: true }): boolean {
  return model[ADAPTS] === true
}

const SETTINGS: unique symbol = Symbol.for("superstep.settings") as never

const LIMIT: unique symbol = Symbol.for("superstep.limit") as never

type WithSettings = Model & { readonly [SETTINGS]?: ModelSettings; readonly [LIMIT]?: ProviderLimit }

/** The settings that `withSettings` attached to a model. */
export function settingsOf(model: Model): ModelSettings {
  return (model as WithSettings)[SETTINGS] ?? {}
}

/** The limits of the model's configuration. */
export function limitOf(model: Model): ProviderLimit | undefined {
  return (model as WithSettings)[LIMIT]
}

/** A model whose requests are limited. */
export function withLimit(model: Model, limit: ProviderLimit): Model {
  return { ...(withSettings(model, {}) as WithSettings), [LIMIT]: limit } as Model
}

/** A model with default settings, which a call can override. */
export function withSettings(model: Model, settings: ModelSettings): Model {
  const filled = (options: LanguageModelV3CallOptions): LanguageModelV3CallOptions => {
    const providerOptions = mergeProviders(settings.providerOptions, options.providerOptions)
    return { ...settings, ...(omitUndefined(options) as LanguageModelV3CallOptions), providerOptions }
  }
  const own: WithSettings = {
    ...(adaptsCalls(model) && ADAPTING),
    [SETTINGS]: { ...settingsOf(model), ...settings },
    ...limitMark(model),
    specificationVersion: model.specificationVersion,
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: model.supportedUrls,
    doGenerate: (options) => model.doGenerate(filled(options)),
    doStream: (options) => model.doStream(filled(options)),
  }
  return own
}

function limitMark(model: Model): { readonly [LIMIT]?: ProviderLimit } {
  const limit = limitOf(model)
  return limit === undefined ? {} : { [LIMIT]: limit }
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

/** A quoted excerpt on one line, short enough for an error message. */
export function quotedExcerpt(text: string, maxLength = 200): string {
  const line = text.replace(/\s+/g, " ").trim()
  return `"${clipped(line, maxLength)}"`
}

// The API that a model is called through: APIs differ in what they accept.

/**
 * `responses` and `chat` are the APIs of OpenAI and compatible servers, `messages` is Anthropic's. Calls to others are
 * not adapted: their packages do that.
 */
export type ModelInterface = "responses" | "chat" | "messages" | "other"

export function interfaceOf(model: Pick<Model, "provider">): ModelInterface {
  const { provider } = model
  // The Ollama package names OpenAI's API, but uses Ollama's own.
  if (providerOf(model) === "ollama") return "other"
  if (provider.endsWith(".responses")) return "responses"
  if (provider.endsWith(".chat")) return "chat"
  return provider.endsWith(".messages") ? "messages" : "other"
}

// Tracks the callers of a stand-in for a model: who calls, and which reply is next.

export interface CalledBy {
  /** Empty for an unnamed caller. */
  readonly agent: string
  readonly ordinal?: number | undefined
}

/** Reads what `callModel` writes to `providerOptions.superstep`. */
export function calledBy({ providerOptions }: LanguageModelV3CallOptions): CalledBy {
  const { agent, ordinal } = providerOptions?.superstep ?? {}
  return {
    agent: typeof agent === "string" ? agent : "",
    ...(typeof ordinal === "number" && Number.isSafeInteger(ordinal) && ordinal >= 0 ? { ordinal } : {}),
  }
}

/** The caller, for error messages. */
export function callerName(agent: string): string {
  return agent === "" ? "an unnamed caller" : `agent "${agent}"`
}

/**
 * The position in a list of replies. A process that resumes a run finds it by the caller's ordinal, the number of
 * recorded calls. Within one process the cursor's own count applies, because failed attempts use up replies too.
 */
export class ReplyCursor {
  #next = 0

  /** The index of the next reply. `after` maps a number of answered calls to an index of the list. */
  indexFor(ordinal: number | undefined, after: (calls: number) => number): number {
    if (ordinal === undefined || ordinal <= this.#next) return this.#next
    return Math.max(this.#next, after(ordinal))
  }

  advancePast(index: number): void {
    this.#next = Math.max(this.#next, index + 1)
  }

  get next(): number {
    return this.#next
  }
}
