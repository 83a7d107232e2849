/** How well a node of a graph fits a question, by the words that both have. */
import { wordsOfGoal } from "../schema/words.ts"
import { isNaming } from "./graph-cypher.ts"
import type { GraphNode, GraphQuestion } from "./graph-database.ts"

const FEWEST_LETTERS = 3
const MOST_WORDS = 32

/** A question as a graph is searched for it. */
export function graphQuestion(text: string): GraphQuestion {
  const lower = text.normalize("NFC").toLowerCase()
  const all = lower.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  // Also of one thing and without marks; but only so, it would not be found where it is written as in the question.
  const telling = all.flatMap((word) => {
    const [plain] = wordsOfGoal(word)
    return plain === undefined ? [] : [word, plain]
  })
  // Shorter ones are in every text; as a name of their own they are found in the question.
  const long = telling.filter((word) => isUnspaced(word) || word.length >= FEWEST_LETTERS)
  const words = [...new Set(long.length > 0 ? long : telling)]
  return { text: lower, words: words.slice(0, MOST_WORDS) }
}

export interface ScoredNode {
  readonly node: GraphNode
  readonly score: number
}

/** The best first; those that have nothing of the question come last. */
export function scoredNodes(question: string, nodes: readonly GraphNode[]): ScoredNode[] {
  const words = [...new Set(wordsOfGoal(question))]
  const texts = nodes.map((node) => textsOf(node))
  const weights = new Map(words.map((word) => [word, weightOf(word, texts)]))
  const spoken = ` ${allWords(question).join(" ")} `
  const scored = nodes.map((node, index) => {
    const scores = (texts[index] ?? []).map((text) => scoreOf(text, weights, spoken, question.toLowerCase()))
    return { node, score: Math.max(0, ...scores) }
  })
  return scored.sort((a, b) => b.score - a.score || (a.node.id < b.node.id ? -1 : 1))
}

interface NodeText {
  readonly value: string
  readonly words: readonly string[]
  readonly isName: boolean
}

function textsOf({ properties }: GraphNode): NodeText[] {
  return Object.entries(properties).flatMap(([name, value]) =>
    typeof value === "string" ? [{ value, words: wordsOfGoal(value), isName: isNaming(name) }] : [],
  )
}

/** A word that many of the nodes have tells less. */
function weightOf(word: string, texts: readonly (readonly NodeText[])[]): number {
  const having = texts.filter((own) => own.some(({ words }) => words.includes(word))).length
  return 1 / Math.log2(1 + Math.max(1, having))
}

function scoreOf(
  { value, words, isName }: NodeText,
  weights: ReadonlyMap<string, number>,
  spoken: string,
  question: string,
): number {
  const own = new Set(words)
  const found = [...own].filter((word) => weights.has(word))
  const sum = found.reduce((total, word) => total + (weights.get(word) ?? 0), 0)
  const share = own.size === 0 ? 0 : found.length / own.size
  const score = isSpokenIn(value, words, spoken, question)
    ? 2 * Math.max(1, own.size) + sum
    : sum * (0.5 + 0.5 * share)
  return isName ? 1.5 * score : score
}

/** The whole text is in the question, as words of their own where words are apart. */
function isSpokenIn(value: string, telling: readonly string[], spoken: string, question: string): boolean {
  if (isUnspaced(value)) return question.includes(value.toLowerCase())
  const words = allWords(value)
  // "The Who" is a name; "IT" is mostly none.
  return (telling.length > 0 || words.length > 1) && spoken.includes(` ${words.join(" ")} `)
}

function allWords(text: string): string[] {
  return (
    text
      .normalize("NFC")
      .toLowerCase()
      .match(/[\p{L}\p{M}\p{N}]+/gu) ?? []
  )
}

function isUnspaced(text: string): boolean {
  return /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u.test(
    text,
  )
}
