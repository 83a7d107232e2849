/** What a call used, as it is counted: the provider's numbers, an estimate where it gave none, and the price if known. */
import type { LanguageModelV3Usage } from "@ai-sdk/provider"
import type { Usage } from "../core/index.ts"
import { estimateInput, estimateTokens } from "./estimate.ts"
import type { ModelCall, ReplyPart } from "./model.ts"
import type { PriceTable, TokenCounts } from "./prices.ts"

export function usageOf(
  model: string,
  call: ModelCall,
  content: readonly ReplyPart[],
  told: LanguageModelV3Usage | undefined,
  prices: PriceTable,
): Usage {
  return counted(model, call, countsOf(told), () => estimateOutput(content), prices)
}

/** A stream as far as it came. */
interface Dropped {
  /** Everything that it said, as one text. */
  readonly said: string
  readonly usage: LanguageModelV3Usage | undefined
}

/** A stream that broke off is paid for up to there. Undefined where nothing says that it had begun. */
export function usageOfDropped(
  model: string,
  call: ModelCall,
  { said, usage }: Dropped,
  prices: PriceTable,
): Usage | undefined {
  const known = countsOf(usage)
  if (said === "" && known.input === undefined && known.output === undefined) return undefined
  return counted(model, call, known, () => estimateTokens(said), prices)
}

type KnownCounts = Omit<TokenCounts, "input" | "output"> & {
  readonly input: number | undefined
  readonly output: number | undefined
}

function countsOf(told: LanguageModelV3Usage | undefined): KnownCounts {
  return {
    input: total(told?.inputTokens, "noCache", "cacheRead", "cacheWrite"),
    output: total(told?.outputTokens, "text", "reasoning"),
    cacheRead: count(told?.inputTokens?.cacheRead),
    cacheWrite: count(told?.inputTokens?.cacheWrite),
  }
}

function counted(
  model: string,
  call: ModelCall,
  { input, output, cacheRead, cacheWrite }: KnownCounts,
  estimate: () => number,
  prices: PriceTable,
): Usage {
  const tokens = {
    input: input ?? estimateInput(call),
    output: output ?? estimate(),
    cacheRead,
    cacheWrite,
  }
  const usd = prices.cost(model, tokens)
  return {
    inputTokens: tokens.input,
    outputTokens: tokens.output,
    modelCalls: 1,
    ...(usd === undefined ? { unpricedCalls: 1 } : { usd }),
    ...(input === undefined || output === undefined ? { estimatedCalls: 1 } : {}),
  }
}

/** The total, or the sum of its parts where only these were told. */
function total<Part extends string>(
  told: Partial<Record<Part | "total", number | undefined>> | undefined,
  ...parts: Part[]
): number | undefined {
  const whole = count(told?.total)
  if (whole !== undefined) return whole
  const known = parts.map((part) => count(told?.[part])).filter((value) => value !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, value) => sum + value, 0)
}

/** What cannot be counted was not told: a reply that is paid for must not fail on it. */
function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined
}

function estimateOutput(content: readonly ReplyPart[]): number {
  let tokens = 0
  for (const part of content) {
    if (part.type === "text" || part.type === "reasoning") tokens += estimateTokens(part.text)
    else if (part.type === "tool-call") tokens += estimateTokens(part.name) + estimateTokens(part.args)
  }
  return tokens
}
