/**
 * Limits the requests to a provider: how many at once and per minute. A run with a store shares them with all processes on that
 * store, by slots; other calls share them within the process.
 *
 * Invariants:
 * L1 first come, first served: nobody overtakes, so a large call is not starved by small ones.
 * L2 a call that leaves the queue or ends frees its place, once.
 * L3 a call that is larger than a minute's tokens is let in when nothing else was begun for a minute.
 * L4 when the provider answers one call with `Retry-After`, no call is admitted until then, in any process.
 */
import { SuperstepError } from "../../core/index.ts"
import { type AskedSlot, type Clock, SlotKeeper, type SlotLane, systemClock } from "../../runtime/index.ts"
import { memorySlots } from "../../stores/index.ts"
import { stopError } from "./deadline.ts"

export interface ProviderLimit {
  /** Requests at the same time. */
  readonly concurrency?: number | undefined
  /** Requests begun in a minute: after a pause so many at once, then evenly spread. */
  readonly perMinute?: number | undefined
  /** Tokens of requests, input and output, in a minute, in the same way; estimated until the reply tells. */
  readonly tokensPerMinute?: number | undefined
  /**
   * Limits with the same pool count together. Default: the provider, or the model for limits of a model. Name it, for
   * example after the key, if one provider has several accounts.
   */
  readonly pool?: string | undefined
}

export interface ProviderLimits {
  /** Waits for a place. Undefined for a model without limits. */
  enter(call: LimitedCall): Promise<LimitedPlace> | undefined
}

/** A request that is about to be sent. */
export interface LimitedCall {
  readonly provider: string
  /** `provider/model`. */
  readonly model: string
  /** How many it is expected to use. */
  readonly tokens: number
  readonly signal: AbortSignal
  /** The slots that the run shares with other processes. */
  readonly slots?: Pick<SlotKeeper, "take"> | undefined
}

export interface LimitedPlace {
  /**
   * Ends the call. `tokens` is its usage, if known; `hold` is the number of milliseconds in which the provider accepts no
   * calls.
   */
  leave(tokens?: number, hold?: number): void
}

export interface ProviderLimitsOptions {
  readonly clock?: Clock | undefined
}

/** By provider or model: `{ openai: { concurrency: 8, perMinute: 500 }, "openai/gpt-5": { tokensPerMinute: 30_000 } }`. */
export function providerLimits(
  limits: Readonly<Record<string, ProviderLimit>>,
  { clock = systemClock }: ProviderLimitsOptions = {},
): ProviderLimits {
  const known = new Map(Object.entries(limits))
  for (const [name, limit] of known) checkProviderLimit(name, limit)
  const own = new SlotKeeper(
    memorySlots(() => true),
    clock,
    "",
  )
  return {
    enter(call) {
      const name = known.has(call.model) ? call.model : call.provider
      const limit = known.get(name)
      return limit && enterPool(limit, limit.pool ?? name, call, call.slots ?? own, clock)
    },
  }
}

const inProcess = new WeakMap<Clock, SlotKeeper>()

/** Waits for a place within the limits of a model's configuration. */
export function enterModel(limit: ProviderLimit, call: LimitedCall, clock: Clock): Promise<LimitedPlace> {
  let own = inProcess.get(clock)
  if (own === undefined) {
    own = new SlotKeeper(
      memorySlots(() => true),
      clock,
      "",
    )
    inProcess.set(clock, own)
  }
  return enterPool(limit, limit.pool ?? call.model, call, call.slots ?? own, clock)
}

const MINUTE = 60_000

function lanesOf({ concurrency, perMinute, tokensPerMinute }: ProviderLimit, tokens: number): SlotLane[] {
  const rate = (most: number) => ({ every: MINUTE / most, burst: most })
  return [
    ...(concurrency === undefined ? [] : [{ name: "concurrency", max: concurrency }]),
    ...(perMinute === undefined ? [] : [{ name: "requests", rate: rate(perMinute) }]),
    ...(tokensPerMinute === undefined ? [] : [{ name: TOKENS, rate: rate(tokensPerMinute), cost: tokens }]),
  ]
}

const TOKENS = "tokens"

function enterPool(
  limit: ProviderLimit,
  pool: string,
  { tokens, signal }: LimitedCall,
  slots: Pick<SlotKeeper, "take">,
  clock: Clock,
): Promise<LimitedPlace> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(stopError(signal))
    const lanes = lanesOf(limit, tokens)
    let asked: AskedSlot | undefined
    const giveUp = () => {
      asked?.leave()
      reject(stopError(signal))
    }
    const leave = (used?: number, hold?: number) => {
      const costs = lanes.map(({ name }) => (name === TOKENS ? used : undefined))
      asked?.leave({ costs, closeFor: hold })
    }
    signal.addEventListener("abort", giveUp, { once: true })
    asked = slots.take(
      { pool: `model ${pool}`, lanes, score: clock.now() },
      {
        onTaken() {
          signal.removeEventListener("abort", giveUp)
          resolve({ leave })
        },
        onError(error) {
          signal.removeEventListener("abort", giveUp)
          reject(error)
        },
      },
    )
  })
}

const NAMES = ["concurrency", "perMinute", "tokensPerMinute"]

export function checkProviderLimit(owner: string, { pool, ...limit }: ProviderLimit): void {
  const refuse = (text: string) => new SuperstepError("LIMIT_INVALID", text, { retryable: false })
  for (const [name, value] of Object.entries(limit)) {
    const isKnown = NAMES.includes(name)
    if (isKnown && (value === undefined || (Number.isSafeInteger(value) && value >= 1))) continue
    throw refuse(
      isKnown
        ? `The limit "${name}" of "${owner}" must be a whole number of at least 1.`
        : `"${name}" is not a limit of a provider; the limits are concurrency, perMinute and tokensPerMinute.`,
    )
  }
  if (pool !== undefined && typeof pool !== "string") throw refuse(`The pool of "${owner}" must be a name.`)
}

// Models that answered with `Retry-After`, shared by all calls of the process that use the same clock. A call with several
// models tries the others first.

interface Window {
  readonly from: number
  readonly until: number
}

const windows = new WeakMap<Clock, RetryWindows>()

/** Times of different clocks cannot be compared. */
export function retryWindows(clock: Clock): RetryWindows {
  let own = windows.get(clock)
  if (own === undefined) {
    own = new RetryWindows(clock)
    windows.set(clock, own)
  }
  return own
}

class RetryWindows {
  readonly #clock: Clock
  readonly #byModel = new Map<string, Window>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  open(model: string, milliseconds: number): void {
    const from = this.#clock.now()
    this.#byModel.set(model, { from, until: from + milliseconds })
  }

  close(model: string): void {
    this.#byModel.delete(model)
  }

  /** When the model may be called again; undefined if that is now. A clock that was set back does not block calls. */
  until(model: string): number | undefined {
    const window = this.#byModel.get(model)
    if (window === undefined) return undefined
    const now = this.#clock.now()
    if (now >= window.from && now < window.until) return window.until
    this.#byModel.delete(model)
    return undefined
  }
}
