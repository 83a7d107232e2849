/** The offline model: a deterministic stand-in for a language model. */
export { OFFLINE_NOTICE, tellOffline, UNNAMED_MODEL } from "./notice.ts"
export { offlineModel } from "./offline-model.ts"
