/** How well a node of a graph fits a question, by the words that both have. */
import { isUnspaced, wordsOfGoal } from "../words.ts"
import { type GraphQuestion, isNaming, type PropertyGraphNode } from "./graph-database.ts"

const FEWEST_LETTERS = 3
const MAX_WORDS = 32

/** A question as a graph is searched for it. */
export function graphQuestion(text: string): GraphQuestion {
  // Also of one thing and without marks; but only so, it would not be found where it is written as in the question.
  const telling = allWords(text).flatMap((word) => {
    const [plain] = wordsOfGoal(word)
    return plain === undefined ? [] : [word, plain]
  })
  // Shorter ones are in every text; as a name of their own they are found in the question.
  const long = telling.filter((word) => isUnspaced(word) || word.length >= FEWEST_LETTERS)
  const words = [...new Set(long.length > 0 ? long : telling)]
  return { text: lowered(text), words: words.slice(0, MAX_WORDS) }
}

export interface ScoredNode {
  readonly node: PropertyGraphNode
  readonly score: number
}

/** The best first; those that have nothing of the question come last. */
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

/** A question, to look for whole texts in it. */
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

/** A word that many of the nodes have counts less. */
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

/** The whole text is in the question, as words of their own where words are apart. */
function isSpokenIn({ value, words: telling }: NodeText, { spoken, lower }: Spoken): boolean {
  if (isUnspaced(value)) return lower.includes(lowered(value))
  const words = allWords(value)
  // "The Who" is a name; "IT" is mostly none.
  return (telling.size > 0 || words.length > 1) && spoken.includes(` ${words.join(" ")} `)
}

function allWords(text: string): string[] {
  return lowered(text).match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
}

function lowered(text: string): string {
  return text.normalize("NFC").toLowerCase()
}

const NUMBERS = new Intl.Collator("en", { numeric: true })

/** Databases give no order of their own, or another each time; ids are the order in which things were made, mostly. */
export function byId(a: { readonly id: string }, b: { readonly id: string }): number {
  return NUMBERS.compare(a.id, b.id) || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}
