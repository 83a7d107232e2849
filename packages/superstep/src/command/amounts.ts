/** Amounts as they stand in a table: short, and never surer than what is known. In sentences they are as `figures.ts` has them. */
import type { Usage } from "@superstep/engine"
import { dollars } from "./figures.ts"

/** `950`, `1.2k`, `12k`, `3.4M`. */
export function shortCount(count: number): string {
  if (count < 1_000) return String(Math.round(count))
  const [divisor, unit] = count < 999_500 ? [1_000, "k"] : [1_000_000, "M"]
  const scaled = count / divisor
  return `${scaled < 9.95 ? scaled.toFixed(1) : Math.round(scaled)}${unit}`
}

/** In and out together; `~` where a provider did not tell, `-` where no model was asked. */
export function shortTokens({ inputTokens, outputTokens, estimatedCalls }: Usage): string {
  if (inputTokens === undefined && outputTokens === undefined) return "-"
  const mark = (estimatedCalls ?? 0) > 0 ? "~" : ""
  return `${mark}${shortCount((inputTokens ?? 0) + (outputTokens ?? 0))}`
}

/** `$0.0012`; `>` where only a part of it is known, `~` where tokens were estimated, `-` where no model was asked. */
export function shortCost({ usd, unpricedCalls, estimatedCalls, modelCalls }: Usage): string {
  if ((unpricedCalls ?? 0) > 0) return (usd ?? 0) > 0 ? `>${dollars(usd ?? 0, false)}` : "unknown"
  if (usd === undefined && (modelCalls ?? 0) === 0) return "-"
  return dollars(usd ?? 0, (estimatedCalls ?? 0) > 0)
}

/** How old something is, in one part: `12s`, `3m`, `5h`, `2d`. */
export function age(milliseconds: number): string {
  const seconds = Math.max(0, Math.floor(milliseconds / 1_000))
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** `812 B`, `1.2 KB`, `34 MB`. */
export function size(bytes: number): string {
  let amount = bytes
  let unit = "B"
  for (const next of ["KB", "MB", "GB", "TB"]) {
    if (amount < 1_000) break
    amount /= 1_024
    unit = next
  }
  return `${unit === "B" || amount >= 9.95 ? Math.round(amount) : amount.toFixed(1)} ${unit}`
}
