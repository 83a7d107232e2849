/** Which embeddings an index has: those of its first vectors, for ever. */
import { SuperstepError } from "@superstep/engine"
import type { Embeddings } from "./embeddings/embeddings.ts"
import { corrupt } from "./errors.ts"
import type { IndexFile } from "./index-file.ts"
import { centreOf } from "./near.ts"

export interface EmbeddedWith {
  readonly name: string
  readonly dimensions: number
}

export interface Space extends EmbeddedWith {
  /** What the signs of vectors are taken against, for ever: the middle of the first ones. */
  readonly centre: Float32Array
}

export function embeddedWith({ path, database }: IndexFile): Space | undefined {
  const [row] = database.prepare("SELECT embedding, dimensions, centre FROM meta").all() as {
    embedding: string | null
    dimensions: number | null
    centre: ArrayBuffer | Uint8Array | null
  }[]
  if (row?.embedding == null || row.dimensions === null || row.centre === null) return undefined
  // A copy: what a driver gives may begin at any byte.
  const centre = new Float32Array(new Uint8Array(row.centre).buffer)
  if (centre.length !== row.dimensions) throw corrupt(path)
  return { name: row.embedding, dimensions: row.dimensions, centre }
}

/** Fails when the vectors in the file are another model's. */
export function mustMatch(
  path: string,
  known: EmbeddedWith | undefined,
  embeddings: Pick<Embeddings, "name" | "dimensions"> | undefined,
): void {
  if (known === undefined || embeddings === undefined) return
  const { name, dimensions = known.dimensions } = embeddings
  if (known.name === name && known.dimensions === dimensions) return
  throw new SuperstepError(
    "INDEX_EMBEDDINGS_OTHER",
    `The index ${path} has vectors of "${known.name}" (${known.dimensions} numbers each), and "${name}" ` +
      `(${dimensions}) cannot be mixed with them: open it with the same embeddings, or use another file.`,
    { retryable: false },
  )
}

/** To be called with the first vectors, before they are written. */
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
