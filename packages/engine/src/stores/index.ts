/** The store in memory, and what stores with tables share. The latter is for the packages of this repository. */
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
