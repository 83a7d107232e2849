/**
 * What tokens cost. A model without a price is unknown, never free: its calls are counted as unpriced.
 * Rows of a user come before the built-in ones; of several patterns the one with the most letters of its own wins.
 */
import { SuperstepError } from "../core/index.ts"
import { KNOWN_PRICES } from "./known-prices.ts"

/** US dollars per million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  /** Input that the provider had in its cache. Absent: as `input`. */
  readonly cacheRead?: number | undefined
  /** Input that the provider put into its cache. Absent: as `input`. */
  readonly cacheWrite?: number | undefined
  /** What all of a call costs when its input is longer than `above` tokens, cached ones included. */
  readonly long?: (Omit<Price, "long"> & { readonly above: number }) | undefined
}

/** Patterns of `provider/model`, with `*` for any letters. `null`: the price is not known. */
export type Prices = Readonly<Record<string, Price | null>>

export interface TokenCounts {
  readonly input: number
  readonly output: number
  /** Parts of `input`. */
  readonly cacheRead?: number | undefined
  readonly cacheWrite?: number | undefined
}

export interface PriceTable {
  /** The price of `provider/model`, or undefined when it is not known. */
  priceOf(model: string): Price | undefined
  /** US dollars, or undefined when the price is not known. */
  cost(model: string, tokens: TokenCounts): number | undefined
}

interface Row {
  /** What stands between its stars. */
  readonly parts: readonly string[]
  /** How many letters of the pattern stand for themselves. */
  readonly letters: number
  readonly price: Price | null
}

const MILLION = 1_000_000
/** `gpt-5-2025-08-07`, `claude-sonnet-4-5-20250929`, `…-latest`: a dated version costs what its model costs. */
const VERSION = /-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$/

export function priceTable(overrides: Prices = {}): PriceTable {
  const own = rowsOf(overrides)
  const found = new Map<string, Price | undefined>()

  const look = (model: string): Price | undefined => {
    const row = best(own, model) ?? best(knownRows(), model) ?? best(knownRows(), model.replace(VERSION, ""))
    return row?.price ?? undefined
  }

  const priceOf = (model: string): Price | undefined => {
    if (!found.has(model)) found.set(model, look(model))
    return found.get(model)
  }

  return {
    priceOf,
    cost(model, tokens) {
      const usual = priceOf(model)
      if (usual === undefined) return undefined
      const price = usual.long !== undefined && tokens.input > usual.long.above ? usual.long : usual
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

let known: readonly Row[] | undefined

function knownRows(): readonly Row[] {
  known ??= rowsOf(KNOWN_PRICES)
  return known
}

function rowsOf(prices: Prices): Row[] {
  return Object.entries(prices).map(([text, price]) => {
    if (price !== null) check(text, price)
    const parts = text.split("*")
    return { parts, letters: parts.join("").length, price }
  })
}

function best(rows: readonly Row[], model: string): Row | undefined {
  let winner: Row | undefined
  for (const row of rows) {
    if (fitsParts(row.parts, model) && (winner === undefined || row.letters > winner.letters)) winner = row
  }
  return winner
}

/** Whether a name has the parts in their order, with anything between them. The first place of each part is the best one. */
function fitsParts(parts: readonly string[], model: string): boolean {
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
  checkParts(pattern, "", price)
  const { long } = price
  if (long === undefined) return
  checkParts(pattern, "long.", long)
  if (!isCount(long.above)) throw unusable(pattern, "long.above", "the tokens of input above which it holds")
}

function checkParts(pattern: string, within: string, price: Omit<Price, "long">): void {
  for (const part of ["input", "output", "cacheRead", "cacheWrite"] as const) {
    const value = price[part]
    const isNeeded = part === "input" || part === "output"
    if (value === undefined ? !isNeeded : isCount(value)) continue
    throw unusable(pattern, within + part, "US dollars per million tokens, or null for unknown")
  }
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0
}

function unusable(pattern: string, part: string, give: string): SuperstepError {
  const text = `The price of "${pattern}" has no usable "${part}": give ${give}.`
  return new SuperstepError("PRICE_INVALID", text, { retryable: false })
}
