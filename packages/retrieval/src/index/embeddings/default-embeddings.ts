/** The embeddings that are used where none are named: the configured ones, else the offline model if it is installed. */
import { hasOfflineEmbeddings } from "./offline-embeddings.ts"

/** By words alone. */
export const NO_EMBEDDINGS = "none"

/** A name for `namedEmbeddings`; undefined where there is no model, or none is wanted. Loads nothing. */
export function defaultEmbeddings(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const configured = env.SUPERSTEP_EMBEDDINGS
  if (configured === NO_EMBEDDINGS) return undefined
  if (configured !== undefined && configured !== "") return configured
  return hasOfflineEmbeddings() ? "offline" : undefined
}
