/** Decides whether a failed attempt is retried, and after what delay. Pure: the jitter is derived from the ids. */
import type { ErrorData } from "./errors.ts"

export interface RetryPolicy {
  /** Maximum number of attempts, including the first. */
  readonly attempts: number
  readonly backoff?: "fixed" | "exponential" | undefined
  /** Milliseconds before the second attempt. Default 1,000. */
  readonly delay?: number | undefined
  /** Maximum delay in milliseconds. Default 60,000. */
  readonly maxDelay?: number | undefined
  /** Part of the delay that varies, 0 to 1, so that many failures are not retried at the same time. Default 0. */
  readonly jitter?: number | undefined
  /** Retry only these error codes. Absent: every retryable error. */
  readonly on?: readonly string[] | undefined
  /**
   * Retry only errors whose code or message contains one of these, ignoring case; an empty string matches every retryable
   * error.
   */
  readonly matching?: readonly string[] | undefined
}

/** Milliseconds to wait before the next attempt, or undefined when there is none. */
export function retryDelay(
  policy: RetryPolicy | undefined,
  attempt: number,
  error: ErrorData,
  seed: string,
): number | undefined {
  if (policy === undefined || attempt >= policy.attempts || error.fatal) return undefined
  if (!isTriedAgain(policy, error)) return undefined
  const base = policy.delay ?? 1_000
  const grown = policy.backoff === "exponential" ? base * 2 ** (attempt - 1) : base
  const capped = Math.min(grown, policy.maxDelay ?? 60_000)
  const jitter = policy.jitter ?? 0
  return Math.round(capped * (1 - jitter * fraction(`${seed}:${attempt}`)))
}

function isTriedAgain({ on, matching }: RetryPolicy, error: ErrorData): boolean {
  if (on?.includes(error.code)) return true
  const canHelp = !isHopeless(error)
  if (on === undefined && matching === undefined) return canHelp
  const text = `${error.code} ${error.message}`.toLowerCase()
  // An empty string matches everything.
  return matching?.some((part) => text.includes(part.toLowerCase()) && (canHelp || part !== "")) === true
}

/** Errors that a retry cannot fix: the same input stays invalid, the same budget stays spent. */
const HOPELESS = new Set([
  "BUDGET_EXCEEDED",
  "BUDGET_UNPRICED",
  "CANCELLED",
  "INPUT_INVALID",
  "OUTPUT_INVALID",
])

function isHopeless({ code, retryable, limit }: ErrorData): boolean {
  return retryable === false || limit === true || (retryable === undefined && HOPELESS.has(code))
}

/** A number in [0, 1) that depends on the text alone. */
function fraction(text: string): number {
  return hash32(text, 0x9e3779b9) / 0x1_0000_0000
}

/** FNV-1a with a final mix; for distribution and identity, not for secrets. */
export function hash32(text: string, seed: number): number {
  return hashPair(text, seed, seed)[0]
}

/** The hashes of the same text with two seeds, in one pass: large graphs have long texts. */
export function hashPair(text: string, seed: number, otherSeed: number): readonly [number, number] {
  let h = 0x811c9dc5 ^ seed
  let other = 0x811c9dc5 ^ otherSeed
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    h = Math.imul(h ^ unit, 0x01000193)
    other = Math.imul(other ^ unit, 0x01000193)
  }
  return [mixed(h), mixed(other)]
}

function mixed(hash: number): number {
  let h = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
