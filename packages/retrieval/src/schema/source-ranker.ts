/**
 * Ranks databases, documents and graphs for a question.
 *
 * score = relevance × fit. The relevance of a source is how well it covers the words of the question (question.ts) and, where
 * there are embeddings, how near it is in meaning (meaning.ts). The fit is whether its kind has what the question asks for:
 * figures are in tables, explanations in texts. Nothing is opened before the first ranking.
 */
import type {
  AskOptions,
  BestDatabase,
  Database,
  RankedSource,
  SchemaRetriever,
  SourceRanker,
  SourceRanking,
  Sources,
} from "@superstep/engine/patterns"
import { messageOf } from "../errors.ts"
import type { Embeddings } from "../index/embeddings/embeddings.ts"
import { type Candidate, lookAtDatabase, lookInto } from "./candidates.ts"
import { type Meaning, meaningOf } from "./meaning.ts"
import { coverage, type Question, readQuestion, type Strengths, wordWeights } from "./question.ts"

export interface SourceRankerOptions {
  /** Ranks by meaning too. Called when a ranking first needs them. */
  readonly embeddings?: Embeddings | (() => Promise<Embeddings | undefined>) | undefined
  /** A folder where vectors are kept from one process to the next. Default: they are not. */
  readonly cache?: string | undefined
}

/** What nearness of meaning counts beside the words, which count 1. */
const NEAR = 0.2
/** What the form of the question counts by its words, and by its meaning. */
const FORM = { words: 0.7, meaning: 0.6 }
/** What is left of the score of a source whose kind does not fit the form. */
const UNFIT = 0.25
const MAX_PLACES = 5

export function sourceRanker(sources: Sources, options: SourceRankerOptions = {}): SourceRanker {
  const rank = candidateRanker(options)
  return {
    async rank(goal, ask = {}): Promise<SourceRanking> {
      const { ranked, failed } = await rank(sources, goal, ask)
      return {
        sources: ranked.map(({ candidate, score, near, trouble }) => {
          const { kind, id, name, summary } = candidate
          return { kind, id, name, score, reason: `${reasonOf(candidate, near, trouble)}.`, summary }
        }),
        failed: failed.map(({ source, error }) => ({ source, reason: messageOf(error) })),
      }
    },
  }
}

interface RankedCandidate {
  readonly candidate: Candidate
  readonly score: number
  readonly near?: number | undefined
  /** Why the embeddings could not be asked. */
  readonly trouble?: string | undefined
}

interface CandidateRanking {
  readonly ranked: readonly RankedCandidate[]
  readonly failed: readonly { readonly source: string; readonly error: unknown }[]
}

function candidateRanker({ embeddings, cache }: SourceRankerOptions) {
  let loading: Promise<Meaning | undefined> | undefined
  const load = async () => {
    const found = typeof embeddings === "function" ? await embeddings() : embeddings
    return found && meaningOf(found, cache)
  }
  return async (sources: Sources, goal: string, ask: AskOptions): Promise<CandidateRanking> => {
    const question = readQuestion(goal)
    const asked = [...lookAt(sources, goal, question, ask)]
    const settled = await Promise.allSettled(asked.map(([, looked]) => looked))
    ask.signal?.throwIfAborted()
    const candidates = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
    const failed = settled.flatMap((one, i) =>
      one.status === "rejected" ? [{ source: asked[i]?.[0] ?? "", error: one.reason as unknown }] : [],
    )
    loading ??= load()
    // What cannot be loaded now may be later.
    const meaning = await loading.catch((error) => {
      loading = undefined
      return messageOf(error)
    })
    const ranked =
      typeof meaning === "string"
        ? (await rankCandidates(undefined, goal, question, candidates, ask)).map((one) => ({
            ...one,
            trouble: meaning,
          }))
        : await rankCandidates(meaning, goal, question, candidates, ask)
    return { ranked, failed }
  }
}

function* lookAt(
  { databases, documents, graph }: Sources,
  goal: string,
  question: Question,
  ask: AskOptions,
): Generator<readonly [name: string, looked: Promise<Candidate>]> {
  for (const one of databases) yield [one.name, lookAtDatabase(one, question, ask)]
  if (documents !== undefined) yield [documents.name, lookInto("documents", documents, goal, question, ask)]
  if (graph !== undefined) yield [graph.name, lookInto("graph", graph, goal, question, ask)]
}

