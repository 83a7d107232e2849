/**
 * Prices of well-known models, in US dollars per million tokens: standard rates for prompts of ordinary length, as the
 * providers listed them in April 2026. They change; give `priceTable` your own rows where they matter. A model that is not
 * here is unknown. So is Azure, where the name is that of a deployment.
 */
import type { Prices } from "./prices.ts"

const price = (input: number, output: number, cacheRead: number) => ({ input, output, cacheRead })

/** Writing to the cache costs a quarter more than reading plainly, reading from it a tenth. */
const claude = (input: number, output: number) => ({
  input,
  output,
  cacheRead: input / 10,
  cacheWrite: input * 1.25,
})

const FREE = { input: 0, output: 0 }

export const KNOWN_PRICES: Prices = {
  "openai/gpt-5.4": price(2.5, 15, 0.25),
  "openai/gpt-5.4-mini": price(0.75, 4.5, 0.075),
  "openai/gpt-5.4-nano": price(0.2, 1.25, 0.02),
  "openai/gpt-5.2": price(1.75, 14, 0.175),
  "openai/gpt-5.1": price(1.25, 10, 0.125),
  "openai/gpt-5": price(1.25, 10, 0.125),
  "openai/gpt-5-mini": price(0.25, 2, 0.025),
  "openai/gpt-5-nano": price(0.05, 0.4, 0.005),
  "openai/gpt-4.1": price(2, 8, 0.5),
  "openai/gpt-4.1-mini": price(0.4, 1.6, 0.1),
  "openai/gpt-4.1-nano": price(0.1, 0.4, 0.025),
  "openai/gpt-4o": price(2.5, 10, 1.25),
  "openai/gpt-4o-mini": price(0.15, 0.6, 0.075),
  "openai/o3": price(2, 8, 0.5),
  "openai/o4-mini": price(1.1, 4.4, 0.275),
  "anthropic/claude-opus-4-6": claude(5, 25),
  "anthropic/claude-opus-4-5": claude(5, 25),
  "anthropic/claude-opus-4-1": claude(15, 75),
  "anthropic/claude-opus-4": claude(15, 75),
  "anthropic/claude-sonnet-4-6": claude(3, 15),
  "anthropic/claude-sonnet-4-5": claude(3, 15),
  "anthropic/claude-sonnet-4": claude(3, 15),
  "anthropic/claude-haiku-4-5": claude(1, 5),
  "anthropic/claude-3-5-haiku": claude(0.8, 4),
  // On one's own machine, and stand-ins.
  "ollama/*": FREE,
  "ollama/*cloud": null,
  "offline/*": FREE,
  "scripted/*": FREE,
}
