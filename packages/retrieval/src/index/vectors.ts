/** Vectors as an index stores them: from one model, with one bit and one byte per number. */

import { fatal } from "../errors.ts"
import type { Embeddings } from "./embeddings/embeddings.ts"
import { corrupt, type IndexFile } from "./index-file.ts"

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
