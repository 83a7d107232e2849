import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { IdTable } from "./id-table.ts"

type Step = { readonly add: number } | { readonly remove: number }

/** Ids ascend by small steps, jump far ahead, or fall back, as those of a map's items do. */
const steps = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: fc.record({ add: fc.integer({ min: 1, max: 3 }) }) },
    { weight: 1, arbitrary: fc.record({ add: fc.integer({ min: -200, max: 500 }) }) },
    { weight: 6, arbitrary: fc.record({ remove: fc.nat({ max: 40 }) }) },
  ),
  { maxLength: 400 },
)

/** Removes by position among those that exist. */
function play(list: readonly Step[]): { table: IdTable<{ id: number }>; model: Map<number, { id: number }> } {
  const table = new IdTable<{ id: number }>()
  const model = new Map<number, { id: number }>()
  let last = 1_000
  for (const step of list) {
    if ("add" in step) {
      const id = last + step.add
      if (model.has(id)) continue
      last = Math.max(last, id)
      const item = { id }
      table.add(item)
      model.set(id, item)
    } else {
      const id = [...model.keys()][step.remove] ?? -1
      expect(table.delete(id)).toBe(model.delete(id))
    }
  }
  return { table, model }
}

describe("a table of items by id", () => {
  test("has the items of a map, in the same order", () => {
    fc.assert(
      fc.property(steps, (list) => {
        const { table, model } = play(list)
        expect([...table.values()]).toEqual([...model.values()])
        expect(table.size).toBe(model.size)
        for (let id = 700; id < 3_000; id++) expect(table.get(id)).toBe(model.get(id))
      }),
    )
  })

  test("keeps items that are added and removed in turns, however many there were", () => {
    const table = new IdTable<{ id: number }>()
    for (let id = 1; id <= 10_000; id++) {
      table.add({ id })
      if (id > 10) expect(table.delete(id - 10)).toBe(true)
    }
    expect([...table.values()].map(({ id }) => id)).toEqual([
      9_991, 9_992, 9_993, 9_994, 9_995, 9_996, 9_997, 9_998, 9_999, 10_000,
    ])
  })

  test("keeps an old item beside new ones", () => {
    const table = new IdTable<{ id: number }>()
    const old = { id: 1 }
    table.add(old)
    for (let id = 2; id <= 10_000; id++) {
      table.add({ id })
      table.delete(id - 1 === 1 ? -1 : id - 1)
    }
    expect(table.get(1)).toBe(old)
    expect([...table.values()].map(({ id }) => id)).toEqual([1, 10_000])
  })

  test("shows an iteration what is removed meanwhile as gone", () => {
    const table = new IdTable<{ id: number }>()
    for (const id of [1, 2, 3]) table.add({ id })
    const seen: number[] = []
    for (const { id } of table.values()) {
      seen.push(id)
      table.delete(2)
    }
    expect(seen).toEqual([1, 3])
    table.clear()
    expect([...table.values()]).toEqual([])
  })
})
