import { SuperstepError } from "@superstep/engine"

/** `what` goes on after the path, and says what to do. */
export function unusable(path: string, what: string, cause?: unknown): SuperstepError {
  return new SuperstepError("STORE_UNUSABLE", `${path} ${what}.`, { cause })
}

export function writeFailed(what: string, cause?: unknown): SuperstepError {
  const why = cause instanceof Error ? `: ${cause.message}` : ""
  return new SuperstepError("STORE_WRITE_FAILED", `${what}${why}.`, { cause })
}

export function corrupt(runId: string, seq: number, what: string, cause?: unknown): SuperstepError {
  return new SuperstepError(
    "STORE_CORRUPT",
    `The journal of run "${runId}" is damaged at ${seq}: ${what}. Restore the file from a backup.`,
    { cause },
  )
}

export function readFailed(runId: string, cause: unknown): SuperstepError {
  const why = cause instanceof Error ? `: ${cause.message}` : ""
  return new SuperstepError("STORE_READ_FAILED", `The journal of run "${runId}" cannot be read${why}.`, {
    cause,
  })
}
