/** What embeddings add to a ranking: how near each source is, and words that a table only has in other words. */
import type { AskOptions } from "@superstep/engine/patterns"
import { messageOf } from "../errors.ts"
import type { Candidate } from "./candidates.ts"
import type { Meaning } from "./meaning.ts"
import type { Strengths } from "./passages.ts"
import type { Question } from "./question.ts"

export interface Compared {
  /** The strengths of the passages of each candidate, with what is only meant. */
  readonly strengths: readonly (readonly Strengths[])[]
  /** How near each candidate is; empty where there are no embeddings. */
  readonly near: readonly number[]
  /** What the question asks for by its meaning: -1 an explanation, 1 figures. */
  readonly form?: number | undefined
  /** Why the embeddings could not be asked. */
  readonly trouble?: string | undefined
}

/** The strength of a word that only means what a word of a table means. */
const MEANT = 0.25
const MAX_CHARACTERS = 1_500
/** Terms of one source that are embedded. */
const MAX_TERMS = 300
/** Milliseconds that a ranking waits for embeddings. What they made by then is used by the next. */
const TIMEOUT = 20_000

export async function compareMeaning(
  meaning: Meaning | undefined,
  goal: string,
  question: Question,
  candidates: readonly Candidate[],
  { signal }: AskOptions,
): Promise<Compared> {
  const plain = candidates.map(({ passages }) => passages.map(({ strengths }) => strengths))
  if (meaning === undefined) return { strengths: plain, near: [] }
  const late = AbortSignal.timeout(TIMEOUT)
  const either = signal === undefined ? late : AbortSignal.any([signal, late])
  try {
    const form = await meaning.form(goal, either)
    const near = []
    for (const { kind, passages } of candidates) {
      const texts = passages.flatMap(({ text }) =>
        text === undefined ? [] : [text.slice(0, MAX_CHARACTERS)],
      )
      near.push(await meaning.nearness(goal, kind === "database" ? "table" : "passage", texts, either))
    }
    const strengths = []
    for (const candidate of candidates) strengths.push(await meant(meaning, question, candidate, either))
    return { strengths, near, form }
  } catch (error) {
    signal?.throwIfAborted()
    const trouble = late.aborted
      ? `the embeddings took longer than ${TIMEOUT / 1_000} seconds`
      : messageOf(error)
    return { strengths: plain, near: [], trouble }
  } finally {
    await meaning.keep()
  }
}

/** The strengths of a candidate's passages, with the words that they have in other words. */
async function meant(
  meaning: Meaning,
  { words }: Question,
  { passages }: Candidate,
  signal: AbortSignal,
): Promise<Strengths[]> {
  const wanted = words.map(({ text }) => text)
  const known = new Set<string>()
  const all: Strengths[] = []
  for (const { strengths, terms = [] } of passages) {
    const own = terms.filter((term) => known.has(term) || (known.size < MAX_TERMS && known.add(term)))
    const near = own.length === 0 ? [] : await meaning.wordNearness(wanted, own, signal)
    const more = new Map(strengths)
    for (const [word, value] of near.entries()) {
      if (MEANT * value > (more.get(word) ?? 0)) more.set(word, MEANT * value)
    }
    all.push(more)
  }
  return all
}
