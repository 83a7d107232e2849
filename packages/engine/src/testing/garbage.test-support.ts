import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/**
 * Whether the garbage collector frees what `ref` points to. One collection may keep what was allocated while an
 * earlier one was marking, so several are tried: a value that is still referenced survives them all.
 */
export async function isCollected(ref: WeakRef<object>): Promise<boolean> {
  setFlagsFromString("--expose-gc")
  const collectGarbage = runInNewContext("gc") as () => void
  for (let round = 0; round < 20; round += 1) {
    // A WeakRef keeps its target until the job that created or read it ends.
    await new Promise((resolve) => setImmediate(resolve))
    collectGarbage()
    if (ref.deref() === undefined) return true
  }
  return false
}
