// The heap in use once garbage is gone.
import { setImmediate as nextTurn } from "node:timers/promises"

/** Needs --expose-gc. What a finished promise still holds is let go over some turns. */
export async function settledHeap() {
  for (let round = 0; round < 3; round++) {
    await nextTurn()
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}
