import { expect, test } from "vitest"
import { initialsOf, standsFor } from "./table-matches.ts"

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
])("%s stands for %s", (piece, word) => {
  expect(standsFor(piece, word)).toBeGreaterThan(0.3)
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
])("%s does not stand for %s", (piece, word) => {
  expect(standsFor(piece, word)).toBe(0)
})

test("the more of a word is kept, the likelier it is meant", () => {
  expect(standsFor("pati", "patient")).toBeGreaterThan(standsFor("pat", "patient"))
  expect(standsFor("pat", "patient")).toBeGreaterThan(standsFor("pa", "patient"))
  expect(standsFor("vssl", "vessel")).toBeGreaterThan(standsFor("vl", "vessel"))
})

test("initials are of words that follow each other", () => {
  const words = ["what", "is", "the", "date", "of", "birth"]
  expect(initialsOf("dob", words)).toEqual([3, 4, 5])
  expect(initialsOf("db", words)).toBeUndefined()
  expect(initialsOf("d", words)).toBeUndefined()
})
