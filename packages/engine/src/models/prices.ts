/**
 * The cost of tokens. A model without a price is unpriced, never free: its calls are counted as unpriced. A user's rows
 * override the built-in ones; of several matching patterns, the one with the most literal characters wins.
 *
 * The built-in rows are `model-prices.json`: the standard rates on its date, in the shape of models.dev. They were read
 * from the providers' own price pages or, if these were not available, from models.dev, LiteLLM, OpenRouter and GitHub
 * Copilot; the later source wins. Models sold at a temporary price and Azure, whose names are deployments, are left out.
 */
import { SuperstepError } from "../core/index.ts"
import data from "./model-prices.json" with { type: "json" }

/** US dollars per million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  /** Input read from the provider's cache. Default: as `input`. */
  readonly cacheRead?: number | undefined
  /** Input written to the provider's cache. Default: as `input`. */
  readonly cacheWrite?: number | undefined
  /** The rates of a whole call whose input is longer than `above` tokens, cached ones included. */
  readonly long?: (Omit<Price, "long"> & { readonly above: number }) | undefined
}

/** Prices by patterns of `provider/model`, with `*` for any characters. `null`: the price is unknown. */
export type Prices = Readonly<Record<string, Price | null>>

export interface TokenCounts {
  readonly input: number
  readonly output: number
  /** Parts of `input`. */
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
}

export interface PriceTable {
  /** The price of `provider/model`, or undefined if it is unknown. */
  priceOf(model: string): Price | undefined
  /** US dollars, or undefined if the price is unknown. */
  cost(model: string, tokens: TokenCounts): number | undefined
}

interface Row {
  /** The literal parts between the stars. */
  readonly parts: readonly string[]
  readonly literals: number
  readonly price: Price | null
}

const MILLION = 1_000_000
/** `gpt-5-2025-08-07`, `claude-sonnet-4-5-20250929`, `…-latest`: a dated version costs what its model costs. */
const VERSION = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/

export function priceTable(overrides: Prices = {}): PriceTable {
  const own = rowsOf(overrides)
  const found = new Map<string, Price | undefined>()

  const lookUp = (model: string): Price | undefined => {
    const row = best(own, model) ?? best(knownRows(), model) ?? best(knownRows(), model.replace(VERSION, ""))
    return row?.price ?? undefined
  }

  const priceOf = (model: string): Price | undefined => {
    if (!found.has(model)) found.set(model, lookUp(model))
    return found.get(model)
  }

  return {
    priceOf,
    cost(model, tokens) {
      const standard = priceOf(model)
      if (standard === undefined) return undefined
      const { long } = standard
      const price = long !== undefined && tokens.input > long.above ? long : standard
      const read = Math.min(tokens.cacheRead ?? 0, tokens.input)
      const written = Math.min(tokens.cacheWrite ?? 0, tokens.input - read)
      const sum =
        (tokens.input - read - written) * price.input +
        read * (price.cacheRead ?? price.input) +
        written * (price.cacheWrite ?? price.input) +
        tokens.output * price.output
      return sum / MILLION
    },
  }
}

let shared: PriceTable | undefined
let registered: readonly Prices[] = []

/** The default table, for calls without one of their own. */
export function defaultPrices(): PriceTable {
  shared ??= priceTable(Object.assign({}, ...registered))
  return shared
}

/** Registers prices for all calls of this process without their own table. Returns a function that removes them. */
export function registerPrices(prices: Prices): () => void {
  // Invalid prices are reported here, not at the first call.
  priceTable(prices)
  registered = [...registered, prices]
  shared = undefined
  return () => {
    registered = registered.filter((one) => one !== prices)
    shared = undefined
  }
}

export function registeredPrices(): readonly Prices[] {
  return registered
}

interface ModelsDevRates {
  readonly input: number
  readonly output: number
  readonly cache_read?: number
  readonly cache_write?: number
}

interface ModelsDevCost extends ModelsDevRates {
  readonly tiers?: readonly (ModelsDevRates & { readonly tier: { readonly size: number } })[]
}

const FREE: Price = { input: 0, output: 0 }
/** Local models and stand-ins, and names whose price differs from what the data file suggests. */
const EXCEPTIONS: Prices = {
  "ollama/*": FREE,
  "ollama/*cloud": null,
  "offline/*": FREE,
  "scripted/*": FREE,
  // The first version costs more than the later ones.
  "openai/gpt-4o-2024-05-13": null,
}

let known: readonly Row[] | undefined

function knownRows(): readonly Row[] {
  known ??= rowsOf({ ...dataPrices(), ...EXCEPTIONS })
  return known
}

function dataPrices(): Prices {
  const prices: Record<string, Price> = {}
  for (const [provider, { models }] of Object.entries(data.providers)) {
    for (const [model, { cost }] of Object.entries<{ readonly cost: ModelsDevCost }>(models)) {
      const [long] = cost.tiers ?? []
      prices[`${provider}/${model}`] = {
        ...ratesOf(cost),
        long: long === undefined ? undefined : { above: long.tier.size, ...ratesOf(long) },
      }
    }
  }
  return prices
}

function ratesOf({ input, output, cache_read, cache_write }: ModelsDevRates): Omit<Price, "long"> {
  return { input, output, cacheRead: cache_read, cacheWrite: cache_write }
}

function rowsOf(prices: Prices): Row[] {
  return Object.entries(prices).map(([pattern, price]) => {
    if (price !== null) check(pattern, price)
    const parts = pattern.split("*")
    return { parts, literals: parts.join("").length, price }
  })
}

function best(rows: readonly Row[], model: string): Row | undefined {
  let winner: Row | undefined
  for (const row of rows) {
    if (matchesParts(row.parts, model) && (winner === undefined || row.literals > winner.literals))
      winner = row
  }
  return winner
}

/**
 * Whether a name contains the parts in order, with anything between them. Greedy: the first position of a part is
 * optimal.
 */
function matchesParts(parts: readonly string[], model: string): boolean {
  const [first = "", ...rest] = parts
  const last = rest.pop()
  if (last === undefined) return model === first
  if (!model.startsWith(first)) return false
  let at = first.length
  for (const part of rest) {
    const found = model.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return model.length - last.length >= at && model.endsWith(last)
}

function check(pattern: string, price: Price): void {
  checkRates(pattern, "", price)
  const { long } = price
  if (long === undefined) return
  checkRates(pattern, "long.", long)
  if (!isAmount(long.above))
    throw unusable(pattern, "long.above", "the number of input tokens above which it applies")
}

function checkRates(pattern: string, within: string, price: Omit<Price, "long">): void {
  for (const rate of ["input", "output", "cacheRead", "cacheWrite"] as const) {
    const value = price[rate]
    const isRequired = rate === "input" || rate === "output"
    if (value === undefined ? !isRequired : isAmount(value)) continue
    throw unusable(pattern, within + rate, "US dollars per million tokens, or null for unknown")
  }
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0
}

function unusable(pattern: string, part: string, expected: string): SuperstepError {
  const text = `The price of "${pattern}" has no valid "${part}": set ${expected}.`
  return new SuperstepError("PRICE_INVALID", text, { retryable: false })
}
