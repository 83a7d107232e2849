/** Embeddings that are asked for each text once: evidence is compared in every pass, and most of it was there before. */
import { untilAborted } from "../../tools/index.ts"
import type { TextEmbeddings } from "./research-options.ts"

type Vector = ArrayLike<number>

/** Vectors of a thousand dimensions: a few megabytes. */
const MOST = 1_000

export function rememberedEmbeddings(embeddings: TextEmbeddings): TextEmbeddings {
  const known = new Map<string, Vector>()
  return {
    async embed(texts, signal) {
      const missing = [...new Set(texts)].filter((text) => !known.has(text))
      const found = new Map(known)
      if (missing.length > 0) {
        signal?.throwIfAborted()
        // One that does not listen holds up nobody.
        const vectors = await untilAborted(embeddings.embed(missing, signal), signal)
        for (const [i, text] of missing.entries()) {
          const vector = vectors[i]
          if (vector === undefined)
            throw new Error(`${vectors.length} vectors came for ${missing.length} texts`)
          found.set(text, vector)
          known.set(text, vector)
        }
      }
      for (const text of known.keys()) {
        if (known.size <= MOST) break
        known.delete(text)
      }
      return texts.map((text) => found.get(text) ?? [])
    },
  }
}
