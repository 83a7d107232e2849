import { describe, expect, test } from "vitest"
import { type RetryPolicy, retryDelay } from "./retry.ts"

const failure = { code: "ERROR", message: "boom" }

/** The waits after the first, second, … attempt; undefined: no further attempt. */
function delays(policy: RetryPolicy | undefined, attempts: number, error = failure, seed = "run:1") {
  return Array.from({ length: attempts }, (_, i) => retryDelay(policy, i + 1, error, seed))
}

describe("how often", () => {
  test("without a policy a failure is final", () => {
    expect(delays(undefined, 1)).toEqual([undefined])
  })

  test("attempts counts the first time too", () => {
    expect(delays({ attempts: 1, delay: 5 }, 1)).toEqual([undefined])
    expect(delays({ attempts: 3, delay: 5 }, 4)).toEqual([5, 5, undefined, undefined])
  })
})

describe("how long to wait", () => {
  test("one second by default", () => {
    expect(delays({ attempts: 2 }, 1)).toEqual([1_000])
  })

  test("fixed: the same each time", () => {
    expect(delays({ attempts: 4, backoff: "fixed", delay: 70 }, 3)).toEqual([70, 70, 70])
  })

  test("exponential: doubled each time", () => {
    expect(delays({ attempts: 6, backoff: "exponential", delay: 100 }, 5)).toEqual([
      100, 200, 400, 800, 1_600,
    ])
  })

  test("never longer than maxDelay, nor than a minute where none is set", () => {
    const policy = { attempts: 99, backoff: "exponential", delay: 100 } as const
    expect(delays({ ...policy, maxDelay: 250 }, 4)).toEqual([100, 200, 250, 250])
    expect(retryDelay(policy, 90, failure, "s")).toBe(60_000)
  })

  test("not at all with a delay of 0", () => {
    expect(delays({ attempts: 2, delay: 0, backoff: "exponential", jitter: 1 }, 1)).toEqual([0])
  })
})

describe("jitter", () => {
  const policy: RetryPolicy = { attempts: 2, delay: 1_000, jitter: 0.3 }
  const sample = Array.from({ length: 500 }, (_, i) => retryDelay(policy, 1, failure, `run:${i}`) as number)

  test("shortens the delay by at most its part, and never lengthens it", () => {
    expect(Math.min(...sample)).toBeGreaterThanOrEqual(700)
    expect(Math.max(...sample)).toBeLessThanOrEqual(1_000)
  })

  test("spreads over the whole part", () => {
    expect(Math.min(...sample)).toBeLessThan(720)
    expect(Math.max(...sample)).toBeGreaterThan(980)
    expect(new Set(sample).size).toBeGreaterThan(200)
  })

  test("is the same for the same run, task and attempt, and differs between attempts", () => {
    const wide: RetryPolicy = { attempts: 9, delay: 10_000, jitter: 1 }
    expect(delays(wide, 8)).toEqual(delays(wide, 8))
    expect(new Set(delays(wide, 8)).size).toBe(8)
    expect(delays(wide, 8, failure, "run:2")).not.toEqual(delays(wide, 8))
  })
})

describe("which errors", () => {
  test("an error that says it cannot be helped is not tried again", () => {
    expect(delays({ attempts: 3 }, 1, { ...failure, retryable: false } as never)).toEqual([undefined])
  })

  test.each(["BUDGET_EXCEEDED", "BUDGET_UNPRICED", "INPUT_INVALID", "OUTPUT_INVALID", "CANCELLED"])(
    "%s is not tried again, unless it is named",
    (code) => {
      const error = { code, message: "no" }
      expect(retryDelay({ attempts: 3, delay: 1 }, 1, error, "s")).toBeUndefined()
      expect(retryDelay({ attempts: 3, delay: 1, matching: [""] }, 1, error, "s")).toBeUndefined()
      expect(retryDelay({ attempts: 3, delay: 1, on: [code] }, 1, error, "s")).toBe(1)
      expect(retryDelay({ attempts: 3, delay: 1, matching: [code] }, 1, error, "s")).toBe(1)
    },
  )

  test("with a list of codes only those are tried again, whatever they say of themselves", () => {
    const policy = { attempts: 3, delay: 1, on: ["RATE_LIMIT"] }
    expect(retryDelay(policy, 1, failure, "s")).toBeUndefined()
    expect(retryDelay(policy, 1, { code: "RATE_LIMIT", message: "slow down" }, "s")).toBe(1)
    expect(retryDelay(policy, 1, { code: "RATE_LIMIT", message: "", retryable: false }, "s")).toBe(1)
  })

  test("a fatal error is never tried again", () => {
    const fatal = { code: "EDGE_FAILED", message: "", fatal: true }
    expect(retryDelay({ attempts: 3, on: ["EDGE_FAILED"] }, 1, fatal, "s")).toBeUndefined()
  })
})

describe("errors by their text", () => {
  const policy = { attempts: 3, delay: 1, matching: ["timeout", "rate_limit"] }

  test("a part of the message or of the code, in any case, is tried again", () => {
    expect(retryDelay(policy, 1, { code: "ERROR", message: "Gateway TimeOut after 3 s" }, "s")).toBe(1)
    expect(retryDelay(policy, 1, { code: "RATE_LIMIT", message: "no", retryable: false }, "s")).toBe(1)
    expect(retryDelay(policy, 1, failure, "s")).toBeUndefined()
  })

  test("an empty text is part of every error that another attempt may help, and no text of none", () => {
    const never = { ...failure, retryable: false }
    expect(retryDelay({ ...policy, matching: [""] }, 1, failure, "s")).toBe(1)
    expect(retryDelay({ ...policy, matching: [""] }, 1, never, "s")).toBeUndefined()
    expect(retryDelay({ ...policy, matching: [] }, 1, failure, "s")).toBeUndefined()
  })
})
