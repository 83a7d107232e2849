import fc from "fast-check"
import { expect, test } from "vitest"
import {
  addMember,
  Fifo,
  NO_ENTRIES,
  NO_ITEMS,
  NO_MEMBERS,
  pushSized,
  putEntry,
  removeEntry,
  removeMember,
  SmallMap,
} from "./collections.ts"

test("gives back in the order it took", () => {
  const fifo = new Fifo<number>()
  for (const n of [1, 2, 3]) fifo.push(n)
  expect([fifo.shift(), fifo.shift()]).toEqual([1, 2])
  fifo.push(4)
  expect([fifo.shift(), fifo.shift(), fifo.shift()]).toEqual([3, 4, undefined])
})

test("knows its size and lists what it holds without giving it away", () => {
  const fifo = new Fifo<string>()
  expect(fifo.size).toBe(0)
  for (const s of ["a", "b", "c"]) fifo.push(s)
  fifo.shift()
  expect([...fifo]).toEqual(["b", "c"])
  expect(fifo.size).toBe(2)
})

test("is empty after clear, and can be used again", () => {
  const fifo = new Fifo<number>()
  fifo.push(1)
  fifo.clear()
  expect(fifo.size).toBe(0)
  expect(fifo.shift()).toBeUndefined()
  fifo.push(2)
  expect(fifo.shift()).toBe(2)
})

test("stays in order when it grows and shrinks past its compaction", () => {
  const fifo = new Fifo<number>()
  let pushed = 0
  let shifted = 0
  for (let round = 0; round < 50; round++) {
    for (let i = 0; i < 300; i++) fifo.push(pushed++)
    for (let i = 0; i < 280; i++) expect(fifo.shift()).toBe(shifted++)
    expect(fifo.size).toBe(pushed - shifted)
  }
  expect([...fifo]).toEqual(Array.from({ length: pushed - shifted }, (_, i) => shifted + i))
})

test("adding to a shared empty collection makes a new one, and removing from it finds nothing", () => {
  const list = pushSized<number>(NO_ITEMS, 1)
  const map = putEntry<string, number>(NO_ENTRIES, "a", 1)
  const set = addMember<string>(NO_MEMBERS, "a")
  expect([...list, ...map.values(), ...set]).toEqual([1, 1, "a"])
  expect([removeEntry<string>(NO_ENTRIES, "a"), removeMember<string>(NO_MEMBERS, "a")]).toEqual([
    false,
    false,
  ])
  expect([NO_ITEMS.length, NO_ENTRIES.size, NO_MEMBERS.size]).toEqual([0, 0, 0])
})

test("a collection of one's own is added to in place", () => {
  const map = putEntry<string, number>(NO_ENTRIES, "a", 1)
  const set = addMember<string>(NO_MEMBERS, "a")
  expect(putEntry(map, "b", 2)).toBe(map)
  expect(addMember(set, "b")).toBe(set)
  expect([removeEntry(map, "a"), removeMember(set, "a")]).toEqual([true, true])
  expect([...map, ...set]).toEqual([["b", 2], "b"])
})

test("a small map does what a map does, with none, one and many entries", () => {
  const key = fc.integer({ min: 1, max: 3 })
  const change = fc.oneof(
    fc.record({ do: fc.constant("set" as const), key, value: fc.nat() }),
    fc.record({ do: fc.constant("delete" as const), key }),
    fc.record({ do: fc.constant("clear" as const) }),
  )
  fc.assert(
    fc.property(fc.array(change), (changes) => {
      const [small, map] = [new SmallMap<number, number>(), new Map<number, number>()]
      for (const change of changes) {
        if (change.do === "set") for (const one of [small, map]) one.set(change.key, change.value)
        else if (change.do === "clear") for (const one of [small, map]) one.clear()
        else expect(small.delete(change.key)).toBe(map.delete(change.key))
        expect([...small]).toEqual([...map])
        expect([[...small.keys()], [...small.values()], small.size]).toEqual([
          [...map.keys()],
          [...map.values()],
          map.size,
        ])
        for (const key of [1, 2, 3]) {
          expect([small.get(key), small.has(key)]).toEqual([map.get(key), map.has(key)])
        }
      }
      expect([...SmallMap.of(map)]).toEqual([...map])
    }),
  )
})
