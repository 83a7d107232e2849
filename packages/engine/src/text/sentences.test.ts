import { expect, test } from "vitest"
import { sentencesIn } from "./sentences.ts"

test("sentences end at their marks, with the numbers of their sources, and not at abbreviations", () => {
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
