/** The sentences of some passages, and which of them have a root. The text is read once, however often it is asked. */
import type { Passage } from "./passage.ts"
import { eachSentence, isHeading } from "./sentences.ts"
import { WordIndex } from "./word-index.ts"
import { rootsOf, spaced } from "./words.ts"

export interface Sentence {
  readonly passage: Passage
  readonly start: number
  readonly end: number
  readonly words: number
}

interface SentenceIndex {
  readonly sentences: readonly Sentence[]
  readonly averageWords: number
  /** Numbers of the sentences that have the root. */
  withRoot(root: string): readonly number[]
  /** Numbers of the sentences whose heading, or whose source's name, has the root. */
  underRoot(root: string): readonly number[]
}

const MAX_SENTENCES = 50_000
const read = new WeakMap<readonly Passage[], SentenceIndex>()

export function sentencesIn(passages: readonly Passage[]): SentenceIndex {
  const known = read.get(passages)
  if (known !== undefined) return known
  const made = readAll(passages)
  read.set(passages, made)
  return made
}

function readAll(passages: readonly Passage[]): SentenceIndex {
  const index = new WordIndex()
  const under = new Map<string, number[]>()
  const sentences: Sentence[] = []
  let allWords = 0
  for (const passage of passages) {
    const { text, source } = passage
    const title = source === undefined ? [] : rootsOf(spaced(source))
    let above: readonly string[] = title
    eachSentence(text, (start, end) => {
      const number = sentences.length
      if (number >= MAX_SENTENCES) return
      const words = index.add(text, start, end, number)
      allWords += words
      sentences.push({ passage, start, end, words })
      for (const root of above) {
        const list = under.get(root)
        if (list === undefined) under.set(root, [number])
        else list.push(number)
      }
      if (text.charCodeAt(start) === HASH && isHeading(text.slice(start, end))) {
        above = [...title, ...rootsOf(text.slice(start, end))]
      }
    })
  }
  return {
    sentences,
    averageWords: Math.max(1, allWords / Math.max(1, sentences.length)),
    withRoot: (root) => index.withRoot(root),
    underRoot: (root) => under.get(root) ?? [],
  }
}

const HASH = 35
