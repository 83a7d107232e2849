/**
 * Which vectors are likely to be near, by their signs. SQLite goes through them row by row; a process that searches again
 * and again holds them, and goes through them in a fraction of the time.
 *
 * S1 What is held is what the file has: after any change, by whomever, it is let go.
 * S2 The same is found either way, in the same order: by how many signs differ, then by id.
 * S3 They are held from the second search on after a change: who searches once, or while documents are added, does not wait
 *    for them to be loaded.
 * S4 No more is held than `mostHeld`.
 */
import { preparedOnce } from "@superstep/store-sqlite/shared"
import { corrupt } from "./errors.ts"
import type { IndexFile } from "./index-file.ts"
import { onlyReady } from "./ready.ts"

/** Bytes. */
const MOST_HELD = 64 * 1_024 * 1_024
/** Rows in one that is loaded: each row that comes out of SQLite alone costs as much as hundreds that come in one. */
const LOADED = 4_096

interface Held {
  readonly ids: Float64Array
  /** So many for each, filled up with zeros. */
  readonly words: Uint32Array
  readonly wordsEach: number
}

export interface Signs {
  /** The ids, as many as are wanted at the most. */
  nearest(bits: Uint8Array, count: number): number[]
  /** Whether they are held, for tests. */
  readonly isHeld: boolean
}

export function signsOf({ path, database, state }: IndexFile, mostHeld = MOST_HELD): Signs {
  const sql = preparedOnce(database)
  let seen: string | undefined
  let held: Held | undefined

  function load(bytesEach: number): Held | undefined {
    const [size] = sql("SELECT sum(chunks) AS chunks FROM documents").all() as { chunks: number | null }[]
    const wordsEach = Math.ceil(bytesEach / 4)
    if ((size?.chunks ?? 0) * (4 * wordsEach + 8) > mostHeld) return undefined
    const some = sql(
      `SELECT count(*) AS count, max(id) AS last, group_concat(id) AS ids, group_concat(hex(bits), '') AS bits
      FROM (SELECT id, bits FROM signs WHERE id > ? AND ${onlyReady(sql, "id")} ORDER BY id LIMIT ${LOADED})`,
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
      `SELECT id FROM signs WHERE ${onlyReady(sql, "id")}
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

/** The pages in one, each of the signs filled up to whole words. */
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

/** How many signs differ, for each. */
function distancesTo(query: Uint32Array, words: Uint32Array, count: number): Uint16Array {
  const distances = new Uint16Array(count)
  const wordsEach = query.length
  for (let i = 0, at = 0; i < count; i++) {
    let sum = 0
    for (let k = 0; k < wordsEach; k++, at++) {
      // The bits that are set, counted in pairs, fours and eights.
      let x = (words[at] as number) ^ (query[k] as number)
      x -= (x >>> 1) & 0x55555555
      x = (x & 0x33333333) + ((x >>> 2) & 0x33333333)
      sum += Math.imul((x + (x >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
    }
    distances[i] = sum
  }
  return distances
}

/** The distance within which there are so many, or all. */
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
