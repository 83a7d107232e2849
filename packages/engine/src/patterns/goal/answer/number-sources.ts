/** Numbers the sources of all assistants as one list, and their citations with them. */
import { mapCitations } from "../../research/internal-markdown.ts"
import type { LaneAnswer } from "./answer-lane.ts"
import type { Evidence } from "./evidence.ts"
import type { GoalBasis } from "./goal-sources.ts"

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
