/**
 * Calls a model until it replies: retries if that may help, falls back to the next model, and waits as long as a provider
 * requests only if no other model is left.
 *
 * Invariants:
 * C1 a reply comes from one attempt: it contains nothing of an attempt that failed.
 * C2 when the signal fires, the call and its pending request end at once.
 * C3 every request counts from the moment it is sent. The usage of failed attempts is in the reply's usage or, with a
 *    meter, in the meter by model; tokens that the provider did not report are estimated.
 * C4 no error contains a key, a header or a prompt.
 */

import type { LanguageModelV3CallOptions, LanguageModelV3StreamPart } from "@ai-sdk/provider"
import { addUsage, SuperstepError } from "../../core/index.ts"
import { type Clock, systemClock } from "../../runtime/index.ts"
import { onAbort } from "../../runtime/internal.ts"
import {
  limitOf,
  type Model,
  type ModelCall,
  type ModelReply,
  modelName,
  providerOf,
  type ReplyDelta,
} from "../model.ts"
import { defaultPrices, type PriceTable } from "../prices.ts"
import { CallMeter, estimateInput, RequestUsage } from "../usage.ts"
import { wireCall } from "../wire/wire-call.ts"
import { type CallFailure, callFailure, providerError } from "./call-failure.ts"
import { Deadline, orStopped, pause, stopError } from "./deadline.ts"
import {
  enterModel,
  type LimitedCall,
  type LimitedPlace,
  type ProviderLimits,
  retryWindows,
} from "./provider-limits.ts"
import { replyOf, StreamedReply } from "./reply-stream.ts"

export interface ModelRetry {
  /** The maximum number of attempts per model. Default 3. */
  readonly attempts?: number | undefined
  /** Milliseconds before the second attempt; doubled for each further one. Default 1,000. */
  readonly delay?: number | undefined
  /** The maximum wait in milliseconds; a model that requests more is skipped. Default 60,000. */
  readonly maxDelay?: number | undefined
}

/** What is known of a request that was answered, besides its reply. */
export interface AnswerFacts {
  /** Milliseconds from the request to the first token; undefined if the reply was not streamed. */
  readonly firstToken?: number | undefined
  /** The provider's id of the response. */
  readonly id?: string | undefined
  /** Why it ended, in the provider's words. */
  readonly finish?: string | undefined
}

export interface CallModelOptions {
  readonly signal: AbortSignal
  /** Receives the reply as it arrives; the model is then called in streaming mode. */
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined
  /** Tracks what the call has used so far. With a meter, the reply's usage is that of its own request only. */
  readonly meter?: CallMeter | undefined
  /** Called before every request except the first, for example to check a budget. An error that it throws ends the call. */
  readonly beforeRetry?: (() => Promise<void> | undefined) | undefined
  /** Receives the error of each failed attempt, even if a later attempt or another model succeeds. */
  readonly onAttemptFailed?: ((error: SuperstepError) => void) | undefined
  /** Receives what is known of the attempt that answered, besides its reply. */
  readonly onAnswered?: ((facts: AnswerFacts) => void) | undefined
  readonly retry?: ModelRetry | undefined
  /** Milliseconds for the whole call: all attempts of all models, and the waits between them. */
  readonly timeout?: number | undefined
  /**
   * Milliseconds until an attempt sends its first token. With this or `idleTimeout`, the model is called in streaming
   * mode.
   */
  readonly firstTokenTimeout?: number | undefined
  /** The maximum number of milliseconds between two parts of a stream. */
  readonly idleTimeout?: number | undefined
  readonly clock?: Clock | undefined
  readonly prices?: PriceTable | undefined
  /** For models whose configuration has no limits of its own. */
  readonly limits?: ProviderLimits | undefined
  /** The slots that the run shares with other processes: limits count there. */
  readonly slots?: LimitedCall["slots"]
  /** A random number from 0 to 1, for jitter: calls that failed together must not all retry at the same time. */
  readonly random?: (() => number) | undefined
}

export function callModel(
  models: readonly Model[],
  call: ModelCall,
  options: CallModelOptions,
): Promise<ModelReply> {
  const { signal, meter, timeout } = options
  // The calls of agents: their reply is passed on as it is.
  if (meter !== undefined && timeout === undefined) {
    return firstReply(models, call, environmentOf(options, signal, meter))
  }
  return wholeReply(models, call, options)
}

