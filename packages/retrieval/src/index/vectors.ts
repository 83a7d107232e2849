/** Vectors as an index stores them: from one model, with one bit and one byte per number. */

import { preparedOnce } from "@superstep/store-sqlite/internal"
import { fatal } from "../errors.ts"
import type { Embeddings } from "./embeddings/embeddings.ts"
import { corrupt, type IndexFile, onlyReady, SIGNS } from "./index-file.ts"

export interface EmbeddedWith {
  readonly name: string
  readonly dimensions: number
}

export interface Space extends EmbeddedWith {
  /** The mean of the first vectors. All sign bits are relative to it. */
  readonly centre: Float32Array
}

/** The query of a search by meaning. */
export interface Point {
  readonly vector: Float32Array
  readonly centre: Float32Array
}

export function embeddedWith({ path, database }: IndexFile): Space | undefined {
  const [row] = database.prepare("SELECT embedding, dimensions, centre FROM meta").all() as {
    embedding: string | null
    dimensions: number | null
    centre: ArrayBuffer | Uint8Array | null
  }[]
  if (row?.embedding == null || row.dimensions === null || row.centre === null) return undefined
  // Copied, because the buffer of a driver may be unaligned.
  const centre = new Float32Array(new Uint8Array(row.centre).buffer)
  if (centre.length !== row.dimensions) throw corrupt(path)
  return { name: row.embedding, dimensions: row.dimensions, centre }
}

/** Throws if the vectors in the file are from another model. */
export function mustMatch(
  path: string,
  known: EmbeddedWith | undefined,
  embeddings: Pick<Embeddings, "name" | "dimensions"> | undefined,
): void {
  if (known === undefined || embeddings === undefined) return
  const { name, dimensions = known.dimensions } = embeddings
  if (known.name === name && known.dimensions === dimensions) return
  throw fatal(
    "INDEX_EMBEDDINGS_OTHER",
    `The index ${path} has vectors of "${known.name}" (${known.dimensions} numbers each), and "${name}" ` +
      `(${dimensions}) cannot be mixed with them: open it with the same embeddings, or use another file.`,
  )
}

/** Call it with the first vectors, before they are written. */
export function remember(file: IndexFile, embeddings: Embeddings, vectors: readonly Float32Array[]): Space {
  const centre = centreOf(vectors)
  const space = { name: embeddings.name, dimensions: centre.length, centre }
  return file.write(() => {
    const known = embeddedWith(file)
    mustMatch(file.path, known, space)
    if (known !== undefined) return known
    file.database
      .prepare("UPDATE meta SET embedding = ?, dimensions = ?, centre = ?")
      .run(space.name, space.dimensions, new Uint8Array(centre.buffer))
    return space
  })
}

/** One bit per number: whether it is above the centre's. Padded to whole bytes. */
export function signBits(vector: Float32Array, centre: Float32Array): Uint8Array {
  const bits = new Uint8Array(Math.ceil(vector.length / 8))
  for (let i = 0; i < vector.length; i++) {
    if ((vector[i] as number) > (centre[i] as number))
      bits[i >> 3] = (bits[i >> 3] as number) | (1 << (i & 7))
  }
  return bits
}

/**
 * Approximately the mean of the vectors. The vectors of many models all lean to one side, so plain sign bits would distinguish
 * little. The mean of a few vectors is damped.
 */
export function centreOf(vectors: readonly Float32Array[]): Float32Array {
  const centre = new Float32Array(vectors[0]?.length ?? 0)
  for (const vector of vectors) {
    for (let i = 0; i < centre.length; i++) centre[i] = (centre[i] as number) + (vector[i] as number)
  }
  return centre.map((sum) => sum / (vectors.length + FEW))
}

const FEW = 8

export interface Steps {
  readonly scale: number
  /** From -127 to 127. */
  readonly steps: Int8Array
}

export function toSteps(vector: Float32Array): Steps {
  let largest = 0
  for (const value of vector) largest = Math.max(largest, Math.abs(value))
  const scale = largest === 0 ? 1 : largest / 127
  const steps = new Int8Array(vector.length)
  for (let i = 0; i < vector.length; i++) steps[i] = Math.round((vector[i] as number) / scale)
  return { scale, steps }
}

/** The similarity of two vectors. 1 is the same direction. */
export function similarity(query: Float32Array, { scale, steps }: Steps): number {
  let sum = 0
  for (let i = 0; i < steps.length; i++) sum += (query[i] as number) * (steps[i] as number)
  return sum * scale
}

// Finds vectors that are likely to be near, by their sign bits. SQLite scans them row by row. A process that searches
// repeatedly caches them in memory, where a scan takes a fraction of the time.
//
// S1 The bits in memory match the file: a change by any process drops them.
// S2 Both methods find the same ids in the same order: by the number of differing bits, then by id.
// S3 The bits are loaded at the second search after a change, so that a single search, or searches while documents are
//    added, do not wait for it.
// S4 At most `maxHeld` bytes are cached.

