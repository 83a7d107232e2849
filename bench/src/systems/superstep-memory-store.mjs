// Ours with every step journaled to memory: what the journal itself costs, without a disk.
import { memoryStore } from "superstep"
import { chain as chainWith } from "./superstep.mjs"

/** A store per run, so that samples do not pile up each other's journals. */
export function chain(steps) {
  return chainWith(steps, () => ({ store: memoryStore() }))
}
