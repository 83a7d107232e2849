/** The memory store, and internals that other stores share, for the packages of this repository. */

export { type OnTightened, PRIVATE_FILE, PRIVATE_FOLDER, tightenFile } from "../runtime/internal.ts"
export { type EventText, fromEventText, toEventText } from "./event-text.ts"
export { type HeartbeatConnection, heartbeatThread } from "./heartbeat-thread.ts"
export {
  type BodyParts,
  fromStoredBody,
  LARGE_VALUE,
  type LargeValue,
  type StoredBody,
  toStoredBody,
} from "./large-values.ts"
export { memoryStore } from "./memory.ts"
export { fromStoredName, toStoredName } from "./stored-names.ts"
export { foldThread, type StoredThreadWrite } from "./thread-state.ts"
