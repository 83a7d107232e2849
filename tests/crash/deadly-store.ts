/** A process that kills itself right after a write is durable: the store for its program, and how a test starts it. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import type { Store } from "superstep"
import { openStore } from "../stores.ts"

/** The store, and the same store for a run whose process ends with the n-th append; 0 for never. */
export function deadlyStore(address: string, at: number) {
  const store = openStore(address)
  let appends = 0
  const deadly = {
    ...store,
    append: async (...args: Parameters<Store["append"]>) => {
      await store.append(...args)
      appends++
      if (appends === at) process.kill(process.pid, "SIGKILL")
    },
  }
  return { store, deadly: deadly as Store }
}

/** What the process printed; undefined if it was killed. */
export async function printedBy(program: string, ...args: string[]): Promise<string | undefined> {
  return await promisify(execFile)(process.execPath, [program, ...args]).then(
    ({ stdout }) => stdout,
    (error: { signal?: string; stderr: string }) => {
      if (error.signal !== "SIGKILL") throw new Error(error.stderr, { cause: error })
      return undefined
    },
  )
}
