/** A command works on the run that it was called for, and leaves those that others left behind to `runs resume`. */
import type { OpenStore } from "./open-store.ts"

/** The store, with nothing in it to be taken up by itself. */
export function ownRunsOnly(store: OpenStore): OpenStore {
  return { ...store, free: () => [] }
}