/** The reply within the time limit of the whole call; without a meter, its usage includes that of failed attempts. */
async function wholeReply(
  models: readonly Model[],
  call: ModelCall,
  options: CallModelOptions,
): Promise<ModelReply> {
  const { timeout, clock = systemClock, meter = new CallMeter() } = options
  const deadline = timeout === undefined ? undefined : new Deadline(options.signal, clock)
  if (timeout !== undefined) deadline?.set(timeout, () => callTimedOut(models, timeout))
  const signal = deadline?.signal ?? options.signal
  try {
    const reply = await firstReply(models, call, environmentOf(options, signal, meter))
    if (options.meter !== undefined) return reply
    return { ...reply, usage: meter.dropped.reduce((sum, { usage }) => addUsage(sum, usage), reply.usage) }
  } finally {
    deadline?.close()
  }
}

function environmentOf(options: CallModelOptions, signal: AbortSignal, meter: CallMeter): CallEnvironment {
  const { clock = systemClock, onDelta, onAttemptFailed, onAnswered, beforeRetry, retry } = options
  const { firstTokenTimeout, idleTimeout, limits, slots } = options
  const { prices = defaultPrices(), random = Math.random } = options
  // Always the same shape, because every call reads it.
  return {
    signal,
    clock,
    onDelta,
    meter,
    onAttemptFailed,
    onAnswered,
    beforeRetry,
    retry,
    firstTokenTimeout,
    idleTimeout,
    prices,
    limits,
    slots,
    random,
  }
}

/** The options of a call with their defaults. */
type CallEnvironment = Omit<CallModelOptions, "timeout"> & {
  readonly clock: Clock
  readonly prices: PriceTable
  readonly random: () => number
  readonly meter: CallMeter
}

/** A model that may be called. */
interface Candidate {
  readonly model: Model
  readonly name: string
  attempts: number
  /** When it may be called again. */
  at: number
  error: SuperstepError | undefined
}

/**
 * Calls one model after the other, each with its retries. A model that requests a wait (Retry-After) moves behind the
 * others.
 */
async function firstReply(
  models: readonly Model[],
  call: ModelCall,
  environment: CallEnvironment,
): Promise<ModelReply> {
  const {
    clock,
    signal,
    random,
    retry: { attempts = 3, delay = 1_000, maxDelay = 60_000 } = {},
  } = environment
  const windows = retryWindows(clock)
  const all = models.map((model) => candidateOf(model, windows))
  const { next, waiting } = orderCandidates(all, clock.now(), maxDelay)
  let isFirst = true
  for (
    let one = next.shift();
    one !== undefined;
    one = next.shift() ?? (await nextAvailable(waiting, environment))
  ) {
    for (;;) {
      const allowed = isFirst ? undefined : environment.beforeRetry?.()
      if (allowed !== undefined) await allowed
      isFirst = false
      const tried = await tryOnce(one.model, call, environment, maxDelay)
      if ("content" in tried) {
        windows.close(one.name)
        return tried
      }
      const { retry, fallback, after } = tried
      const error = tried.error(one.name, ++one.attempts)
      one.error = error
      environment.onAttemptFailed?.(error)
      if (after !== undefined) windows.open(one.name, after)
      const mayRetry = one.attempts < attempts && retry && (after === undefined || after <= maxDelay)
      if (!mayRetry && !fallback) throw failed(all)
      if (!mayRetry) break
      if (after !== undefined && next.length + waiting.length > 0) {
        one.at = clock.now() + after
        waiting.push(one)
        break
      }
      await pause(
        after ?? withJitter(Math.min(delay * 2 ** (one.attempts - 1), maxDelay), random),
        clock,
        signal,
      )
    }
  }
  throw failed(all)
}

function candidateOf(model: Model, windows: ReturnType<typeof retryWindows>): Candidate {
  const name = modelName(model)
  return { model, name, attempts: 0, at: windows.until(name) ?? 0, error: undefined }
}

/**
 * Models that requested a wait from an earlier call come last. If all of them did, the one whose wait ends first is
 * called now.
 */
function orderCandidates(
  all: readonly Candidate[],
  now: number,
  maxDelay: number,
): { readonly next: Candidate[]; readonly waiting: Candidate[] } {
  const next = all.filter(({ at }) => at <= now)
  const waiting = all.filter(({ at }) => at > now)
  if (next.length === 0) return { next: waiting.sort((one, other) => one.at - other.at), waiting: [] }
  // The wait is longer than the maximum, so the model is called without waiting if no other has answered.
  for (const one of waiting) if (one.at - now > maxDelay) one.at = 0
  return { next, waiting }
}

