/** Internals that the stores of this repository share. Nothing that `import "superstep"` loads is here. */

export { type OnTightened, PRIVATE_FILE, PRIVATE_FOLDER, tightenFile } from "../runtime/internal.ts"
export { type HeartbeatConnection, type HeartbeatThread, heartbeatThread } from "./heartbeat-thread.ts"
export {
  checkKeys,
  codecOf,
  type EncryptionKey,
  type EventText,
  environmentKeys,
  fromEventText,
  isSealed,
  KEYS_VARIABLE,
  type KeyCheck,
  type KeyProvider,
  KeyRing,
  loadKeys,
  plainCodec,
  ringOf,
  toEventText,
  type ValueCodec,
} from "./key-ring.ts"
export {
  type BodyParts,
  type BodyPlace,
  fromStoredBody,
  LARGE_VALUE,
  type LargeValue,
  placesKind,
  type StoredBody,
  toStoredBody,
  VALUE,
} from "./large-values.ts"
export { foldThread, fromStoredName, type StoredThreadWrite, toStoredName } from "./stored-values.ts"
