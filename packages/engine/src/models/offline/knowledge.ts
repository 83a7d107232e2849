/** What JSON is filled in from: the request, the context, and the answer that would be given in words. */
import { answer as answerTo } from "./answer.ts"
import { type Found, rank } from "./rank.ts"
import type { Reading } from "./reading.ts"

export interface Knowledge {
  readonly request: string
  readonly instructions: string
  /** The context as one text, cut to a size that is quick to look through. */
  readonly context: string
  /** Something was given or found that can be quoted. */
  readonly hasEvidence: boolean
  /** Somebody has answered already. */
  readonly isAnswered: boolean
  /** True: a tool's arguments, which come from the request before anything else. */
  readonly isForTool: boolean
  /** The answer in words, without its list of sources. */
  answer(): string
  sources(): readonly string[]
  /** The answer sentence by sentence, without marks. */
  lines(): readonly string[]
  /** How much of the request the context covers: 0 to 1. */
  coverage(): number
  /** Sentences of the context on a subject, best first. */
  sentences(about: string): readonly string[]
  /** Fields that had to be made up, since nothing in the text fits them. */
  readonly madeUp: string[]
  /** Clues that another field has taken. */
  readonly taken: Set<string>
}

const LOOKED_THROUGH = 20_000

export function knowledgeOf(reading: Reading, isForTool: boolean): Knowledge {
  const { request, passages } = reading
  const given = passages.filter(({ weight }) => weight >= 1)
  const asked = new Map<string, readonly string[]>()
  const once = <T>(make: () => T): (() => T) => {
    let made: { readonly value: T } | undefined
    return () => {
      made ??= { value: make() }
      return made.value
    }
  }
  const said = once(() => answerTo(reading))
  const ranked = once((): Found[] => rank(request, "any", passages))
  const answer = once(() => said().text.replace(/\n\nSources:\n(?:\[\d+\] [^\n]*\n?)+$/, ""))
  return {
    request,
    instructions: reading.instructions,
    context: joined(given.length > 0 ? given : passages),
    hasEvidence: given.length > 0,
    isAnswered: reading.isAnswered,
    isForTool,
    answer,
    lines: once(() =>
      answer()
        .split("\n")
        .map((line) => line.replace(/(?: ?\[\d{1,3}\])+$/, ""))
        .filter((line) => !line.endsWith("It says:")),
    ),
    sources: once(() => {
      const cited = said().sources.map(({ name }) => name)
      const named = given.flatMap(({ source }) => source ?? [])
      return [...new Set(cited.length > 0 ? cited : named)]
    }),
    coverage: () => ranked()[0]?.coverage ?? 0,
    sentences(about) {
      const known = asked.get(about)
      if (known !== undefined) return known
      const found = rank(about, "any", passages, 12).map(({ text }) => text.replace(/\s+/g, " "))
      asked.set(about, found)
      return found
    },
    madeUp: [],
    taken: new Set(),
  }
}

function joined(passages: Reading["passages"]): string {
  let text = ""
  for (const passage of passages) {
    if (text.length >= LOOKED_THROUGH) break
    text += `${passage.text.slice(0, LOOKED_THROUGH - text.length)}\n`
  }
  return text
}
