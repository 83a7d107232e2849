/**
 * Ranks databases, documents and graphs for a question.
 *
 * score = relevance × fit. The relevance of a source is how well it covers the words of the question (question.ts) and,
 * with embeddings, how near it is in meaning (meaning.ts). The fit is whether its kind can answer the form of the
 * question: tables contain figures, texts contain explanations. Nothing is opened before the first ranking.
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
import { type Candidate, databaseCandidate, retrieverCandidate } from "./candidates.ts"
import { type Meaning, meaningOf } from "./meaning.ts"
import { coverage, type Question, readQuestion, type Strengths, wordWeights } from "./question.ts"

export interface SourceRankerOptions {
  /** Also ranks by meaning. Called when a ranking first needs them. */
  readonly embeddings?: Embeddings | (() => Promise<Embeddings | undefined>) | undefined
  /** A folder to cache vectors for later processes. Default: no cache. */
  readonly cache?: string | undefined
}

/** The weight of meaning, relative to words with weight 1. */
const NEAR = 0.2
/** The weight of the question's form, by its words and by its meaning. */
const FORM = { words: 0.7, meaning: 0.6 }
/** The factor for a source whose kind does not fit the form. */
const UNFIT = 0.25
const MAX_PLACES = 5

export function sourceRanker(sources: Sources, options: SourceRankerOptions = {}): SourceRanker {
  const rank = candidateRanker(options)
  return {
    async rank(goal, ask = {}): Promise<SourceRanking> {
      const { ranked, failed } = await rank(sources, goal, ask)
      return {
        sources: ranked.map(({ candidate, score, near, problem }) => {
          const { kind, id, name, summary } = candidate
          return { kind, id, name, score, reason: `${reasonOf(candidate, near, problem)}.`, summary }
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
  /** Why the embeddings could not be used. */
  readonly problem?: string | undefined
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
    const asked = [...candidatesOf(sources, goal, question, ask)]
    const settled = await Promise.allSettled(asked.map(([, looked]) => looked))
    ask.signal?.throwIfAborted()
    const candidates = settled.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []))
    const failed = settled.flatMap((one, i) =>
      one.status === "rejected" ? [{ source: asked[i]?.[0] ?? "", error: one.reason as unknown }] : [],
    )
    loading ??= load()
    // A failed load may succeed later.
    const meaning = await loading.catch((error) => {
      loading = undefined
      return messageOf(error)
    })
    const ranked =
      typeof meaning === "string"
        ? (await rankCandidates(undefined, goal, question, candidates, ask)).map((one) => ({
            ...one,
            problem: meaning,
          }))
        : await rankCandidates(meaning, goal, question, candidates, ask)
    return { ranked, failed }
  }
}

function* candidatesOf(
  { databases, documents, graph }: Sources,
  goal: string,
  question: Question,
  ask: AskOptions,
): Generator<readonly [name: string, looked: Promise<Candidate>]> {
  for (const one of databases) yield [one.name, databaseCandidate(one, question, ask)]
  if (documents !== undefined)
    yield [documents.name, retrieverCandidate("documents", documents, goal, question, ask)]
  if (graph !== undefined) yield [graph.name, retrieverCandidate("graph", graph, goal, question, ask)]
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
    form: withMeaning,
    problem,
  } = await compareMeaning(meaning, goal, question, candidates, ask)
  const weights = wordWeights(question.words.length, strengths.flat())
  const form = formOf(question, withMeaning)
  return candidates
    .map((candidate, i) => {
      const words = coverage(weights, strengths[i] ?? [])
      const relevance = near[i] === undefined ? words : (words + NEAR * near[i]) / (1 + NEAR)
      return { candidate, score: relevance * fitOf(form, candidate.kind), near: near[i], problem }
    })
    .sort((one, other) => other.score - one.score)
}

/** From -1 (an explanation) to 1 (figures). */
function formOf({ form }: Question, withMeaning = 0): number {
  const said = { figures: 1, open: 0, explanation: -1 }[form]
  return Math.max(-1, Math.min(1, FORM.words * said + FORM.meaning * withMeaning))
}

/** Tables contain figures, texts contain explanations, graphs contain both. */
function fitOf(form: number, kind: RankedSource["kind"]): number {
  if (kind === "graph") return (1 + UNFIT) / 2
  const share = (1 + (kind === "database" ? form : -form)) / 2
  return UNFIT + (1 - UNFIT) * share
}

function reasonOf(
  { name, places }: Candidate,
  near: number | undefined,
  problem: string | undefined,
): string {
  const shown = places.slice(0, MAX_PLACES)
  const more = places.length - shown.length
  return [
    shown.length === 0 ? `${name} contains no word of the question` : shown.join("; "),
    more > 0 ? `; and ${more} more` : "",
    near === undefined ? "" : `; similarity of meaning ${near.toFixed(2)}`,
    problem === undefined ? "" : `; not compared by meaning: ${problem}`,
  ].join("")
}

// The contribution of embeddings to a ranking: the nearness of each source, and synonyms of the names in a table.

interface Compared {
  /** The strengths of the passages of each candidate, including matches by meaning. */
  readonly strengths: readonly (readonly Strengths[])[]
  /** The nearness of each candidate. Empty without embeddings. */
  readonly near: readonly number[]
  /** The form of the question by its meaning: -1 is an explanation, 1 is figures. */
  readonly form?: number | undefined
  /** Why the embeddings could not be used. */
  readonly problem?: string | undefined
}

/** The strength of a word that matches a word of a table only by meaning. */
const MEANT = 0.25
const MAX_CHARACTERS = 1_500
/** Maximum terms of one source to embed. */
const MAX_TERMS = 300
/** Milliseconds that a ranking waits for embeddings. Vectors that are ready by then are cached for the next ranking. */
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
    for (const candidate of candidates)
      strengths.push(await withMeaning(meaning, question, candidate, either))
    return { strengths, near, form }
  } catch (error) {
    signal?.throwIfAborted()
    const problem = late.aborted
      ? `the embeddings took longer than ${TIMEOUT / 1_000} seconds`
      : messageOf(error)
    return { strengths: plain, near: [], problem }
  } finally {
    await meaning.keep()
  }
}

/** The strengths of a candidate's passages, including words that match by meaning. */
async function withMeaning(
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

/** Chooses the database that a question is about: the best of the ranking. */

const TIES: readonly Database["kind"][] = ["postgresql", "mysql", "sqlite", "csv", "other"]
/** The minimum nearness of a database that contains no word of the question. */
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
        // A database that fails does not prevent the choice of another one, but it could have been the right one.
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
          `(score ${best.score.toFixed(2)}): ${reasonOf(best.candidate, best.near, best.problem)}`,
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
