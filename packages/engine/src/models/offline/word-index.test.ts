import { expect, test } from "vitest"
import { WordIndex } from "./word-index.ts"
import { rootOf } from "./words.ts"

function indexOf(sentences: readonly string[]): WordIndex {
  const index = new WordIndex()
  sentences.forEach((sentence, number) => index.add(sentence, 0, sentence.length, number))
  return index
}

const found = (index: WordIndex, word: string) =>
  [...index.withRoot(rootOf(word) ?? "")].sort((a, b) => a - b)

test("all forms of a word are found, in any case and any script, each sentence once", () => {
  const index = indexOf([
    "Delivery, deliveries; DELIVERED!",
    "Nothing of it here.",
    "It delivers to İstanbul.",
    "注文は二日",
  ])
  expect(found(index, "deliver")).toEqual([0, 2])
  expect(found(index, "İstanbul")).toEqual([2])
  expect(found(index, "文")).toEqual([3])
  expect(found(index, "absent")).toEqual([])
})

test("words are counted where they stand, and only there", () => {
  const index = new WordIndex()
  const text = "one two, three 注文 four"
  expect(index.add(text, 4, 17, 0)).toBe(4)
  expect(found(index, "three")).toEqual([0])
  expect(found(index, "four")).toEqual([])
})

test("nothing is lost when there are many words and many places", () => {
  const names = Array.from({ length: 10_000 }, (_, number) => `n${number.toString(36)}q`)
  const index = indexOf(names.map((name, number) => `${name} everywhere w${number % 3}`))
  expect(found(index, "everywhere")).toHaveLength(10_000)
  expect(found(index, "w2")).toHaveLength(3_333)
  for (const number of [0, 2_047, 2_048, 4_096, 9_999]) {
    expect(found(index, names[number] ?? "")).toEqual([number])
  }
})
