/**
 * Prices of well-known models, in US dollars per million tokens at the standard rate, as they were in November 2026. They
 * change; give `priceTable` your own rows where they matter. A model that is not here is unknown: so is one that is sold at
 * a passing price (gpt-5.6-sol, until November 21, 2026), and Azure, where the name is that of a deployment.
 *
 * Looked up on November 16, 2026, in stored copies of that year: Anthropic's price list and the pages of its models
 * (platform.claude.com/docs/en/about-claude/pricing), OpenAI's pages of its models (developers.openai.com/api/docs/models),
 * and for models whose page was not at hand the lists of models.dev, LiteLLM, OpenRouter and GitHub Copilot, and texts that
 * quote those pages. Where copies differ, the later one holds.
 */
import type { Price, Prices } from "./prices.ts"

/** Without a price for writing to the cache: that costs what input costs. */
const gpt = (input: number, output: number, cacheRead: number): Price => ({ input, output, cacheRead })

/** OpenAI, from GPT-5.6 on: what is written to the cache costs a quarter more. */
const cached = (input: number, output: number, cacheRead: number): Price => ({
  ...gpt(input, output, cacheRead),
  cacheWrite: input * 1.25,
})

/** OpenAI, where the window is a million tokens: a long prompt makes all input twice as dear, and output half as much more. */
const withLongPrompts = (price: Price): Price => ({
  ...price,
  long: { above: 272_000, ...times(price, 2), output: price.output * 1.5 },
})

/** Anthropic: writing for five minutes costs a quarter more than input, reading mostly a tenth of it. */
const claude = (input: number, output: number, cacheRead = input / 10): Price => ({
  input,
  output,
  cacheRead,
  cacheWrite: input * 1.25,
})

function times({ input, output, cacheRead, cacheWrite }: Price, factor: number): Omit<Price, "long"> {
  return {
    input: input * factor,
    output: output * factor,
    ...(cacheRead === undefined ? {} : { cacheRead: cacheRead * factor }),
    ...(cacheWrite === undefined ? {} : { cacheWrite: cacheWrite * factor }),
  }
}

const HAIKU_5_5 = claude(0.1, 0.5)
const FREE: Price = { input: 0, output: 0 }

export const KNOWN_PRICES: Prices = {
  "openai/gpt-6.1-sol": withLongPrompts(cached(2, 10, 0.1)),
  "openai/gpt-6.1-terra": withLongPrompts(cached(1, 5, 0.05)),
  "openai/gpt-6-astra": withLongPrompts(cached(10, 50, 1)),
  "openai/gpt-6-sol": withLongPrompts(cached(2, 10, 0.2)),
  "openai/gpt-6-luna": withLongPrompts(cached(0.1, 0.5, 0.01)),
  "openai/gpt-5.6-terra": withLongPrompts(cached(2, 12, 0.2)),
  "openai/gpt-5.6-luna": withLongPrompts(cached(0.2, 1.2, 0.02)),
  "openai/gpt-5.5": withLongPrompts(gpt(5, 30, 0.5)),
  "openai/gpt-5.4": withLongPrompts(gpt(2.5, 15, 0.25)),
  "openai/gpt-5.4-mini": gpt(0.75, 4.5, 0.075),
  "openai/gpt-5.4-nano": gpt(0.2, 1.25, 0.02),
  "openai/gpt-5.2": gpt(1.75, 14, 0.175),
  "openai/gpt-5.1": gpt(1.25, 10, 0.125),
  "openai/gpt-5": gpt(1.25, 10, 0.125),
  "openai/gpt-5-mini": gpt(0.25, 2, 0.025),
  "openai/gpt-5-nano": gpt(0.05, 0.4, 0.005),
  "openai/gpt-4.1": gpt(2, 8, 0.5),
  "openai/gpt-4.1-mini": gpt(0.4, 1.6, 0.1),
  "openai/gpt-4.1-nano": gpt(0.1, 0.4, 0.025),
  "openai/gpt-4o": gpt(2.5, 10, 1.25),
  // Its first version costs more than those after it.
  "openai/gpt-4o-2024-05-13": null,
  "openai/gpt-4o-mini": gpt(0.15, 0.6, 0.075),
  "openai/o3": gpt(2, 8, 0.5),
  "openai/o4-mini": gpt(1.1, 4.4, 0.275),
  "anthropic/claude-fable-5-1": claude(10, 50, 0.25),
  "anthropic/claude-fable-5": claude(10, 50),
  "anthropic/claude-opus-5-5": claude(4, 20, 0.2),
  "anthropic/claude-opus-5": claude(5, 25),
  "anthropic/claude-opus-4-8": claude(5, 25),
  "anthropic/claude-opus-4-7": claude(5, 25),
  "anthropic/claude-opus-4-6": claude(5, 25),
  "anthropic/claude-opus-4-5": claude(5, 25),
  "anthropic/claude-opus-4-1": claude(15, 75),
  "anthropic/claude-opus-4": claude(15, 75),
  // Reading from the cache was 0.2 when it came out in September.
  "anthropic/claude-sonnet-5-5": claude(2, 10, 0.1),
  "anthropic/claude-sonnet-5": claude(2, 10),
  "anthropic/claude-sonnet-4-6": claude(3, 15),
  "anthropic/claude-sonnet-4-5": claude(3, 15),
  "anthropic/claude-sonnet-4": claude(3, 15),
  "anthropic/claude-haiku-5-5": { ...HAIKU_5_5, long: { above: 100_000, ...times(HAIKU_5_5, 5) } },
  "anthropic/claude-haiku-4-5": claude(1, 5),
  "anthropic/claude-3-5-haiku": claude(0.8, 4),
  // On one's own machine, and stand-ins.
  "ollama/*": FREE,
  "ollama/*cloud": null,
  "offline/*": FREE,
  "scripted/*": FREE,
}
