/**
 * Calls a model until there is a reply: tries it again when that may help, waits as long as it asks to be left alone, and
 * goes on to the next model when this one will not do.
 *
 * Invariants:
 * C1 a reply comes whole from one attempt: nothing of an attempt that failed is in it.
 * C2 when the signal fires, the call ends at once, and so does the request under way.
 * C3 what failed attempts cost is in the reply's usage, as far as it is known; without a reply, `onDropped` is told.
 * C4 no error carries a key, a header or a prompt.
 */
import { addUsage, SuperstepError, type Usage } from "../core/index.ts"
import { type Clock, systemClock } from "../runtime/index.ts"
import { type AttemptOptions, attempt } from "./attempt.ts"
import { type CallFailure, callFailure } from "./call-failure.ts"
import { estimateInput } from "./estimate.ts"
import type { Model, ModelCall, ModelReply, ReplyDelta } from "./model.ts"
import { modelName, providerOf } from "./model-name.ts"
import { type Prices, type PriceTable, priceTable } from "./prices.ts"
import type { ProviderLimits } from "./provider-limits.ts"
import { Deadline, pause, stopError } from "./stopping.ts"

export interface ModelRetry {
  /** How often each model is tried in all. Default 3. */
  readonly attempts?: number | undefined
  /** Milliseconds before the second attempt; doubled for each one after. Default 1,000. */
  readonly delay?: number | undefined
  /** No wait is longer; a model that asks for more is given up. Default 60,000. */
  readonly maxDelay?: number | undefined
}

export interface CallModelOptions {
  readonly signal: AbortSignal
  /** Gets the reply as it comes; the model is then asked for a stream. */
  readonly onDelta?: ((delta: ReplyDelta) => void) | undefined
  /** Gets what attempts have cost, per model, when the call ends without a reply, which would have it in its usage. */
  readonly onDropped?: ((usage: Usage, model: string) => void) | undefined
  /**
   * Called before another attempt when earlier ones have cost something, with what they cost so far: the moment to look at
   * a budget. What it throws ends the call.
   */
  readonly beforeRetry?: ((dropped: Usage) => Promise<void> | undefined) | undefined
  /** Gets what went wrong with each attempt, also where another one or another model helps. */
  readonly onAttemptFailed?: ((error: SuperstepError) => void) | undefined
  readonly retry?: ModelRetry | undefined
  /** Milliseconds for everything: all attempts, of all models, and the waits between them. */
  readonly timeout?: number | undefined
  /** Milliseconds until an attempt says something. With this or the next, the model is asked for a stream. */
  readonly firstTokenTimeout?: number | undefined
  /** Milliseconds in which something more has to come, once an attempt has begun to say something. */
  readonly idleTimeout?: number | undefined
  readonly clock?: Clock | undefined
  readonly prices?: PriceTable | undefined
  readonly limits?: ProviderLimits | undefined
  /** From 0 to 1, for the waits: many that failed together must not come back together. */
  readonly random?: (() => number) | undefined
}

export async function callModel(
  models: readonly Model[],
  call: ModelCall,
  options: CallModelOptions,
): Promise<ModelReply> {
  const { timeout, clock = systemClock } = options
  const deadline = timeout === undefined ? undefined : new Deadline(options.signal, clock)
  if (timeout !== undefined) deadline?.set(timeout, () => timeIsUp(models, timeout))
  let dropped: Map<string, Usage> | undefined
  const onDropped = (usage: Usage, model: string) => {
    dropped ??= new Map()
    dropped.set(model, addUsage(dropped.get(model) ?? {}, usage))
  }
  const { onDelta, onAttemptFailed, beforeRetry, retry, firstTokenTimeout, idleTimeout, limits } = options
  const mayRetry = () => (dropped === undefined ? undefined : beforeRetry?.(total(dropped)))
  const { prices = usualPrices(), random = Math.random } = options
  // One shape, whatever was given: it is looked at for every call.
  const trying: Trying = {
    signal: deadline?.signal ?? options.signal,
    clock,
    onDelta,
    onDropped,
    onAttemptFailed,
    mayRetry,
    retry,
    firstTokenTimeout,
    idleTimeout,
    prices,
    limits,
    random,
  }
  try {
    const reply = await firstReply(models, call, trying)
    if (dropped === undefined) return reply
    return { ...reply, usage: addUsage(reply.usage, total(dropped)) }
  } catch (error) {
    for (const [model, usage] of dropped ?? []) options.onDropped?.(usage, model)
    throw error
  } finally {
    deadline?.close()
  }
}

