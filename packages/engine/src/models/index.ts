/** Models: the port, how one is called, and stand-ins for tests and for newcomers. */
export { type CallModelOptions, callModel, type ModelRetry, registerPrices } from "./call-model.ts"
export { type CalledBy, calledBy } from "./called-by.ts"
export { type CassetteModel, type CassetteOptions, cassette } from "./cassette.ts"
export type { CassetteMatch } from "./cassette-match.ts"
export type { CassetteSecrets } from "./cassette-secrets.ts"
export { estimateInput, estimateTokens } from "./estimate.ts"
export type {
  Message,
  Model,
  ModelCall,
  ModelCaller,
  ModelConfig,
  ModelRef,
  ModelReply,
  ModelSettings,
  Prompt,
  ReplyDelta,
  ReplyPart,
} from "./model.ts"
export { modelName, providerOf } from "./model-name.ts"
export { type MakeModel, type ResolveModelOptions, registerProvider, resolveModel } from "./named-models.ts"
export { OFFLINE_NOTICE, offlineModel, tellOffline, UNNAMED_MODEL } from "./offline/index.ts"
export { type Price, type Prices, type PriceTable, priceTable, type TokenCounts } from "./prices.ts"
export {
  type LimitedPlace,
  type ProviderLimit,
  type ProviderLimits,
  type ProviderLimitsOptions,
  providerLimits,
} from "./provider-limits.ts"
export type { Script, ScriptEntry, ScriptError, ScriptReply, ScriptToolCall } from "./script.ts"
export { scriptFromFile, scriptFromYaml } from "./script-yaml.ts"
export {
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from "./scripted-model.ts"
export { withSettings } from "./with-settings.ts"
