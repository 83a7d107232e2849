/**
 * Calls a model until there is a reply: tries it again when that may help, waits as long as it asks to be left alone, and
 * goes on to the next model when this one will not do.
 *
 * Invariants:
 * C1 a reply comes whole from one attempt: nothing of an attempt that failed is in it.
 * C2 when the signal fires, the call ends at once, and so does the request under way.
 * C3 what failed attempts cost is in the reply's usage, as far as it is known.
 * C4 no error carries a key, a header or a prompt.
 */
import { addUsage, SuperstepError, type Usage } from "../core/index.ts"
import { type Clock, systemClock } from "../runtime/index.ts"
import { attempt } from "./attempt.ts"
import { type CallFailure, callFailure } from "./call-failure.ts"
import type { Model, ModelCall, ModelReply, ReplyDelta } from "./model.ts"
import { modelName } from "./model-name.ts"
import { type PriceTable, priceTable } from "./prices.ts"
import type { ProviderLimits } from "./provider-limits.ts"
import { Deadline, pause, stopError } from "./stopping.ts"
import { usageOfDropped } from "./usage.ts"

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

let defaultPrices: PriceTable | undefined

export async function callModel(
  models: readonly Model[],
  call: ModelCall,
  options: CallModelOptions,
): Promise<ModelReply> {
  const { signal, timeout, clock = systemClock } = options
  if (timeout === undefined) return firstReply(models, call, signal, clock, options)
  const deadline = new Deadline(signal, clock)
  deadline.set(timeout, () => timeIsUp(models, timeout))
  try {
    return await firstReply(models, call, deadline.signal, clock, options)
  } finally {
    deadline.close()
  }
}

/** One model after the other. */
async function firstReply(
  models: readonly Model[],
  call: ModelCall,
  signal: AbortSignal,
  clock: Clock,
  options: CallModelOptions,
): Promise<ModelReply> {
  const errors: SuperstepError[] = []
  let spent: Usage | undefined
  const spend = (usage: Usage) => {
    spent = addUsage(spent ?? {}, usage)
  }
  for (const model of models) {
    const outcome = await tryModel(model, call, signal, clock, options, spend)
    if ("reply" in outcome) {
      const { reply } = outcome
      return spent === undefined ? reply : { ...reply, usage: addUsage(spent, reply.usage) }
    }
    errors.push(outcome.error)
    if (!outcome.fallback) break
  }
  throw failed(errors)
}

type Outcome = { readonly reply: ModelReply } | { readonly error: SuperstepError; readonly fallback: boolean }

/** One model, as often as that makes sense. */
async function tryModel(
  model: Model,
  call: ModelCall,
  signal: AbortSignal,
  clock: Clock,
  { onDelta, firstTokenTimeout, idleTimeout, limits, ...options }: CallModelOptions,
  spend: (usage: Usage) => void,
): Promise<Outcome> {
  defaultPrices ??= priceTable()
  const { retry, prices = defaultPrices, random = Math.random } = options
  const attempts = retry?.attempts ?? 3
  const name = modelName(model)
  const onDropped = (said: string) => spend(usageOfDropped(name, call, said, prices))
  const settings = { onDelta, firstTokenTimeout, idleTimeout, clock, prices, limits, onDropped }
  for (let n = 1; ; n++) {
    if (signal.aborted) throw stopError(signal)
    let failure: CallFailure
    try {
      return { reply: await attempt(model, call, signal, settings) }
    } catch (error) {
      if (signal.aborted) throw stopError(signal)
      failure = callFailure(error, clock.now())
    }
    const wait = n < attempts && failure.retry ? waitBefore(n + 1, failure, retry, random) : undefined
    if (wait === undefined) return { error: failure.error(name, n), fallback: failure.fallback }
    await pause(wait, clock, signal)
  }
}

/** Part of the wait that varies. */
const JITTER = 0.25

/** Milliseconds before an attempt, or undefined when the provider asks for more than anyone wants to wait. */
function waitBefore(
  attempt: number,
  { after }: CallFailure,
  { delay = 1_000, maxDelay = 60_000 }: ModelRetry = {},
  random: () => number,
): number | undefined {
  if (after !== undefined) return after > maxDelay ? undefined : after
  const grown = Math.min(delay * 2 ** (attempt - 2), maxDelay)
  return Math.round(grown * (1 - JITTER * random()))
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
