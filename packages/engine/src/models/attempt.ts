/** One try of one model: takes its place among the provider's calls, asks, and gives the reply or throws what went wrong. */
import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { SuperstepError } from "../core/index.ts"
import type { Clock } from "../runtime/index.ts"
import { estimateInput } from "./estimate.ts"
import type { Model, ModelCall, ModelReply, ReplyDelta } from "./model.ts"
import { modelName, providerOf } from "./model-name.ts"
import type { PriceTable } from "./prices.ts"
import type { ProviderLimits } from "./provider-limits.ts"
import { replyOf } from "./reply.ts"
import { Deadline, orStopped, stopError } from "./stopping.ts"
import { StreamedReply } from "./stream-reply.ts"

export interface AttemptOptions {
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined
  readonly firstTokenTimeout?: number | undefined
  readonly idleTimeout?: number | undefined
  readonly clock: Clock
  readonly prices: PriceTable
  readonly limits?: ProviderLimits | undefined
  /** What a stream had said when it failed: it is paid for. */
  readonly onDropped: (said: string) => void
}

export async function attempt(
  model: Model,
  call: ModelCall,
  signal: AbortSignal,
  options: AttemptOptions,
): Promise<ModelReply> {
  const place = await options.limits?.enter(providerOf(model), estimateInput(call), signal)
  let used: number | undefined
  try {
    const reply = await (isStreamed(options) ? stream : generate)(model, call, signal, options)
    used = (reply.usage.inputTokens ?? 0) + (reply.usage.outputTokens ?? 0)
    return reply
  } finally {
    place?.leave(used)
  }
}

/** Only a stream shows that a model has begun and goes on. */
function isStreamed({ onDelta, firstTokenTimeout, idleTimeout }: AttemptOptions): boolean {
  return onDelta !== undefined || firstTokenTimeout !== undefined || idleTimeout !== undefined
}

async function generate(
  model: Model,
  call: ModelCall,
  signal: AbortSignal,
  { prices }: AttemptOptions,
): Promise<ModelReply> {
  const answer = await orStopped(model.doGenerate(callOptions(call, signal)), signal)
  return replyOf(model, call, answer, prices)
}

async function stream(
  model: Model,
  call: ModelCall,
  signal: AbortSignal,
  options: AttemptOptions,
): Promise<ModelReply> {
  const { firstTokenTimeout, clock, prices, onDelta, onDropped } = options
  const deadline = new Deadline(signal, clock)
  const streamed = new StreamedReply(onDelta)
  if (firstTokenTimeout !== undefined) {
    deadline.set(firstTokenTimeout, () => tooSlow(model, "did not begin to answer", firstTokenTimeout))
  }
  try {
    const started = await orStopped(model.doStream(callOptions(call, deadline.signal)), deadline.signal)
    await read(started.stream, streamed, model, deadline, options)
    return replyOf(model, call, streamed.answer(), prices)
  } catch (error) {
    if (streamed.said !== "") onDropped(streamed.said)
    // Nobody is told anything any more by a call that was stopped.
    if (!signal.aborted) streamed.retract()
    throw error
  } finally {
    deadline.close()
  }
}

async function read(
  parts: ReadableStream<LanguageModelV3StreamPart>,
  streamed: StreamedReply,
  model: Model,
  deadline: Deadline,
  { idleTimeout }: AttemptOptions,
): Promise<void> {
  const { signal } = deadline
  const reader = parts.getReader()
  // A pending read ends with this at once, also where the provider does not heed its signal.
  const stop = () => reader.cancel(signal.reason).catch(() => undefined)
  signal.addEventListener("abort", stop, { once: true })
  let hasBegun = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (signal.aborted) throw stopError(signal)
      if (done) return
      const isSaid = streamed.take(value)
      hasBegun ||= isSaid
      if (!hasBegun) continue
      if (idleTimeout === undefined) deadline.clear()
      else deadline.set(idleTimeout, () => tooSlow(model, "stopped in the middle of its answer", idleTimeout))
    }
  } catch (error) {
    stop()
    throw signal.aborted ? stopError(signal) : error
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

/** The caller is for scripts, cassettes and the offline model; a provider looks at its own name only. */
function callOptions({ caller, ...asked }: ModelCall, signal: AbortSignal): LanguageModelV3CallOptions {
  const { agent, ordinal } = caller
  return {
    ...asked,
    abortSignal: signal,
    providerOptions: { ...asked.providerOptions, superstep: { agent, ordinal } },
  }
}

function tooSlow(model: Model, what: string, milliseconds: number): SuperstepError {
  const text = `${modelName(model)} ${what} for ${milliseconds} ms. Give it more time, or a fallback model.`
  return new SuperstepError("MODEL_TIMEOUT", text, { retryable: true })
}
