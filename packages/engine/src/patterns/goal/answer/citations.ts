/**
 * Verifies the citations of an answer, and numbers the sources of all assistants as one list.
 *
 * C1 An answer cites only evidence that its writer received; other numbers are removed.
 * C2 A list of sources that the model wrote is removed: the sources are data of the run.
 * C3 An answer has no images and no links. An address stays if the evidence contains it, character by character.
 */
import { addressesIn, citedIn, mapCitations, ownWords } from "../../research/internal-markdown.ts"
import type { GoalBasis, LaneAnswer } from "../search/search-stages.ts"
import type { Evidence } from "./evidence.ts"

export interface Verified {
  readonly text: string
  /** Numbers of the evidence, in the order of citation. */
  readonly cited: readonly number[]
}

/** Data is returned unchanged, because no viewer renders it as Markdown. */
export function verifiedAnswer(answer: string, evidence: readonly Evidence[], isData = false): Verified {
  const known = (number: number) => number >= 1 && number <= evidence.length
  if (isData) return { text: answer, cited: citedIn(answer).filter(known) }
  const citable = evidence.map(({ location, title = "" }) => ({ url: location, title }))
  const addresses = knownAddresses(evidence)
  const own = ownWords(answer, citable, (address) => addresses.has(address))
  return { text: own === answer ? answer : own.trim(), cited: citedIn(own).filter(known) }
}

function knownAddresses(evidence: readonly Evidence[]): ReadonlySet<string> {
  const values = evidence.flatMap(({ location, text = "", rows = [] }) => [
    location,
    text,
    ...rows.flat().map((value) => (typeof value === "string" ? value : JSON.stringify(value))),
  ])
  return new Set(values.flatMap((value) => addressesIn(value).map(({ address }) => address)))
}

export interface GoalTexts extends GoalBasis {
  /** The texts of the answers, in order. */
  readonly texts: readonly string[]
}

/** Numbers the sources of all assistants as one list. A source that several received is one source. */
export function withBasis(answers: readonly LaneAnswer[]): GoalTexts {
  const list: { evidence: Evidence; key: string; citedBy: string[] }[] = []
  const texts = answers.map(({ target, text, evidence, cited = [] }) => {
    const places = evidence.map((one) => {
      const key = JSON.stringify([one.kind, one.source, one.location, one.query, one.text, one.rows])
      const known = list.findIndex((other) => other.key === key)
      return known >= 0 ? known : list.push({ evidence: one, key, citedBy: [] }) - 1
    })
    for (const number of cited) list[places[number - 1] ?? -1]?.citedBy.push(target)
    const isSame = places.every((place, i) => place === i)
    const numberOf = (number: number) => (places[number - 1] ?? number - 1) + 1
    return isSame ? text : mapCitations(text, numberOf)
  })
  return {
    texts,
    sources: list.map(({ evidence, citedBy }, i) => ({ number: i + 1, ...evidence, citedBy })),
    routes: answers.flatMap(({ routes }) => routes),
    uncited: answers.flatMap(({ target, cited }) => (cited?.length === 0 ? [target] : [])),
  }
}
