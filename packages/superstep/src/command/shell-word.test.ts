import { expect, it } from "vitest"
import { shellWord } from "./shell-word.ts"

it.each([
  ["storks-1", "storks-1"],
  ["sqlite:/home/ada/runs.db", "sqlite:/home/ada/runs.db"],
  ["two words", "'two words'"],
  ["a#1/r1", "'a#1/r1'"],
  ["$HOME;ls", "'$HOME;ls'"],
  ["Ada's", "'Ada'\\''s'"],
  ["Störche", "'Störche'"],
  ["", "''"],
  ["a\x1B[2J", "'a␛[2J'"],
])("%j is written %s in a shell", (text, word) => expect(shellWord(text)).toBe(word))
