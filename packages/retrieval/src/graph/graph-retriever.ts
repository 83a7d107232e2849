/** Searches a graph: finds the nodes that a question mentions, and returns them with their relationships. */
import type { Found, Retriever, SearchOptions } from "@superstep/engine/patterns"
import { wholeNumber } from "../errors.ts"
import { scaledRelevance } from "../index/search.ts"
import { isUnspaced, wordsOfGoal, wordsOfName } from "../words.ts"
import {
  type GraphDatabase,
  type GraphFindOptions,
  type GraphQuestion,
  type GraphRelationship,
  graphSchemaText,
  graphText,
  isNaming,
  nodeName,
  type PropertyGraphNode,
} from "./graph-database.ts"

export interface GraphRetrieverOptions {
  /** Default: the name of the graph. */
  readonly name?: string | undefined
  /** The distance in relationships that is shown around a node, 0 to 4. Default 2. */
  readonly depth?: number | undefined
  /** Maximum relationships per node, nearest first. Default 40. */
  readonly relationships?: number | undefined
  /** Maximum nodes of a search that sets no limit. Default 10. */
  readonly limit?: number | undefined
}

/** Candidates per wanted node and label. The scores here select the best of them. */
const CANDIDATES = 4

export function graphRetriever(graph: GraphDatabase, options: GraphRetrieverOptions = {}): Retriever {
  const { name = graph.name } = options
  const depth = wholeNumber("depth", options.depth ?? 2, 0, 4)
  const most = wholeNumber("relationships", options.relationships ?? 40, 1, 1_000)
  const usual = wholeNumber("limit", options.limit ?? 10, 1, 1_000)
  return {
    name,
    cypher: {
      schema: async (ask) => graphSchemaText(await graph.schema(ask)),
      query: (cypher, ask) => graph.query(cypher, ask),
    },
    async search(query: string, search: SearchOptions = {}): Promise<readonly Found[]> {
      const { signal } = search
      const limit = wholeNumber("limit", search.limit ?? usual, 1, 1_000)
      const late = new Set<string>()
      const found = await entities(graph, query, { limit, signal, onLate: (part) => late.add(part) })
      const words = new Set(wordsOfGoal(query))
      return Promise.all(
        found.map(async ({ node, score }): Promise<Found> => {
          const { around, isTruncated } = await neighbourhood(graph, node, { depth, most, words, signal })
          const source = `${graph.id}/${node.labels[0] ?? "node"}/${node.id}`
          const text = graphText(node, around, { isTruncated, late: [...late] })
          return { text, score, ...relevance(query, words, text), source, title: nodeName(node) }
        }),
      )
    },
  }
}

/** The minimum share of the question's words that a node and its neighbourhood must contain. */
const MIN_SHARE = 0.3

/** Unknown for scripts without spaces, whose words cannot be counted. */
function relevance(query: string, words: ReadonlySet<string>, text: string): Pick<Found, "relevance"> {
  if (isUnspaced(query) || words.size === 0) return {}
  const own = new Set(wordsOfName(text))
  const share = [...words].filter((word) => own.has(word)).length / words.size
  return { relevance: scaledRelevance(share, MIN_SHARE) }
}

/**
 * Nodes that the question names; else nodes of the kind that it asks for; else nodes that contain a part of one of its
 * words.
 */
async function entities(graph: GraphDatabase, query: string, { limit, signal, onLate }: GraphFindOptions) {
  const question = graphQuestion(query)
  if (question.words.length === 0) return []
  const options = { limit: CANDIDATES * limit, signal, onLate }
  const scored = scoredNodes(query, await graph.find(question, options))
  const named = scored.filter(({ score }) => score > 0)
  if (named.length > 0) return named.slice(0, limit)
  const words = new Set(wordsOfGoal(query))
  const { labels } = await graph.schema({ signal })
  const kinds = labels.map(({ name }) => name).filter((name) => isMentioned(wordsOfName(name), words))
  const isKind = kinds.length > 0
  const some = isKind
    ? [...(await graph.find({ text: "", words: [], labels: kinds }, { limit, signal, onLate }))].sort(byId)
    : scored.map(({ node }) => node)
  return some.slice(0, limit).map((node) => ({ node, score: isKind ? 0.1 : 0.05 }))
}

function isMentioned(name: readonly string[], words: ReadonlySet<string>): boolean {
  return name.length > 0 && name.every((word) => words.has(word))
}

interface NeighborSearch {
  readonly depth: number
  readonly most: number
  readonly words: ReadonlySet<string>
  readonly signal: AbortSignal | undefined
}

/** Relationships by distance. At the same distance, those that share words with the question are first. */
async function neighbourhood(
  graph: GraphDatabase,
  node: PropertyGraphNode,
  { depth, most, words, signal }: NeighborSearch,
) {
  const known = new Map<string, GraphRelationship>()
  const reached = new Map([[node.id, node]])
  let edge = [node]
  let isTruncated = false
  for (let step = 0; step < depth && edge.length > 0 && known.size <= most; step += 1) {
    // One more than are shown, in addition to known ones that appear again.
    const limit = most + known.size + 1
    const next = await graph.relationships(edge, { limit, signal })
    isTruncated ||= next.length >= limit
    const fresh = next.filter(({ id }) => !known.has(id))
    for (const one of byWords(fresh, words)) known.set(one.id, one)
    const ends = fresh.flatMap(({ from, to }) => [from, to])
    edge = [...new Map(ends.map((end) => [end.id, end])).values()].filter(({ id }) => !reached.has(id))
    for (const end of edge) reached.set(end.id, end)
  }
  const around = [...known.values()]
  return { around: around.slice(0, most), isTruncated: isTruncated || around.length > most }
}

