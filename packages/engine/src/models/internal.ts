/** Internals that other layers of the engine use, besides the public entry. */
export { Deadline } from "./call/deadline.ts"
export { freshId, tapped } from "./call/reply-stream.ts"
export { ADAPTING, adaptsCalls, messageText, settingsOf } from "./model.ts"
export { checkVersion, knownProviders, variableName } from "./named-models.ts"
export { defaultPrices } from "./prices.ts"
export { MIN_MASKED, type SecretMask, secretMask, withoutSecrets } from "./redact.ts"
export { modelReservation, tokenCounts } from "./usage.ts"
export { enforcementOf, mediaProblem, restoreValue, strictProblem } from "./wire/wire-call.ts"
