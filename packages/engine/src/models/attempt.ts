/** One try of one model: asks, and gives the reply or throws what went wrong. */
import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { SuperstepError, type Usage } from "../core/index.ts"
import type { Clock } from "../runtime/index.ts"
import type { Model, ModelCall, ModelReply, ReplyDelta } from "./model.ts"
import { modelName } from "./model-name.ts"
import type { PriceTable } from "./prices.ts"
import { providerError } from "./provider-error.ts"
import { replyOf } from "./reply.ts"
import { Deadline, orStopped, stopError } from "./stopping.ts"
import { StreamedReply } from "./stream-reply.ts"
import { usageOfDropped } from "./usage.ts"

export interface AttemptOptions {
  readonly signal: AbortSignal
  readonly clock: Clock
  readonly prices: PriceTable
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined
  readonly firstTokenTimeout?: number | undefined
  readonly idleTimeout?: number | undefined
  /** What an attempt that failed is paid for all the same. */
  readonly onDropped?: ((usage: Usage, model: string) => void) | undefined
}

export function attempt(model: Model, call: ModelCall, options: AttemptOptions): Promise<ModelReply> {
  return isStreamed(options) ? stream(model, call, options) : generate(model, call, options)
}

/** Only a stream shows that a model has begun and goes on. */
function isStreamed({ onDelta, firstTokenTimeout, idleTimeout }: AttemptOptions): boolean {
  return onDelta !== undefined || firstTokenTimeout !== undefined || idleTimeout !== undefined
}

async function generate(
  model: Model,
  call: ModelCall,
  { signal, prices, onDropped }: AttemptOptions,
): Promise<ModelReply> {
  const answer = await orStopped(model.doGenerate(callOptions(call, signal)), signal)
  const reply = replyOf(model, call, answer, prices)
  if (!isFailed(reply)) return reply
  onDropped?.(reply.usage, reply.model)
  throw endedInError()
}

async function stream(model: Model, call: ModelCall, options: AttemptOptions): Promise<ModelReply> {
  const { signal, prices, onDelta, onDropped } = options
  const deadline = deadlineOf(model, options)
  const streamed = new StreamedReply(onDelta)
  const stopped = deadline?.signal ?? signal
  try {
    const opening = model.doStream(callOptions(call, stopped))
    const started = await orStopped(opening, stopped, ({ stream }) => stream.cancel())
    await read(started.stream, streamed, stopped, () => goOn(model, deadline, options))
    const reply = replyOf(model, call, streamed.answer(), prices)
    if (isFailed(reply)) throw endedInError()
    return reply
  } catch (error) {
    const name = modelName(model)
    const usage = usageOfDropped(name, call, streamed, prices)
    if (usage !== undefined) onDropped?.(usage, name)
    // Nobody is told anything any more by a call that was stopped.
    if (!signal.aborted) streamed.retract()
    throw error
  } finally {
    deadline?.close()
  }
}

function deadlineOf(
  model: Model,
  { firstTokenTimeout, idleTimeout, signal, clock }: AttemptOptions,
): Deadline | undefined {
  if (firstTokenTimeout === undefined && idleTimeout === undefined) return undefined
  const deadline = new Deadline(signal, clock)
  if (firstTokenTimeout !== undefined) {
    deadline.set(firstTokenTimeout, () => tooSlow(model, "did not begin to answer", firstTokenTimeout))
  }
  return deadline
}

/** Something was said, or more of it came. */
function goOn(model: Model, deadline: Deadline | undefined, { idleTimeout }: AttemptOptions): void {
  if (idleTimeout === undefined) deadline?.clear()
  else deadline?.set(idleTimeout, () => tooSlow(model, "stopped in the middle of its answer", idleTimeout))
}

async function read(
  parts: ReadableStream<LanguageModelV3StreamPart>,
  streamed: StreamedReply,
  signal: AbortSignal,
  onPart: () => void,
): Promise<void> {
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
      if (hasBegun) onPart()
    }
  } catch (error) {
    stop()
    throw signal.aborted ? stopError(signal) : error
  } finally {
    signal.removeEventListener("abort", stop)
  }
}

function isFailed({ finish, content }: ModelReply): boolean {
  return finish === "error" && !content.some(({ type }) => type === "text" || type === "tool-call")
}

function endedInError(): Error {
  return providerError({ message: "It ended with an error, and without an answer.", retryable: true }, "")
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
