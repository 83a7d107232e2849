/** Texts as vectors: near in meaning, near in space. */

import type { SuperstepError } from "@superstep/engine"
import { fatal } from "../../errors.ts"

export interface Embeddings {
  /** Of the model: an index takes vectors of one model only. */
  readonly name: string
  /** Undefined: known once something is embedded. */
  readonly dimensions: number | undefined
  /** As many vectors as texts, in their order. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly ArrayLike<number>[]>
  close?(): Promise<void>
}

/** Vectors of length 1, all as long as the others. Whatever else comes is an error of the model. */
export async function embedAll(
  embeddings: Embeddings,
  texts: readonly string[],
  dimensions: number | undefined,
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const vectors = await embeddings.embed(texts, signal)
  if (vectors.length !== texts.length)
    throw odd(embeddings, `${vectors.length} vectors for ${texts.length} texts`)
  const expected = dimensions ?? vectors[0]?.length ?? 0
  return vectors.map((vector) => {
    if (vector.length !== expected || expected === 0) {
      throw odd(embeddings, `a vector of ${vector.length} numbers instead of ${expected || "some"}`)
    }
    return unit(embeddings, Float32Array.from(vector))
  })
}

function unit(embeddings: Embeddings, vector: Float32Array): Float32Array {
  let sum = 0
  for (const value of vector) sum += value * value
  if (!Number.isFinite(sum)) throw odd(embeddings, "a vector with a value that is not a number")
  const length = Math.sqrt(sum)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function odd({ name }: Embeddings, what: string): SuperstepError {
  return fatal("EMBEDDINGS_INVALID", `The embeddings "${name}" gave ${what}.`)
}