/** Waits for the model that may be called again first; undefined if there is none. */
async function nextAvailable(
  waiting: Candidate[],
  { clock, signal }: CallEnvironment,
): Promise<Candidate | undefined> {
  const [first] = waiting.sort((one, other) => one.at - other.at)
  if (first === undefined) return undefined
  waiting.shift()
  const left = first.at - clock.now()
  if (left > 0) await pause(left, clock, signal)
  return first
}

/** The random part of a wait. */
const JITTER = 0.25

function withJitter(milliseconds: number, random: () => number): number {
  return Math.round(milliseconds * (1 - JITTER * random()))
}

/** One attempt, within the limits of the provider. */
function tryOnce(
  model: Model,
  call: ModelCall,
  environment: CallEnvironment,
  maxDelay: number,
): Promise<ModelReply | CallFailure> {
  const { signal } = environment
  if (signal.aborted) throw stopError(signal)
  const entering = enterLimits(model, call, environment)
  if (entering === undefined) return tryWithin(undefined, model, call, environment, maxDelay)
  return entering.then((slot) => tryWithin(slot, model, call, environment, maxDelay))
}

function tryWithin(
  slot: LimitedPlace | undefined,
  model: Model,
  call: ModelCall,
  environment: CallEnvironment,
  maxDelay: number,
): Promise<ModelReply | CallFailure> {
  const { clock, signal, meter, prices } = environment
  const request = new RequestUsage(modelName(model), call, prices)
  meter.begin(request)
  return attempt(model, call, environment, request).then(
    (reply) => {
      meter.end()
      slot?.leave((reply.usage.inputTokens ?? 0) + (reply.usage.outputTokens ?? 0))
      return reply
    },
    (error: unknown) => {
      let hold: number | undefined
      try {
        const failure = callFailure(error, clock.now())
        meter.drop(signal.aborted ? request.soFar() : request.after(failure))
        if (signal.aborted) throw stopError(signal)
        // The calls behind it in the queue would be refused too. A wait above the maximum does not hold them.
        if (failure.retry && failure.after !== undefined && failure.after <= maxDelay) hold = failure.after
        return failure
      } finally {
        slot?.leave(undefined, hold)
      }
    },
  )
}

/** Undefined for a model without limits. */
function enterLimits(
  model: Model,
  call: ModelCall,
  { limits, clock, signal, slots }: CallEnvironment,
): Promise<LimitedPlace> | undefined {
  const own = limitOf(model)
  if (own === undefined && limits === undefined) return undefined
  const limited = {
    provider: providerOf(model),
    model: modelName(model),
    tokens: estimateInput(call),
    signal,
    slots,
  }
  return own === undefined ? limits?.enter(limited) : enterModel(own, limited, clock)
}

function failed(all: readonly Candidate[]): SuperstepError {
  const errors = all.flatMap(({ error }) => error ?? [])
  const last = errors.at(-1)
  if (last === undefined) {
    const text = 'There is no model to call. Set at least one, such as "openai/gpt-5" or "offline".'
    return new SuperstepError("MODEL_MISSING", text, { retryable: false })
  }
  if (errors.length === 1) return last
  const list = errors.map(({ message }) => message).join(" ")
  const retryable = errors.some((error) => error.retryable === true)
  const text = `None of ${errors.length} models answered. ${list}`
  // A shorter prompt may succeed.
  const code = errors.some((error) => error.code === "CONTEXT_OVERFLOW") ? "CONTEXT_OVERFLOW" : "MODEL_FAILED"
  return new SuperstepError(code, text, { cause: last, retryable })
}

function callTimedOut(models: readonly Model[], timeout: number): SuperstepError {
  const names = models.map(modelName).join(", ")
  const text = `The call of ${names} took longer than ${timeout} ms. Allow more time, or use a faster model.`
  return new SuperstepError("MODEL_TIMEOUT", text, { retryable: true })
}

/** Calls one model once. Uses a stream if the caller needs deltas or timeouts: only a stream shows progress. */
function attempt(
  model: Model,
  call: ModelCall,
  environment: CallEnvironment,
  request: RequestUsage,
): Promise<ModelReply> {
  const { onDelta, firstTokenTimeout, idleTimeout } = environment
  const isStreamed = onDelta !== undefined || firstTokenTimeout !== undefined || idleTimeout !== undefined
  return isStreamed ? stream(model, call, environment, request) : generate(model, call, environment, request)
}

