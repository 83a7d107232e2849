import { expect, test } from "vitest"
import { scoresOf, sentencesIn, wordsOf } from "./prose.ts"

test("words are found without case, accents and endings", () => {
  expect(wordsOf("The Café's deployments")).toEqual(wordsOf("the cafe s deployment"))
  expect(wordsOf("cities")).toEqual(wordsOf("city"))
  expect(wordsOf("cleaned")).toEqual(wordsOf("cleaning"))
  expect(wordsOf("shipping cancelled")).toEqual(wordsOf("ship cancel"))
  expect(wordsOf("selling")).toEqual(wordsOf("sell"))
  expect(wordsOf("ＡＢＣ")).toEqual(wordsOf("abc"))
  expect(wordsOf("")).toEqual([])
})

test("text in scripts without spaces is found by parts of a sentence", () => {
  const [fits, not] = scoresOf("東京", ["私は東京に住んでいます", "大阪は大きい"])
  expect(fits).toBeGreaterThan(0)
  expect(not).toBe(0)
})

test("a rare word counts more than a common one", () => {
  const scores = scoresOf("server atlas", ["a server", "another server", "server here", "atlas"])
  expect(Math.max(...scores)).toBe(scores[3])
})

test("repeating a word does not increase the score", () => {
  const [once, often] = scoresOf("tea", ["tea", "tea tea tea tea"])
  expect(once).toBe(often)
})

test("sentences end at punctuation, with the numbers of their sources, and not at abbreviations", () => {
  expect(
    sentencesIn("Dr. Ada came at 3.5 pm. [1] She left, e.g. by train! Why? 东京很大。巴黎也大。"),
  ).toEqual(["Dr. Ada came at 3.5 pm. [1]", "She left, e.g. by train!", "Why?", "东京很大。", "巴黎也大。"])
})

test("a wrapped line continues; headings, list items, rows and relationships stand alone", () => {
  const text = `# Storks
White storks build their nests on roofs, on chimneys
and on poles. They come back
in March.

- name: VW ID. Buzz, fuel: electric
- frogs
Ada -[LEADS]-> Aurora (Project) {aim: a tent that weighs little}
Bob -[WORKS_ON]-> Aurora`
  expect(sentencesIn(text)).toEqual([
    "# Storks",
    "White storks build their nests on roofs, on chimneys and on poles.",
    "They come back in March.",
    "- name: VW ID. Buzz, fuel: electric",
    "- frogs",
    "Ada -[LEADS]-> Aurora (Project) {aim: a tent that weighs little}",
    "Bob -[WORKS_ON]-> Aurora",
  ])
})
