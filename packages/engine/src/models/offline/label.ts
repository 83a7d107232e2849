/** Chooses one of several values by meaning: labels, routes, verdicts. */
import type { Knowledge } from "./knowledge.ts"
import { likenesses, type Option } from "./meaning.ts"
import { spaced } from "./words.ts"

/** When nothing speaks for any: what leaves things open, then what lets work come to its end. */
const OPEN = /^(?:unknown|other|general|default|none|neutral|medium|normal|mixed|unclear|n\/?a|misc)$/i
const ENDING =
  /^(?:accept(?:ed)?|approved?|yes|ok|pass(?:ed)?|done|complete(?:d)?|finish(?:ed)?|end|synthesi[sz]e|stop|success|true|valid)$/i

interface Label {
  readonly value: unknown
  readonly description?: string | undefined
}

/** The labels' indexes, most fitting first. `isMeant` is false when nothing spoke for the first. */
export function orderLabels(
  labels: readonly Label[],
  about: string,
  knowledge: Knowledge,
): { order: number[]; isMeant: boolean } {
  const options = labels.map(({ value, description }) =>
    optionOf(value, description, `${about}\n${knowledge.instructions}`),
  )
  let scores = likenesses(knowledge.request, options).map(({ score }) => score)
  if (Math.max(0, ...scores) === 0 && !knowledge.isForTool) {
    scores = likenesses(knowledge.context.slice(0, 4_000), options).map(({ score }) => score)
  }
  const isMeant = Math.max(0, ...scores) > 0
  const rated = labels.map(({ value }, index) => ({
    index,
    score: scores[index] ?? 0,
    rest: restingPlace(value),
  }))
  rated.sort((a, b) => b.score - a.score || b.rest - a.rest || a.index - b.index)
  return { order: rated.map(({ index }) => index), isMeant }
}

function restingPlace(value: unknown): number {
  const name = String(value)
  return OPEN.test(name) ? 2 : ENDING.test(name) ? 1 : 0
}

/** A label with what is said about it: `billing: invoices and refunds` in a description or in the instructions. */
export function optionOf(value: unknown, description: string | undefined, about: string): Option {
  const name = String(value)
  if (description !== undefined) return { name, description }
  const word = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")
  const pattern = new RegExp(
    String.raw`(?<![\p{L}\p{N}])${word}["'\x60*]{0,3}\s{0,3}(?:[:=(—–-]|for|if|when|handles)\s{0,3}([^\n;]{3,200})`,
    "iu",
  )
  const found = name === "" ? undefined : pattern.exec(about)?.[1]
  return { name: spaced(name), description: found }
}

/** Labels that a description or the instructions list for a field: `Intents: search, general or unknown.` */
export function listedLabels(name: string, text: string): string[] {
  const words = spaced(name).replace(/s$/i, "")
  if (words.length < 3) return []
  const field = words.replaceAll(" ", "[\\s_-]*")
  const item = String.raw`["'\x60*]{0,3}[\w-]{2,40}["'\x60*]{0,3}`
  const list = String.raw`(${item}(?:(?:\s{0,2}[,|/]\s{0,2}(?:or\s|and\s)?|\s(?:or|and)\s)${item})+)`
  const pattern = new RegExp(
    String.raw`(?<![\p{L}\p{N}])${field}s?(?:\s[^.:\n]{0,40})?(?::|\bof\b|\bbe\b)\s{0,3}${list}\s{0,2}(?:[.;)\n]|$)`,
    "iu",
  )
  const found = pattern.exec(text)?.[1]
  return found === undefined
    ? []
    : found
        .split(/(?<!\s)\s*[,|/]\s*(?:or\s|and\s)?|\s(?:or|and)\s/)
        .map((label) => label.replace(/["'\x60*]/g, ""))
}