async function rankCandidates(
  meaning: Meaning | undefined,
  goal: string,
  question: Question,
  candidates: readonly Candidate[],
  ask: AskOptions,
): Promise<RankedCandidate[]> {
  const {
    strengths,
    near,
    form: meant,
    trouble,
  } = await compareMeaning(meaning, goal, question, candidates, ask)
  const weights = wordWeights(question.words.length, strengths.flat())
  const form = formOf(question, meant)
  return candidates
    .map((candidate, i) => {
      const words = coverage(weights, strengths[i] ?? [])
      const relevance = near[i] === undefined ? words : (words + NEAR * near[i]) / (1 + NEAR)
      return { candidate, score: relevance * fitOf(form, candidate.kind), near: near[i], trouble }
    })
    .sort((one, other) => other.score - one.score)
}

/** From -1, an explanation, to 1, figures. */
function formOf({ form }: Question, meant = 0): number {
  const said = { figures: 1, open: 0, explanation: -1 }[form]
  return Math.max(-1, Math.min(1, FORM.words * said + FORM.meaning * meant))
}

/** Figures are in tables, explanations in texts; graphs have both. */
function fitOf(form: number, kind: RankedSource["kind"]): number {
  if (kind === "graph") return (1 + UNFIT) / 2
  const share = (1 + (kind === "database" ? form : -form)) / 2
  return UNFIT + (1 - UNFIT) * share
}

function reasonOf(
  { name, places }: Candidate,
  near: number | undefined,
  trouble: string | undefined,
): string {
  const shown = places.slice(0, MAX_PLACES)
  const more = places.length - shown.length
  return [
    shown.length === 0 ? `${name} contains no word of the question` : shown.join("; "),
    more > 0 ? `; and ${more} more` : "",
    near === undefined ? "" : `; similarity of meaning ${near.toFixed(2)}`,
    trouble === undefined ? "" : `; not compared by meaning: ${trouble}`,
  ].join("")
}

// What embeddings add to a ranking: the distance of each source, and synonyms of the names in a table.

interface Compared {
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

async function compareMeaning(
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

/** Which of several databases has what a question is about: the best of their ranking. */

const TIES: readonly Database["kind"][] = ["postgresql", "mysql", "sqlite", "csv", "other"]
/** As near as this a database may have the answer though it contains no word of the question. */
const NEAR_ENOUGH = 0.5

export function schemaRetriever(
  databases: readonly Database[],
  options: SourceRankerOptions = {},
): SchemaRetriever {
  const rank = candidateRanker(options)
  return {
    async listDatabases() {
      return databases
    },
    async findBestDatabase(goal, ask = {}) {
      const { ranked, failed } = await rank({ databases }, goal, ask)
      const [best, second] = ranked.filter(isFound).toSorted(byScoreAndKind)
      const failures = failed.map(({ error }) => error)
      const database = best?.candidate.database
      if (best === undefined || database === undefined) {
        // One that cannot be asked does not keep the others from it; but it may be the one.
        if (failures.length > 1) throw new AggregateError(failures, failures.map(messageOf).join(" "))
        if (failures.length === 1) throw failures[0]
        return undefined
      }
      const tied = second?.score === best.score ? second.candidate.name : undefined
      const names = failed.map(({ source }) => source)
      return {
        database,
        score: best.score,
        reason: [
          `${database.name} matches best of ${databases.length} ${databases.length === 1 ? "database" : "databases"} `,
          `(score ${best.score.toFixed(2)}): ${reasonOf(best.candidate, best.near, best.trouble)}`,
          tied === undefined ? "" : `. ${tied} has the same score and ranks second`,
          names.length === 0 ? "" : `. Could not be queried: ${names.join(", ")}`,
          ".",
        ].join(""),
        ...(failed.length > 0 && {
          failed: failed.map(({ source, error }) => ({ source, reason: messageOf(error) })),
        }),
      } satisfies BestDatabase
    },
  }
}

function isFound({ candidate, score, near = 0 }: RankedCandidate): boolean {
  return score > 0 && (candidate.places.length > 0 || near >= NEAR_ENOUGH)
}

function byScoreAndKind(one: RankedCandidate, other: RankedCandidate): number {
  const place = ({ candidate }: RankedCandidate) => TIES.indexOf(candidate.database?.kind ?? "other")
  return other.score - one.score || place(one) - place(other)
}
