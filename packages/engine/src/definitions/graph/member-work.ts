/** Work of a node that a parallel node runs: what fails there gives nothing, and stops no others. */
import { isSuperstepError, toErrorData } from "../../core/index.ts"
import type { Visit } from "./visit.ts"

/** Null where a member's work failed: that is told as a warning. It writes to the state when it is done, not before. */
export async function memberWork<T>(visit: Visit, work: () => T | Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    visit.ctx.signal.throwIfAborted()
    if (isSuperstepError(error) && (error.limit === true || error.fatal === true)) throw error
    visit.ctx.log("warn", `"${visit.id}" failed, and has no result: ${toErrorData(error).message}`)
    return null
  }
}
