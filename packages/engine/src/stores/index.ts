/** The memory store, and internals that stores with tables share, for the packages of this repository. */
export {
  type BodyParts,
  fromStoredBody,
  type LargeValue,
  type StoredBody,
  toStoredBody,
} from "./large-values.ts"
export { memoryStore } from "./memory.ts"
export { fromStoredName, toStoredName } from "./stored-names.ts"
export { foldThread, type StoredThreadWrite } from "./thread-state.ts"
