/** A model whose calls are answered by the test. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Content,
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from "@ai-sdk/provider"
import type { Model, ModelCall } from "../model.ts"

interface DrivenCall {
  readonly options: LanguageModelV3CallOptions
  /** Ends a call of `doGenerate`. */
  answer(content: string | LanguageModelV3Content[], more?: Partial<LanguageModelV3GenerateResult>): void
  /** Rejects the call before anything arrives. */
  fail(error: unknown): void
  /** Sends parts of a stream; the first opens it. */
  send(...parts: LanguageModelV3StreamPart[]): void
  /** Ends the stream; with an error it fails. */
  end(error?: unknown): void
}

export const USAGE: LanguageModelV3Usage = {
  inputTokens: { total: 100, noCache: 100, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 10, text: 10, reasoning: undefined },
}
export const NO_USAGE: LanguageModelV3Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
}
export const STOP: LanguageModelV3FinishReason = { unified: "stop", raw: "stop" }
export const FINISH: LanguageModelV3StreamPart = { type: "finish", finishReason: STOP, usage: USAGE }

export const ASKED: ModelCall = {
  prompt: [{ role: "user", content: [{ type: "text", text: "Hello?" }] }],
  caller: { agent: "greeter", ordinal: 0 },
}

export function textDelta(delta: string, id = "0"): LanguageModelV3StreamPart {
  return { type: "text-delta", id, delta }
}

export interface DrivenModel {
  readonly model: Model
  /** The calls so far. */
  readonly calls: readonly DrivenCall[]
  /** Resolves with the n-th call, counted from 1. */
  called(n: number): Promise<DrivenCall>
}

export function drivenModel(modelId = "m1", provider = "acme.chat"): DrivenModel {
  const calls: DrivenCall[] = []
  const expected = new Map<number, (call: DrivenCall) => void>()
  const come = (call: DrivenCall) => expected.get(calls.push(call))?.(call)

  const model: Model = {
    specificationVersion: "v3",
    provider,
    modelId,
    supportedUrls: {},
    doGenerate: (options) =>
      new Promise((resolve, reject) => {
        come({
          options,
          answer: (content, more) => resolve({ ...resultOf(content), ...more }),
          fail: reject,
          send: () => reject(new Error("this call is not a stream")),
          end: () => reject(new Error("this call is not a stream")),
        })
      }),
    doStream: (options) =>
      new Promise((resolve, reject) => {
        let controller!: ReadableStreamDefaultController<LanguageModelV3StreamPart>
        const stream = new ReadableStream<LanguageModelV3StreamPart>({
          start: (given) => {
            controller = given
          },
        })
        come({
          options,
          answer: () => reject(new Error("this call is a stream")),
          fail: reject,
          send(...parts) {
            resolve({ stream })
            for (const part of parts) controller.enqueue(part)
          },
          end(error) {
            resolve({ stream })
            if (error === undefined) controller.close()
            else controller.error(error)
          },
        })
      }),
  }
  return {
    model,
    calls,
    called(n) {
      const call = calls[n - 1]
      return call === undefined ? new Promise((resolve) => expected.set(n, resolve)) : Promise.resolve(call)
    },
  }
}

function resultOf(content: string | LanguageModelV3Content[]): LanguageModelV3GenerateResult {
  return {
    content: typeof content === "string" ? [{ type: "text", text: content }] : content,
    finishReason: STOP,
    usage: USAGE,
    warnings: [],
  }
}

/** An error of a provider's package; not an instance of our copy's class. */
export function apiError(statusCode: number, message: string, more: Record<string, unknown> = {}): Error {
  const isRetryable = statusCode === 408 || statusCode === 409 || statusCode === 429 || statusCode >= 500
  return Object.assign(new Error(message), { name: "AI_APICallError", statusCode, isRetryable, ...more })
}
