/** Models: the port, model calls with retries and fallbacks, and stand-ins for tests and first steps. */

export { type AnswerFacts, type CallModelOptions, callModel, type ModelRetry } from "./call/call-model.ts"
export {
  type LimitedCall,
  type LimitedPlace,
  type ProviderLimit,
  type ProviderLimits,
  type ProviderLimitsOptions,
  providerLimits,
} from "./call/provider-limits.ts"
export { type CassetteModel, type CassetteOptions, cassette } from "./cassette/cassette.ts"
export type { CassetteMatch } from "./cassette/recording-finder.ts"
export {
  type CalledBy,
  calledBy,
  type FinishReason,
  type Message,
  type Model,
  type ModelCall,
  type ModelCaller,
  type ModelConfig,
  type ModelRef,
  type ModelReply,
  type ModelSettings,
  modelName,
  type Prompt,
  providerOf,
  type ReplyDelta,
  type ReplyPart,
  withSettings,
} from "./model.ts"
export {
  type MakeModel,
  type ResolveModelOptions,
  registerProvider,
  resolveModel,
  UNNAMED_MODEL,
} from "./named-models.ts"
export { OFFLINE_NOTICE, offlineModel, showOfflineNotice } from "./offline/offline-model.ts"
export {
  type Price,
  type Prices,
  type PriceTable,
  priceTable,
  registerPrices,
  type TokenCounts,
} from "./prices.ts"
export type { CassetteSecrets } from "./redact.ts"
export {
  type Script,
  type ScriptEntry,
  type ScriptError,
  type ScriptReply,
  type ScriptToolCall,
  scriptFromFile,
  scriptFromYaml,
} from "./script/script.ts"
export {
  type ScriptedCall,
  type ScriptedModel,
  type ScriptedModelOptions,
  scriptedModel,
} from "./script/scripted-model.ts"
export { CallMeter, estimateInput, estimateTokens, type ModelUsage } from "./usage.ts"
