/** How near an option (a tool, a route, a label) is to a request: shared words, then shared concepts. */
import { conceptsOf } from "./concepts.ts"
import { rootsOf, spaced } from "./words.ts"

export interface Option {
  readonly name: string
  readonly description?: string | undefined
  /** More names that speak for it: a tool's parameters. */
  readonly also?: readonly string[] | undefined
}

export interface Likeness {
  readonly score: number
  /** Roots of the request that the option's name shares, in words or in concept. */
  readonly named: readonly string[]
  /** Roots of the request that spoke for it at all. */
  readonly heard: readonly string[]
}

const NAME = 3
const DESCRIPTION = 1
const ALSO = 0.5
const CONCEPT = 0.5

/** Words that describe any tool or agent, and so tell none from another. */
const EMPTY = new Set(
  rootsOf(
    "tool use user agent when given return result call input output string value answer question help task handle handles handoff hand transfer route specialist expert assistant information current conversation",
  ),
)

/** One likeness per option. A word that speaks for several options counts less for each. */
export function likenesses(request: string, options: readonly Option[]): Likeness[] {
  const asked = rootsOf(request).filter((root) => !EMPTY.has(root))
  const voices = options.map(voicesOf)
  return voices.map((own) => {
    let score = 0
    const named: string[] = []
    const heard: string[] = []
    for (const root of asked) {
      const strength = own(root)
      if (strength === 0) continue
      const rivals = voices.reduce((count, other) => count + (other(root) >= strength ? 1 : 0), 0)
      score += strength / rivals
      heard.push(root)
      if (strength >= NAME * CONCEPT) named.push(root)
    }
    return { score, named, heard }
  })
}

/** Index of the highest, or -1 when none is above 0. */
export function best(scores: readonly number[]): number {
  let at = -1
  let top = 0
  scores.forEach((score, index) => {
    if (score <= top) return
    top = score
    at = index
  })
  return at
}

/** How loudly an option answers to a root. */
function voicesOf({ name, description = "", also = [] }: Option): (root: string) => number {
  const words = new Map<string, number>()
  const concepts = new Map<number, number>()
  const learn = (text: string, weight: number) => {
    for (const root of rootsOf(text)) {
      if (EMPTY.has(root)) continue
      if ((words.get(root) ?? 0) < weight) words.set(root, weight)
      for (const concept of conceptsOf(root)) {
        if ((concepts.get(concept) ?? 0) < weight) concepts.set(concept, weight)
      }
    }
  }
  learn(spaced(name), NAME)
  learn(description, DESCRIPTION)
  for (const word of also) learn(spaced(word), ALSO)
  return (root) => {
    const heard = words.get(root) ?? 0
    const meant = Math.max(0, ...conceptsOf(root).map((concept) => concepts.get(concept) ?? 0))
    return Math.max(heard, meant * CONCEPT)
  }
}
