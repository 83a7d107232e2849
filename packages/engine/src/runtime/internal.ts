/** Internals that other layers of the engine use, besides the public entry. */

export {
  childKey,
  type FoldedFrame,
  type FoldedRecord,
  GraphCache,
  JournalFold,
  prepareRecord,
} from "./journal/journal-fold.ts"
export { type RunSnapshot, saveEvery, waitedFor } from "./journal/load-run.ts"
export { NewRun } from "./journal/new-run.ts"
export { EventReplay } from "./journal/replay-events.ts"
export { checkThreadState, lastingState } from "./journal/thread.ts"
export { type ReadAhead, readRun, restsElsewhere, startRun } from "./lease/claim-run.ts"
export { replyDirectly } from "./lease/visits.ts"
export { onAbort } from "./ports/abort-listener.ts"
export { isLive, outerId } from "./ports/events.ts"
export { andThen, deferred, fromUser, isPromise, type MaybePromise, Signal } from "./ports/maybe-promise.ts"
export { type OnTightened, PRIVATE_FILE, PRIVATE_FOLDER, tightenFile } from "./ports/private-file.ts"
export { runOver } from "./ports/store.ts"
export { hasLimits } from "./ports/stored.ts"
export { ownGiven, type Validated, validate } from "./ports/values.ts"
export type { Begun, Demand } from "./run/handle-environment.ts"
export { HandlerKeys } from "./run/handler-keys.ts"
export { isOptions, newRunId, type OptionNames, shown, unknownOption } from "./run/options.ts"
export { endedRun, requestsOf, waitsOf } from "./run/result.ts"
export { performTask } from "./run/spread.ts"
export {
  budgetProblem,
  checkBounds,
  checkInput,
  checkSameRun,
  ownInput,
  ownOptions,
  policyProblem,
  RUN_OPTIONS,
  type RunBounds,
  runStarted,
  unknownPart,
  valueBytesOf,
} from "./run/start.ts"
export { replyKey } from "./run/task-operations.ts"
