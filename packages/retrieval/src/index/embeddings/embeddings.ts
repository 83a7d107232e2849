/** Embeddings: vectors of texts, in which similar meaning is a small distance. */

import type { SuperstepError } from "@superstep/engine"
import { fatal } from "../../errors.ts"

export interface Embeddings {
  /** The name of the model. The vectors of an index are all from one model. */
  readonly name: string
  /** Undefined until something is embedded. */
  readonly dimensions: number | undefined
  /** Returns one vector per text, in the same order. */
  embed(texts: readonly string[], signal?: AbortSignal): Promise<readonly ArrayLike<number>[]>
  close?(): Promise<void>
}

/** Returns vectors of length 1 and equal dimensions. Any other result of the model is an error. */
export async function embedAll(
  embeddings: Embeddings,
  texts: readonly string[],
  dimensions: number | undefined,
  signal?: AbortSignal,
): Promise<Float32Array[]> {
  const vectors = await embeddings.embed(texts, signal)
  if (vectors.length !== texts.length)
    throw invalidEmbeddings(embeddings, `${vectors.length} vectors for ${texts.length} texts`)
  const expected = dimensions ?? vectors[0]?.length ?? 0
  return vectors.map((vector) => {
    if (vector.length !== expected || expected === 0) {
      throw invalidEmbeddings(
        embeddings,
        `a vector of ${vector.length} numbers instead of ${expected || "some"}`,
      )
    }
    return unit(embeddings, Float32Array.from(vector))
  })
}

function unit(embeddings: Embeddings, vector: Float32Array): Float32Array {
  let sum = 0
  for (const value of vector) sum += value * value
  if (!Number.isFinite(sum)) throw invalidEmbeddings(embeddings, "a vector with a value that is not a number")
  const length = Math.sqrt(sum)
  return length === 0 ? vector : vector.map((value) => value / length)
}

function invalidEmbeddings({ name }: Embeddings, what: string): SuperstepError {
  return fatal("EMBEDDINGS_INVALID", `The embeddings "${name}" returned ${what}.`)
}
