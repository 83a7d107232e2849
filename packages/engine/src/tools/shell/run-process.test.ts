import fc from "fast-check"
import { expect, test } from "vitest"
import { BoundedOutput } from "./run-process.ts"

test("keeps short output unchanged, however it is split", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { maxLength: 20 }), (parts) => {
      const all = Buffer.from(parts.join(""))
      const output = new BoundedOutput(2 * all.length + 2)
      for (let at = 0; at < all.length; at += 3) output.add(all.subarray(at, at + 3))
      expect(output.text()).toBe(all.toString())
    }),
  )
})

test("keeps the beginning and the end of long output, with the number of missing bytes", () => {
  const output = new BoundedOutput(10)
  for (const part of ["abc", "defgh", "ijklmnop", "q", "rstuvwxyz"]) output.add(Buffer.from(part))
  expect(output.text()).toBe("abcde\n… [16 bytes left out] …\nvwxyz")
})

test("never splits a character", () => {
  fc.assert(
    fc.property(fc.integer({ min: 8, max: 60 }), fc.integer({ min: 1, max: 9 }), (most, step) => {
      const all = Buffer.from("aé漢😀".repeat(20))
      const output = new BoundedOutput(most)
      for (let at = 0; at < all.length; at += step) output.add(all.subarray(at, at + step))
      expect(output.text()).not.toContain("�")
    }),
  )
})

test("does not retain the bytes that it leaves out", () => {
  const output = new BoundedOutput(100)
  const chunk = Buffer.alloc(64 * 1024, "x")
  for (let count = 0; count < 2_000; count++) output.add(chunk)
  expect(output.text().length).toBeLessThan(200)
})
