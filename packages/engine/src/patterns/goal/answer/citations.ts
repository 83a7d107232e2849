/**
 * Verifies the citations of an answer, and numbers the sources of all assistants as one list.
 *
 * C1 it cites only evidence that its writer was shown; other numbers are removed.
 * C2 a list of sources that the model wrote is removed: the sources are data of the run.
 * C3 it has no image and no link. An address stays if the evidence has it, character by character.
 */
import { addressesIn, citedIn, mapCitations, ownWords } from "../../research/internal-markdown.ts"
import type { Evidence } from "./evidence.ts"
import type { GoalBasis, LaneAnswer } from "./goal-sources.ts"

export interface Verified {
  readonly text: string
  /** Numbers of the evidence, in the order in which the text cites them. */
  readonly cited: readonly number[]
}

/** Data in place of text is not changed: no viewer takes it for Markdown. */
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
  /** Of each answer, in order. */
  readonly texts: readonly string[]
}

/** The answers of all assistants, numbered as one: a source that several were shown is one source. */
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
