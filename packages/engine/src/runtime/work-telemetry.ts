/**
 * What tracing sees of the work inside a task: agents, their calls of models and of tools. Like the rest of telemetry,
 * nothing of it is called, made or kept when none is set.
 */
import type { ErrorData } from "../core/index.ts"

/** Something that other work is done in: a task, an agent's work, a tool's call. */
export interface WorkTelemetry {
  /** W3C traceparent: what is called from here carries it. */
  readonly trace: string | undefined
  /** Runs the function so that spans made inside it are children of this one. */
  within<T>(run: () => T): T
  startAgent(agent: AgentInfo): AgentTelemetry
  startModelCall(call: ModelCallInfo): ModelCallTelemetry
  startToolCall(call: ToolCallInfo): ToolCallTelemetry
}

export interface AgentInfo {
  readonly agent: string
  readonly description?: string | undefined
}

export interface AgentTelemetry extends WorkTelemetry {
  end(error?: ErrorData): void
}

export interface ToolCallInfo {
  readonly tool: string
  readonly description: string
  /** The id that the model gave the call. */
  readonly id: string
  readonly agent: string
  /** It began before a restart: it is told of only when it does something that is not on record. */
  readonly isResumed: boolean
}

export interface ToolCallTelemetry extends WorkTelemetry {
  /** Whether arguments and results are wanted; they are given without secrets. */
  readonly wantsContent: boolean
  end(outcome: ToolCallOutcome): void
}

export interface ToolCallOutcome {
  readonly error?: ErrorData | undefined
  /** JSON. */
  readonly args?: string | undefined
  readonly result?: string | undefined
}

/** A model, and how it is to answer. */
export interface AskedModel {
  /** As the model says it: `openai.responses`. */
  readonly provider: string
  readonly model: string
  readonly settings: AskedSettings
}

export interface AskedSettings {
  readonly temperature?: number | undefined
  readonly maxOutputTokens?: number | undefined
  readonly topP?: number | undefined
  readonly topK?: number | undefined
  readonly presencePenalty?: number | undefined
  readonly frequencyPenalty?: number | undefined
  readonly stopSequences?: readonly string[] | undefined
  readonly seed?: number | undefined
}

export interface ModelCallInfo extends AskedModel {
  readonly agent: string
  /** JSON is asked for, not text. */
  readonly isJson: boolean
}

/** One call as its caller sees it, with all attempts and fallbacks. */
export interface ModelCallTelemetry {
  /** Whether prompts and answers are wanted; they are given without secrets. */
  readonly wantsContent: boolean
  /** An attempt begins: the function asks the model, and runs like one of `within`. */
  attempt<T>(asked: AskedModel, isStreamed: boolean, ask: () => T): T
  attemptFailed(error: ErrorData): void
  /** Something of a stream has come. Only the first time counts, in each attempt. */
  began(): void
  /** What the provider said about its answer. */
  answered(answer: AnswerInfo): void
  end(outcome: ModelCallOutcome): void
}

/** Only what the provider told: nothing is estimated. */
export interface AnswerInfo {
  readonly id?: string | undefined
  readonly model?: string | undefined
  readonly finish?: string | undefined
  readonly tokens?: AnswerTokens | undefined
}

export interface AnswerTokens {
  readonly input?: number | undefined
  /** Parts of `input`. */
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
  readonly output?: number | undefined
  /** Part of `output`. */
  readonly reasoning?: number | undefined
}

export interface ModelCallOutcome {
  readonly error?: ErrorData | undefined
  /** JSON, in the shape that OpenTelemetry's conventions for generative AI have for messages. */
  readonly instructions?: string | undefined
  readonly input?: string | undefined
  readonly output?: string | undefined
}