type Trying = Omit<CallModelOptions, "timeout" | "beforeRetry"> &
  AttemptOptions & { readonly random: () => number; readonly mayRetry: () => Promise<void> | undefined }

/** One model after the other, each as often as that makes sense. */
async function firstReply(models: readonly Model[], call: ModelCall, trying: Trying): Promise<ModelReply> {
  const { clock, signal, random, retry: { attempts = 3, delay = 1_000, maxDelay = 60_000 } = {} } = trying
  const errors: SuperstepError[] = []
  for (const model of models) {
    for (let n = 1; ; n++) {
      const allowed = trying.mayRetry()
      if (allowed !== undefined) await allowed
      const tried = await tryOnce(model, call, trying, maxDelay)
      if ("content" in tried) return tried
      const { retry, fallback, after } = tried
      const error = tried.error(modelName(model), n)
      trying.onAttemptFailed?.(error)
      if (n < attempts && retry && (after === undefined || after <= maxDelay)) {
        await pause(after ?? varied(Math.min(delay * 2 ** (n - 1), maxDelay), random), clock, signal)
        continue
      }
      errors.push(error)
      if (!fallback) throw failed(errors)
      break
    }
  }
  throw failed(errors)
}

function total(dropped: ReadonlyMap<string, Usage>): Usage {
  return [...dropped.values()].reduce(addUsage, {})
}

/** Part of the wait that varies. */
const JITTER = 0.25

function varied(milliseconds: number, random: () => number): number {
  return Math.round(milliseconds * (1 - JITTER * random()))
}

/** One attempt, in its place among the provider's calls. */
async function tryOnce(
  model: Model,
  call: ModelCall,
  trying: Trying,
  maxDelay: number,
): Promise<ModelReply | CallFailure> {
  const { limits, clock, signal } = trying
  if (signal.aborted) throw stopError(signal)
  const entering = limits?.enter(providerOf(model), estimateInput(call), signal)
  const place = entering === undefined ? undefined : await entering
  let used: number | undefined
  let hold: number | undefined
  try {
    const reply = await attempt(model, call, trying)
    used = (reply.usage.inputTokens ?? 0) + (reply.usage.outputTokens ?? 0)
    return reply
  } catch (error) {
    if (signal.aborted) throw stopError(signal)
    const failure = callFailure(error, clock.now())
    // Those behind it in the queue would be refused as well. What nobody waits for holds nobody.
    if (failure.retry && failure.after !== undefined && failure.after <= maxDelay) hold = failure.after
    return failure
  } finally {
    place?.leave(used, hold)
  }
}

let priceList: PriceTable | undefined
let registered: readonly Prices[] = []

export function usualPrices(): PriceTable {
  priceList ??= priceTable(Object.assign({}, ...registered))
  return priceList
}

/** Prices for all calls of this process that are given no table of their own. Returns the function that removes them. */
export function registerPrices(prices: Prices): () => void {
  // Prices that cannot be used are reported here, not at the first call.
  priceTable(prices)
  registered = [...registered, prices]
  priceList = undefined
  return () => {
    registered = registered.filter((one) => one !== prices)
    priceList = undefined
  }
}

function failed(errors: readonly SuperstepError[]): SuperstepError {
  const last = errors.at(-1)
  if (last === undefined) {
    const text = 'There is no model to call. Give at least one, such as "openai/gpt-5" or "offline".'
    return new SuperstepError("MODEL_MISSING", text, { retryable: false })
  }
  if (errors.length === 1) return last
  const list = errors.map(({ message }) => message).join(" ")
  const retryable = errors.some((error) => error.retryable === true)
  return new SuperstepError("MODEL_FAILED", `None of ${errors.length} models answered. ${list}`, {
    cause: last,
    retryable,
  })
}

function timeIsUp(models: readonly Model[], timeout: number): SuperstepError {
  const names = models.map(modelName).join(", ")
  const text = `The call of ${names} took longer than ${timeout} ms. Give it more time, or a faster model.`
  return new SuperstepError("MODEL_TIMEOUT", text, { retryable: true })
}