/** Bytes. */
const MAX_HELD = 64 * 1_024 * 1_024
/** Vectors per loaded row. Reading one row from SQLite costs as much as hundreds of vectors inside one. */
const LOADED = 4_096

interface Held {
  readonly ids: Float64Array
  /** `wordsEach` for each vector, padded with zeros. */
  readonly words: Uint32Array
  readonly wordsEach: number
}

interface SignBitIndex {
  /** At most `count` ids. */
  nearest(bits: Uint8Array, count: number): number[]
  /** Whether the bits are cached, for tests. */
  readonly isHeld: boolean
}

export function signBitIndex({ path, database, state }: IndexFile, maxHeld = MAX_HELD): SignBitIndex {
  const sql = preparedOnce(database)
  let seen: string | undefined
  let held: Held | undefined

  function load(bytesEach: number): Held | undefined {
    const [size] = sql("SELECT sum(chunks) AS chunks FROM documents").all() as { chunks: number | null }[]
    const wordsEach = Math.ceil(bytesEach / 4)
    if ((size?.chunks ?? 0) * (4 * wordsEach + 8) > maxHeld) return undefined
    const some = sql(
      `SELECT count(*) AS count, max(id) AS last, group_concat(id) AS ids, group_concat(hex(bits), '') AS bits
      FROM (SELECT id, bits FROM ${SIGNS} WHERE id > ? AND ${onlyReady(sql, "id")} ORDER BY id LIMIT ${LOADED})`,
    )
    const ids: number[] = []
    const pages: Uint8Array[] = []
    for (let last = -1; ; ) {
      const [page] = some.all(last) as { count: number; last: number; ids: string; bits: string }[]
      if (page === undefined || page.count === 0) break
      if (page.bits.length !== 2 * bytesEach * page.count) throw corrupt(path)
      for (const id of page.ids.split(",")) ids.push(Number(id))
      pages.push(Buffer.from(page.bits, "hex"))
      last = page.last
    }
    return { ids: Float64Array.from(ids), words: wordsOf(pages, bytesEach, ids.length), wordsEach }
  }

  function bySql(bits: Uint8Array, count: number): number[] {
    const rows = sql(
      `SELECT id FROM ${SIGNS} WHERE ${onlyReady(sql, "id")}
      ORDER BY vec_distance_hamming(vec_bit(bits), vec_bit(?)), id LIMIT ?`,
    ).all(bits, count) as { id: number }[]
    return rows.map(({ id }) => id)
  }

  return {
    nearest(bits, count) {
      const now = state()
      if (now !== seen) held = undefined
      else held ??= load(bits.length)
      seen = now
      return held === undefined ? bySql(bits, count) : nearestOf(held, bits, count)
    },
    get isHeld() {
      return held !== undefined
    },
  }
}

/** Joins the pages, with each vector's bits padded to whole words. */
function wordsOf(pages: readonly Uint8Array[], bytesEach: number, count: number): Uint32Array {
  const filled = 4 * Math.ceil(bytesEach / 4)
  const bytes = new Uint8Array(filled * count)
  let to = 0
  for (const page of pages) {
    const step = filled === bytesEach ? page.length : bytesEach
    for (let from = 0; from < page.length; from += step) {
      bytes.set(page.subarray(from, from + step), to)
      to += filled === bytesEach ? step : filled
    }
  }
  return new Uint32Array(bytes.buffer)
}

function nearestOf({ ids, words, wordsEach }: Held, bits: Uint8Array, count: number): number[] {
  const padded = new Uint8Array(4 * wordsEach)
  padded.set(bits)
  const distances = distancesTo(new Uint32Array(padded.buffer), words, ids.length)
  const far = distanceOf(count, distances, 32 * wordsEach)
  const near: number[] = []
  for (let at = 0; at < distances.length; at++) if ((distances[at] as number) <= far) near.push(at)
  near.sort((a, b) => (distances[a] as number) - (distances[b] as number) || a - b)
  return near.slice(0, count).map((at) => ids[at] as number)
}

/** The number of differing bits, for each vector. */
function distancesTo(query: Uint32Array, words: Uint32Array, count: number): Uint16Array {
  const distances = new Uint16Array(count)
  const wordsEach = query.length
  for (let i = 0, at = 0; i < count; i++) {
    let sum = 0
    for (let k = 0; k < wordsEach; k++, at++) {
      // Counts the set bits in parallel, in pairs, fours and eights.
      let x = (words[at] as number) ^ (query[k] as number)
      x -= (x >>> 1) & 0x55555555
      x = (x & 0x33333333) + ((x >>> 2) & 0x33333333)
      sum += Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
    }
    distances[i] = sum
  }
  return distances
}

/** The smallest distance that at least `count` vectors are within, or all. */
function distanceOf(count: number, distances: Uint16Array, most: number): number {
  const counts = new Uint32Array(most + 1)
  for (const distance of distances) counts[distance] = (counts[distance] as number) + 1
  let [distance, sum] = [0, counts[0] as number]
  while (sum < count && distance < most) {
    distance += 1
    sum += counts[distance] as number
  }
  return distance
}
