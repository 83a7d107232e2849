/**
 * Names for runs: UUIDs that sort by time. They are names, not secrets, so their random part need not come from the
 * operating system, which would cost every program that starts a run some milliseconds of loading.
 */
import { V7Generator } from "uuidv7"
import type { RunId } from "../core/index.ts"

const generator = new V7Generator({ nextUint32: () => Math.floor(Math.random() * 0x1_0000_0000) })

export function newRunId(): RunId {
  return generator.generate().toString()
}
