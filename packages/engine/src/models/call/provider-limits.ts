/**
 * Limits the calls to a provider: how many at once and per minute, across all callers that share the limits.
 *
 * Invariants:
 * L1 first come, first served: no call overtakes another, so a large call is not starved by small ones.
 * L2 a call that leaves the queue or ends frees its slot, once.
 * L3 a call that exceeds the tokens of a minute is admitted when that minute has no other call.
 * L4 when the provider answers one call with `Retry-After`, no call is admitted until then.
 */
import { SuperstepError } from "../../core/index.ts"
import { type Clock, systemClock } from "../../runtime/index.ts"
import { stopError } from "./deadline.ts"

export interface ProviderLimit {
  /** The maximum number of concurrent calls. */
  readonly concurrency?: number | undefined
  /** The maximum number of calls started within any 60 seconds. */
  readonly perMinute?: number | undefined
  /**
   * The maximum number of input and output tokens of the calls started within any 60 seconds; estimated until the reply
   * arrives.
   */
  readonly tokensPerMinute?: number | undefined
}

export interface ProviderLimits {
  /** Waits for a slot. Undefined for a provider without limits. */
  enter(provider: string, tokens: number, signal: AbortSignal): Promise<LimitedPlace> | undefined
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

/** Limits by provider: `{ openai: { concurrency: 8, perMinute: 500 } }`. */
export function providerLimits(
  limits: Readonly<Record<string, ProviderLimit>>,
  { clock = systemClock }: ProviderLimitsOptions = {},
): ProviderLimits {
  const gates = new Map<string, Gate>()
  for (const [provider, limit] of Object.entries(limits)) {
    check(provider, limit)
    gates.set(provider, new Gate(limit, clock))
  }
  return { enter: (provider, tokens, signal) => gates.get(provider)?.enter(tokens, signal) }
}

const MINUTE = 60_000

interface Begun {
  readonly at: number
  tokens: number
}

interface Waiting {
  readonly tokens: number
  readonly admit: (begun: Begun) => void
}

class Gate {
  readonly #limit: ProviderLimit
  readonly #clock: Clock
  readonly #queue: Waiting[] = []
  /** Calls of the last minute, the oldest first. */
  #begun: Begun[] = []
  #held: { readonly from: number; readonly until: number } | undefined
  #atWork = 0
  #cancelTimer: (() => void) | undefined

  constructor(limit: ProviderLimit, clock: Clock) {
    this.#limit = limit
    this.#clock = clock
  }

  enter(tokens: number, signal: AbortSignal): Promise<LimitedPlace> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(stopError(signal))
      const leaveQueue = () => {
        this.#queue.splice(this.#queue.indexOf(waiting), 1)
        reject(stopError(signal))
        this.#admit()
      }
      const admit = (begun: Begun) => {
        signal.removeEventListener("abort", leaveQueue)
        resolve({ leave: once((used, hold) => this.#leave(begun, used, hold)) })
      }
      const waiting: Waiting = { tokens, admit }
      this.#queue.push(waiting)
      signal.addEventListener("abort", leaveQueue, { once: true })
      this.#admit()
    })
  }

  #leave(begun: Begun, used: number | undefined, hold: number | undefined): void {
    this.#atWork--
    if (used !== undefined) begun.tokens = used
    if (hold !== undefined) this.#hold(hold)
    this.#admit()
  }

  #hold(milliseconds: number): void {
    const now = this.#clock.now()
    const until = now + milliseconds
    const isLonger = this.#held === undefined || until > this.#held.until || now < this.#held.from
    if (isLonger) this.#held = { from: now, until }
  }

  #admit(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    const now = this.#clock.now()
    // A clock that was set back must not block calls.
    this.#begun = this.#begun.filter(({ at }) => at <= now && now - at < MINUTE)
    if (this.#held !== undefined && (now >= this.#held.until || now < this.#held.from)) this.#held = undefined
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      if (this.#atWork >= (this.#limit.concurrency ?? Number.POSITIVE_INFINITY)) return
      if (this.#held !== undefined) return this.#scheduleAdmission(this.#held.until)
      const [oldest] = this.#begun
      if (oldest !== undefined && !this.#hasRoom(next.tokens))
        return this.#scheduleAdmission(oldest.at + MINUTE)
      this.#queue.shift()
      const begun = { at: now, tokens: next.tokens }
      this.#begun.push(begun)
      this.#atWork++
      next.admit(begun)
    }
  }

  #hasRoom(tokens: number): boolean {
    const { perMinute, tokensPerMinute } = this.#limit
    if (perMinute !== undefined && this.#begun.length >= perMinute) return false
    if (tokensPerMinute === undefined) return true
    const used = this.#begun.reduce((sum, begun) => sum + begun.tokens, 0)
    return used === 0 || used + tokens <= tokensPerMinute
  }

  #scheduleAdmission(at: number): void {
    this.#cancelTimer = this.#clock.setTimer(at, () => this.#admit())
  }
}

function once(leave: (tokens?: number, hold?: number) => void): LimitedPlace["leave"] {
  let isOver = false
  return (tokens, hold) => {
    if (isOver) return
    isOver = true
    leave(tokens, hold)
  }
}

function check(provider: string, limit: ProviderLimit): void {
  for (const [name, value] of Object.entries(limit)) {
    const isKnown = name === "concurrency" || name === "perMinute" || name === "tokensPerMinute"
    if (isKnown && (value === undefined || (Number.isSafeInteger(value) && value >= 1))) continue
    const text = isKnown
      ? `The limit "${name}" of provider "${provider}" must be a whole number of at least 1.`
      : `"${name}" is not a limit of a provider; the limits are concurrency, perMinute and tokensPerMinute.`
    throw new SuperstepError("LIMIT_INVALID", text, { retryable: false })
  }
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
