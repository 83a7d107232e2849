/** Retries and time limits as the engine has them. */
import type { ArgObject } from "../plan/index.ts"
import type { StepData } from "./step-shape.ts"

/** An attempt is one try: a step that is tried again twice has three. Without `on`, any error that another attempt may help. */
export function retryArg(retry: StepData["retry"]): ArgObject | undefined {
  const { max_attempts = 0, backoff, initial_delay_seconds, on } = retry ?? {}
  if (max_attempts === 0) return undefined
  return {
    attempts: max_attempts + 1,
    backoff: backoff === "exponential" ? backoff : undefined,
    delay: initial_delay_seconds === undefined ? undefined : Math.round(initial_delay_seconds * 1_000),
    matching: typeof on === "string" ? [on] : on,
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** Seconds, or a text with its unit. */
export function milliseconds(span: StepData["timeout"]): number | undefined {
  if (span === undefined) return undefined
  if (typeof span === "number") return Math.round(span * 1_000)
  const [, amount = "0", unit = "s"] = /([\d.]+)\s*(ms|s|m|h)?/.exec(span) ?? []
  return Math.round(Number(amount) * (UNITS[unit] ?? 1_000))
}
