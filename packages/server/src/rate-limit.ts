/**
 * Rate limits of keys, counted in windows by each process for itself. Responses say what is left, in the headers of
 * draft-ietf-httpapi-ratelimit-headers.
 */
import type { Principal } from "./access.ts"
import { problem } from "./problem.ts"

interface Window {
  /** Milliseconds. */
  readonly endsAt: number
  count: number
}

/** Keys that a process counts at the same time; those that ended are forgotten first. */
const MAX_WINDOWS = 100_000

export interface Admission {
  /** For the response, whatever it is. */
  readonly headers: Readonly<Record<string, string>>
  /** Set if the limit is reached. */
  readonly refusal?: Response | undefined
}

export class RateLimits {
  readonly #windows = new Map<string, Window>()

  /** Counts a request. Undefined: the principal has no limit. */
  admit({ id, key }: Principal, now = Date.now()): Admission | undefined {
    const limit = key?.rateLimit
    if (limit === undefined) return undefined
    const window = this.#windowOf(id, limit.seconds * 1_000, now)
    window.count++
    const seconds = Math.max(1, Math.ceil((window.endsAt - now) / 1_000))
    const headers = {
      "ratelimit-policy": `"key";q=${limit.requests};w=${limit.seconds}`,
      ratelimit: `"key";r=${Math.max(0, limit.requests - window.count)};t=${seconds}`,
    }
    if (window.count <= limit.requests) return { headers }
    const text = `This key may send ${limit.requests} requests in ${limit.seconds} s. Try again in ${seconds} s.`
    const refusal = problem(429, "RATE_LIMITED", text)
    return { headers: { ...headers, "retry-after": `${seconds}` }, refusal }
  }

  #windowOf(id: string, length: number, now: number): Window {
    const known = this.#windows.get(id)
    if (known !== undefined && known.endsAt > now) return known
    if (this.#windows.size >= MAX_WINDOWS) this.#forget(now)
    const window = { endsAt: now + length, count: 0 }
    this.#windows.set(id, window)
    return window
  }

  #forget(now: number): void {
    for (const [id, { endsAt }] of this.#windows) if (endsAt <= now) this.#windows.delete(id)
  }
}
