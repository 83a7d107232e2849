/** Numbers as people read them: time, tokens, money. What is not known is said to be unknown, what is estimated has a ~. */
import type { Usage } from "@superstep/engine"

export function duration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  const minutes = Math.floor(Math.round(ms / 1_000) / 60)
  const seconds = Math.round(ms / 1_000) % 60
  if (minutes < 60) return `${minutes} m ${seconds} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} m`
}

export function tokens({ inputTokens = 0, outputTokens = 0, estimatedCalls = 0 }: Usage): string {
  const count = inputTokens + outputTokens
  const text = grouped(count)
  return `${estimatedCalls > 0 ? "~" : ""}${text} ${count === 1 ? "token" : "tokens"}`
}

/** With the price of some calls unknown, what is known of it is not the whole. */
export function cost({ usd, unpricedCalls = 0, estimatedCalls = 0 }: Usage): string {
  if (unpricedCalls > 0)
    return usd === undefined || usd === 0 ? "cost unknown" : `at least ${dollars(usd, false)}`
  return dollars(usd ?? 0, estimatedCalls > 0)
}

export function dollars(usd: number, isEstimated: boolean): string {
  if (usd === 0) return "$0"
  const digits = usd < 0.01 ? 4 : usd < 1 ? 3 : 2
  const text = usd < 0.0001 ? "<$0.0001" : `$${usd.toFixed(digits)}`
  return isEstimated ? `~${text}` : text
}

/** Nothing where no model was asked. */
export function spent(usage: Usage): string[] {
  return (usage.modelCalls ?? 0) === 0 ? [] : [tokens(usage), cost(usage)]
}

export function counted(count: number, one: string, many = `${one}s`): string {
  return `${grouped(count)} ${count === 1 ? one : many}`
}

/** `12,345`: by hand, as the tables for all languages take longer to load than most of the command. */
function grouped(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",")
}
