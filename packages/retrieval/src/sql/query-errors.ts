/** What can be wrong with a query, in words that a model can act on. Trying the same again helps with none of these. */
import { SuperstepError } from "@superstep/engine"

/** It is not one plain SELECT, or asks for what it may not have. */
export function refused(why: string, cause?: unknown): SuperstepError {
  return queryError("QUERY_REFUSED", `The query was refused: ${why}.`, cause)
}

/** The database does not understand it, or cannot work it out. */
export function failed(why: string, cause?: unknown): SuperstepError {
  return queryError("QUERY_FAILED", `The query failed: ${why}`, cause)
}

export function timedOut(milliseconds: number, cause?: unknown): SuperstepError {
  const message = `The query was ended after ${milliseconds} ms: ask for less, or give it a longer \`timeout\`.`
  return queryError("QUERY_TIMEOUT", message, cause)
}

function queryError(code: string, message: string, cause: unknown): SuperstepError {
  return new SuperstepError(code, message, { retryable: false, ...(cause === undefined ? {} : { cause }) })
}
