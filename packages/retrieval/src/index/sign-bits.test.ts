import { join } from "node:path"
import * as fc from "fast-check"
import { describe, expect, onTestFinished, test } from "vitest"
import { documentTable } from "./documents.ts"
import { freshFolder } from "./index.test-support.ts"
import { type IndexFile, openIndexFile } from "./index-file.ts"
import { signBitIndex, signBits } from "./vectors.ts"

function open(path: string): IndexFile {
  const file = openIndexFile(path, "/", 0)
  onTestFinished(() => file.close())
  return file
}

const centreOf = (vector: Float32Array) => new Float32Array(vector.length)
const bitsOf = (vector: Float32Array) => signBits(vector, centreOf(vector))

/** A document with these vectors. */
function add(file: IndexFile, source: string, vectors: readonly Float32Array[], isReady = true): void {
  const documents = documentTable(file)
  const writing = documents.begin({ source, hash: source, settings: "", bytes: 0 }, "me")
  const chunks = vectors.map((_, i) => ({ text: `${source} ${i}` }))
  if (writing === undefined) return
  documents.append(writing, 0, chunks, { vectors, centre: centreOf(vectors[0] as Float32Array) })
  if (isReady) documents.finish(writing, source)
}

/** Values of -1 and 1, the same for the same number. */
function someVectors(count: number, dimensions: number, from = 1): Float32Array[] {
  let state = from
  const sign = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state & 0x8000 ? 1 : -1
  }
  return Array.from({ length: count }, () => Float32Array.from({ length: dimensions }, sign))
}

describe("the sign bits of vectors", () => {
  test("find the same ids in the same order, whether they are cached or not (S2, S3)", () => {
    const dimensions = fc.constantFrom(1, 7, 8, 24, 33, 100)
    fc.assert(
      fc.property(dimensions, fc.nat(60), fc.nat(1_000), fc.nat(80), (size, length, from, count) => {
        const file = openIndexFile(join(freshFolder(), "index.db"), "/", 0)
        try {
          const vectors = someVectors(length + 1, size, from)
          const [query, ...rest] = vectors as [Float32Array, ...Float32Array[]]
          if (rest.length > 0) add(file, "a", rest)
          const signIndex = signBitIndex(file)
          const near = () => file.read(() => signIndex.nearest(bitsOf(query), count))
          const first = near()
          expect(signIndex.isHeld).toBe(false)
          expect(near()).toEqual(first)
          expect(signIndex.isHeld).toBe(true)
          expect(first).toHaveLength(Math.min(count, rest.length))
        } finally {
          file.close()
        }
      }),
      { numRuns: 25 },
    )
  })

  test("are all cached, even if they need more than one page", () => {
    const file = open(join(freshFolder(), "index.db"))
    const vectors = someVectors(5_000, 16)
    add(file, "a", vectors)
    const signIndex = signBitIndex(file)
    const near = () => file.read(() => signIndex.nearest(bitsOf(vectors[4_999] as Float32Array), 100))
    const first = near()
    expect(near()).toEqual(first)
    expect(signIndex.isHeld).toBe(true)
  })

  test("are dropped when any process changes the file, and exclude documents that are not ready (S1)", () => {
    const path = join(freshFolder(), "index.db")
    const [file, other] = [open(path), open(path)]
    const vectors = someVectors(40, 32)
    const signIndex = signBitIndex(file)
    const near = () => file.read(() => signIndex.nearest(bitsOf(vectors[0] as Float32Array), 100)).length
    add(file, "a", vectors.slice(0, 10))
    expect([near(), near(), signIndex.isHeld]).toEqual([10, 10, true])
    add(other, "b", vectors.slice(10, 30))
    expect([near(), signIndex.isHeld]).toEqual([30, false])
    expect([near(), signIndex.isHeld]).toEqual([30, true])
    add(other, "c", vectors.slice(30), false)
    expect([near(), near(), signIndex.isHeld]).toEqual([30, 30, true])
    documentTable(file).leave(["a"])
    expect([near(), near(), signIndex.isHeld]).toEqual([20, 20, true])
  })

  test("are not cached if they are too many (S4)", () => {
    const file = open(join(freshFolder(), "index.db"))
    const vectors = someVectors(100, 64)
    add(file, "a", vectors)
    const nearBy = (most: number) => {
      const signIndex = signBitIndex(file, most)
      const near = () => file.read(() => signIndex.nearest(bitsOf(vectors[0] as Float32Array), 3))
      return [near(), near(), signIndex.isHeld]
    }
    const [first, second, isHeld] = nearBy(1_599)
    expect([second, isHeld]).toEqual([first, false])
    expect(nearBy(1_600)).toEqual([first, first, true])
  })
})
