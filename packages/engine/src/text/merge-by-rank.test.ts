import { expect, test } from "vitest"
import { mergeByRank } from "./nearest.ts"

test("orders are merged by rank: 1 / (60 + rank), summed", () => {
  const merged = mergeByRank(
    [
      ["a", "b", "c"],
      ["c", "d"],
    ],
    (item) => item,
  )
  expect(merged.map(({ item }) => item)).toEqual(["c", "a", "b", "d"])
  expect(merged[0]?.score).toBeCloseTo(1 / 63 + 1 / 61)
  expect(merged[1]?.score).toBeCloseTo(1 / 61)
  expect(mergeByRank([[], []], (item) => item)).toEqual([])
})

test("items with the same key are one item, the first of them; equals keep the order of the searches", () => {
  const [one, same, other] = [
    { id: 1, from: "words" },
    { id: 1, from: "vectors" },
    { id: 2, from: "vectors" },
  ]
  expect(mergeByRank([[one], [same]], ({ id }) => id).map(({ item }) => item)).toEqual([one])
  expect(mergeByRank([[other], [one]], ({ id }) => id).map(({ item }) => item)).toEqual([other, one])
})
