import { expect, test } from "vitest"
import { abbreviationScore, initialsOf } from "./table-matches.ts"

test.each([
  ["pat", "patient"],
  ["adm", "admission"],
  ["stk", "stock"],
  ["qty", "quantity"],
  ["dept", "department"],
  ["addr", "address"],
  ["mgr", "manager"],
  ["acct", "account"],
  ["amt", "amount"],
  ["dt", "date"],
  ["cust", "customer"],
])("%s abbreviates %s", (piece, word) => {
  expect(abbreviationScore(piece, word)).toBeGreaterThan(0.3)
})

test.each([
  ["pat", "stock"],
  ["qty", "patient"],
  ["id", "date"],
  ["tier", "stairs"],
  ["room", "reservation"],
  ["patient", "pat"],
  ["x", "xylophone"],
  ["ate", "admission date"],
])("%s does not abbreviate %s", (piece, word) => {
  expect(abbreviationScore(piece, word)).toBe(0)
})

test("the more of a word is kept, the higher the score", () => {
  expect(abbreviationScore("pati", "patient")).toBeGreaterThan(abbreviationScore("pat", "patient"))
  expect(abbreviationScore("pat", "patient")).toBeGreaterThan(abbreviationScore("pa", "patient"))
  expect(abbreviationScore("vssl", "vessel")).toBeGreaterThan(abbreviationScore("vl", "vessel"))
})

test("initials belong to consecutive words", () => {
  const words = ["what", "is", "the", "date", "of", "birth"]
  expect(initialsOf("dob", words)).toEqual([3, 4, 5])
  expect(initialsOf("db", words)).toBeUndefined()
  expect(initialsOf("d", words)).toBeUndefined()
})