function generate(
  model: Model,
  call: ModelCall,
  { signal, prices, onAnswered }: CallEnvironment,
  request: RequestUsage,
): Promise<ModelReply> {
  const send = () => model.doGenerate(callOptions(model, call, signal))
  return orStopped(send, signal, (answer) => {
    const reply = replyOf(model, call, answer, prices)
    if (isFailed(reply)) {
      request.reported = reply.usage
      throw endedInError()
    }
    onAnswered?.({ id: answer.response?.id, finish: answer.finishReason.raw })
    return reply
  })
}

function stream(
  model: Model,
  call: ModelCall,
  options: CallEnvironment,
  request: RequestUsage,
): Promise<ModelReply> {
  const { signal, prices, onDelta, onAnswered, clock } = options
  const deadline = deadlineOf(model, options)
  const streamed = new StreamedReply(onDelta)
  request.stream = streamed
  const stopped = deadline?.signal ?? signal
  const sentAt = clock.now()
  let beganAt: number | undefined
  const onPart = () => {
    beganAt ??= clock.now()
    if (deadline !== undefined) extendDeadline(model, deadline, options)
  }
  const whole = () => {
    const answer = streamed.answer()
    const reply = replyOf(model, call, answer, prices)
    if (isFailed(reply)) throw endedInError()
    const firstToken = beganAt === undefined ? undefined : Math.max(0, beganAt - sentAt)
    onAnswered?.({ firstToken, id: streamed.id, finish: answer.finishReason.raw })
    return reply
  }
  const reply = orStopped(
    () => model.doStream(callOptions(model, call, stopped)),
    stopped,
    (opened) => read(opened.stream, streamed, stopped, onPart, whole),
    (opened) => opened.stream.cancel(),
  ).catch((error: unknown) => {
    // A stopped call sends no more deltas.
    if (!signal.aborted) streamed.retract()
    throw error
  })
  return deadline === undefined ? reply : reply.finally(() => deadline.close())
}

function deadlineOf(
  model: Model,
  { firstTokenTimeout, idleTimeout, signal, clock }: CallEnvironment,
): Deadline | undefined {
  if (firstTokenTimeout === undefined && idleTimeout === undefined) return undefined
  const deadline = new Deadline(signal, clock)
  if (firstTokenTimeout !== undefined) {
    deadline.set(firstTokenTimeout, () => tooSlow(model, "did not begin to answer", firstTokenTimeout))
  }
  return deadline
}

/** Called when the model sends a part. */
function extendDeadline(model: Model, deadline: Deadline, { idleTimeout }: CallEnvironment): void {
  if (idleTimeout === undefined) deadline.clear()
  else deadline.set(idleTimeout, () => tooSlow(model, "stopped in the middle of its answer", idleTimeout))
}

/** `whole` makes the reply of all parts. */
async function read(
  parts: ReadableStream<LanguageModelV3StreamPart>,
  streamed: StreamedReply,
  signal: AbortSignal,
  onPart: () => void,
  whole: () => ModelReply,
): Promise<ModelReply> {
  const reader = parts.getReader()
  // Ends a pending read at once, even if the provider ignores its signal.
  const stop = () => reader.cancel(signal.reason).catch(() => undefined)
  const leave = onAbort(signal, stop)
  let hasBegun = false
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (signal.aborted) throw stopError(signal)
      if (done) return whole()
      const isContent = streamed.take(value)
      hasBegun ||= isContent
      if (hasBegun) onPart()
    }
  } catch (error) {
    stop()
    throw signal.aborted ? stopError(signal) : error
  } finally {
    leave()
  }
}

function isFailed({ finish, content }: ModelReply): boolean {
  return finish === "error" && !content.some(({ type }) => type === "text" || type === "tool-call")
}

function endedInError(): Error {
  return providerError(
    { message: "The call ended with an error and without an answer.", retryable: true },
    "",
  )
}

/** Scripts, cassettes and the offline model read the caller; providers read only their own options. */
function callOptions(
  model: Model,
  { caller, ...asked }: ModelCall,
  signal: AbortSignal,
): LanguageModelV3CallOptions {
  const { agent, ordinal } = caller
  const providerOptions = { ...asked.providerOptions, superstep: { agent, ordinal } }
  return wireCall(model, { abortSignal: signal, ...asked, providerOptions })
}

function tooSlow(model: Model, what: string, milliseconds: number): SuperstepError {
  const text = `${modelName(model)} ${what} for ${milliseconds} ms. Allow more time, or set a fallback model.`
  return new SuperstepError("MODEL_TIMEOUT", text, { retryable: true })
}
