import { expect, test } from "vitest"
import { scoresOf, wordsOf } from "./words.ts"

test("words are found without case, accents and endings", () => {
  expect(wordsOf("The Café's deployments")).toEqual(wordsOf("the cafe s deployment"))
  expect(wordsOf("cities")).toEqual(wordsOf("city"))
  expect(wordsOf("cleaned")).toEqual(wordsOf("cleaning"))
  expect(wordsOf("shipping cancelled")).toEqual(wordsOf("ship cancel"))
  expect(wordsOf("selling")).toEqual(wordsOf("sell"))
  expect(wordsOf("ＡＢＣ")).toEqual(wordsOf("abc"))
  expect(wordsOf("")).toEqual([])
})

test("scripts without spaces are found by parts of a sentence", () => {
  const [fits, not] = scoresOf("東京", ["私は東京に住んでいます", "大阪は大きい"])
  expect(fits).toBeGreaterThan(0)
  expect(not).toBe(0)
})

test("a rare word counts more than a common one", () => {
  const scores = scoresOf("server atlas", ["a server", "another server", "server here", "atlas"])
  expect(Math.max(...scores)).toBe(scores[3])
})

test("saying a word more often does not help", () => {
  const [once, often] = scoresOf("tea", ["tea", "tea tea tea tea"])
  expect(once).toBe(often)
})
