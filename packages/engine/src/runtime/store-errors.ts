/** What a store's `append` rejects with. */
import { type RunId, SuperstepError } from "../core/index.ts"

export function journalConflict(runId: RunId, expectedSeq: number, foundSeq: number): SuperstepError {
  const text = `The journal of run "${runId}" ends at ${foundSeq}, not at ${expectedSeq}: another process writes to it.`
  return new SuperstepError("JOURNAL_CONFLICT", text)
}
export function runExists(runId: RunId): SuperstepError {
  return new SuperstepError("RUN_EXISTS", `There is a run "${runId}" already.`)
}
export function keyTaken(key: string, runId: RunId): SuperstepError {
  return new SuperstepError("KEY_TAKEN", `The idempotency key "${key}" is that of run "${runId}".`, {
    run: runId,
  })
}
export function threadBusy(thread: string, runId: RunId): SuperstepError {
  const text = `Thread "${thread}" is in use by run "${runId}": wait for it, answer it, or cancel it.`
  return new SuperstepError("THREAD_BUSY", text, { run: runId })
}
export function threadMoved(thread: string): SuperstepError {
  const text = `Another run added to thread "${thread}" just before this one began: start it again.`
  return new SuperstepError("THREAD_BUSY", text)
}
export function runTaken(runId: RunId): SuperstepError {
  return new SuperstepError(
    "RUN_TAKEN",
    `Run "${runId}" was taken over by another process; it goes on there.`,
  )
}
