/** The sentences that stand for the passages when nothing in particular is asked: the first telling one of each, then more. */
import type { Passage } from "./passage.ts"
import type { Found } from "./rank.ts"
import { eachSentence, isHeading } from "./sentences.ts"

const READ = 20_000

export function digest(passages: readonly Passage[], most: number): Found[] {
  const lists = passages.map((passage, index) => sentencesOf(passage, index, most))
  const picked: Found[] = []
  const seen = new Set<string>()
  for (let row = 0; picked.length < most && lists.some((list) => row < list.length); row++) {
    for (const list of lists) {
      const sentence = list[row]
      if (sentence === undefined || picked.length >= most || seen.has(sentence.text)) continue
      seen.add(sentence.text)
      picked.push(sentence)
    }
  }
  return picked.sort((a, b) => a.order - b.order)
}

function sentencesOf(passage: Passage, index: number, most: number): Found[] {
  const found: Found[] = []
  const text = passage.text.slice(0, READ)
  eachSentence(text, (start, end) => {
    if (found.length >= most) return
    const sentence = text.slice(start, end)
    if (sentence.length < 3 || isHeading(sentence) || /^[-=*_`|\s]+$/.test(sentence)) return
    found.push({ text: sentence, passage, order: index * READ + start, score: 1, coverage: 0 })
  })
  return found
}