function byWords(
  relationships: readonly GraphRelationship[],
  words: ReadonlySet<string>,
): GraphRelationship[] {
  const matches = ({ type, from, to }: GraphRelationship) =>
    [type, ...from.labels, ...to.labels, nodeName(from), nodeName(to)]
      .flatMap(wordsOfName)
      .filter((word) => words.has(word)).length
  return relationships
    .map((relationship) => ({ relationship, hits: matches(relationship) }))
    .sort((a, b) => b.hits - a.hits || byId(a.relationship, b.relationship))
    .map(({ relationship }) => relationship)
}

// Scores the nodes of a graph by the words that they share with the question.

const MIN_LETTERS = 3
const MAX_WORDS = 32

/** Prepares a question for the search of a graph. */
export function graphQuestion(text: string): GraphQuestion {
  // Adds the singular and the form without diacritics. The original form stays, because nodes may contain exactly that.
  const significant = allWords(text).flatMap((word) => {
    const [plain] = wordsOfGoal(word)
    return plain === undefined ? [] : [word, plain]
  })
  // Shorter words occur in every text. As names of their own they are found by `isSpokenIn`.
  const long = significant.filter((word) => isUnspaced(word) || word.length >= MIN_LETTERS)
  const words = [...new Set(long.length > 0 ? long : significant)]
  return { text: lowered(text), words: words.slice(0, MAX_WORDS) }
}

export interface ScoredNode {
  readonly node: PropertyGraphNode
  readonly score: number
}

/** The best nodes first. Those without a match come last. */
export function scoredNodes(question: string, nodes: readonly PropertyGraphNode[]): ScoredNode[] {
  const texts = nodes.map((node) => ({ node, own: textsOf(node) }))
  const weights = weightsOf(
    new Set(wordsOfGoal(question)),
    texts.map(({ own }) => own),
  )
  const asked = { spoken: ` ${allWords(question).join(" ")} `, lower: lowered(question) }
  const scored = texts.map(({ node, own }) => ({
    node,
    score: own.reduce((best, text) => Math.max(best, scoreOf(text, weights, asked)), 0),
  }))
  return scored.sort((a, b) => b.score - a.score || byId(a.node, b.node))
}

/** A question in the forms that whole texts are searched in. */
interface Spoken {
  /** Its words, each between spaces. */
  readonly spoken: string
  readonly lower: string
}

interface NodeText {
  readonly value: string
  readonly words: ReadonlySet<string>
  readonly isName: boolean
}

function textsOf({ properties }: PropertyGraphNode): NodeText[] {
  return Object.entries(properties).flatMap(([name, value]) =>
    typeof value === "string" ? [{ value, words: new Set(wordsOfGoal(value)), isName: isNaming(name) }] : [],
  )
}

/** A word that many of the nodes contain counts less. */
function weightsOf(
  words: ReadonlySet<string>,
  texts: readonly (readonly NodeText[])[],
): ReadonlyMap<string, number> {
  const having = new Map<string, number>()
  for (const own of texts) {
    const found = new Set(own.flatMap((text) => [...text.words].filter((word) => words.has(word))))
    for (const word of found) having.set(word, (having.get(word) ?? 0) + 1)
  }
  return new Map([...having].map(([word, count]) => [word, 1 / Math.log2(1 + count)]))
}

function scoreOf(text: NodeText, weights: ReadonlyMap<string, number>, asked: Spoken): number {
  const { size } = text.words
  const found = [...text.words].flatMap((word) => weights.get(word) ?? [])
  const sum = found.reduce((total, weight) => total + weight, 0)
  const share = size === 0 ? 0 : found.length / size
  const score = isSpokenIn(text, asked) ? 2 * Math.max(1, size) + sum : sum * (0.5 + 0.5 * share)
  return text.isName ? 1.5 * score : score
}

/** Whether the question contains the whole text, at word boundaries if the script has spaces. */
function isSpokenIn({ value, words: significant }: NodeText, { spoken, lower }: Spoken): boolean {
  if (isUnspaced(value)) return lower.includes(lowered(value))
  const words = allWords(value)
  // "The Who" is a name; "IT" mostly is not.
  return (significant.size > 0 || words.length > 1) && spoken.includes(` ${words.join(" ")} `)
}

function allWords(text: string): string[] {
  return lowered(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
}

function lowered(text: string): string {
  return text.normalize("NFC").toLowerCase()
}

const NUMBERS = new Intl.Collator("en", { numeric: true })

/**
 * Makes the order stable: databases return none, or a different one each time. Ids mostly follow the order of creation.
 */
function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return NUMBERS.compare(a.id, b.id) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
