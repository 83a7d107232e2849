/** Internals that other layers of the engine use, besides the public entry. */
export { type Adjacency, cycles, groupBy, reachable } from "./analysis.ts"
export {
  addMember,
  Fifo,
  hasSameItems,
  NO_ENTRIES,
  NO_ITEMS,
  NO_MEMBERS,
  pushSized,
  putEntry,
  removeEntry,
  removeMember,
  SmallMap,
} from "./collections.ts"
export { joinNotices } from "./commit.ts"
export { failureRoute } from "./delivery.ts"
export { isIntent } from "./entries.ts"
export { failedAs, terminalError } from "./errors.ts"
export { HiddenPart } from "./hidden-part.ts"
export { frozenCopy, omitUndefined } from "./json.ts"
export { movedWait } from "./messages.ts"
export { loadModule, modulesLoaded } from "./module-load.ts"
export { freezeData, jsonSize, ownJson, ownScalar } from "./own-json.ts"
export { canonicalJson, isRecord } from "./reducers.ts"
export { retryDelay } from "./retry.ts"
export { digest, graphDifference, nestedDifference } from "./signature.ts"
export { hasEffect } from "./state.ts"
export { type BudgetPart, exhausted, NO_USAGE, usageWithout } from "./usage.ts"
export { RUN_TIMER, requestOfTimer, splitName } from "./waiting.ts"
