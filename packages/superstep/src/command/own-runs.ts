/** A command works on the run that it was called for, and leaves those that others left behind to `runs resume`. */
import type { OpenStore } from "./open-store.ts"

/**
 * The store, with no run in it to be claimed in passing, and without a thread that beats: other processes of this machine
 * see that the command is alive, and a short command should cost no thread. The store may still be opening, so that it
 * is no object whose methods could be copied.
 */
export function ownRunsOnly(store: OpenStore): OpenStore {
  const own: object = { free: () => [], keepAlive: undefined }
  return Object.assign(Object.create(store), own) as OpenStore
}
