/** Plans the models of a definition: by the names that it gives them, with the settings that their providers know. */
import { nearest, type Path } from "../../document/index.ts"
import { UNNAMED_MODEL } from "../../models/index.ts"
import { knownProviders, variableName } from "../../models/internal.ts"
import { AUTO_MODEL, MODEL_PROVIDERS } from "../../packages/index.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { type Arg, type ArgObject, call, definedArgs } from "../plan/index.ts"
import { type ModelData, type ProviderData, UNSUPPORTED_MODEL_FIELDS } from "./agent-shape.ts"

export interface ModelNames {
  readonly models: Readonly<Record<string, ModelData>>
  readonly providers: Readonly<Record<string, ProviderData>>
  readonly report: DocumentReport
}

const OFFLINE = "offline"

interface AgentModels {
  readonly model: Arg
  /** Others, by name, and what chooses among them. */
  readonly models?: ArgObject | undefined
  readonly prepareStep?: Arg
}

/** The model of an agent: one, several that take turns, or one with routes to others. */
export function agentModels(written: string | undefined, path: Path, known: ModelNames): AgentModels {
  const names = (written ?? "").split(",").map((name) => name.trim())
  if (names.length > 1) {
    const models = Object.fromEntries(names.map((name) => [name, modelArg(name, path, known)]))
    const [first = OFFLINE] = names
    return { model: models[first], models, prepareStep: call("rotateModels", names) }
  }
  const model = modelArg(written, path, known)
  const isOwn = written !== undefined && Object.hasOwn(known.models, written)
  const routing = isOwn ? known.models[written]?.routing : undefined
  if (routing === undefined || routing.length === 0) return { model }
  const models = routing.map(({ model: other }, i): [string, Arg] => [
    other,
    modelArg(other, ["models", written as string, "routing", i, "model"], known),
  ])
  const routes = routing.map(({ model: other, examples }) => ({ model: other, examples }))
  return { model, models: Object.fromEntries(models), prepareStep: call("routeModels", routes) }
}

/** The model with this name. An unknown one is reported at the path. */
export function modelArg(name: string | undefined, path: Path, known: ModelNames): Arg {
  if (name === undefined) return UNNAMED_MODEL
  if (name === OFFLINE || name === AUTO_MODEL) return name
  if (Object.hasOwn(known.models, name)) return configArg(known.models[name] as ModelData, known.providers)
  const slash = name.indexOf("/")
  if (slash > 0 && slash < name.length - 1) {
    const provider = name.slice(0, slash)
    if (!Object.hasOwn(known.providers, provider)) {
      checkProvider(provider, path, known)
      return name
    }
    return configArg({ provider, model: name.slice(slash + 1) }, known.providers)
  }
  const message = `Unknown model "${name}": use a name from \`models\`, provider/model, auto, or offline.`
  known.report.error("UNKNOWN_MODEL", message, path, nearest(name, Object.keys(known.models)))
  return OFFLINE
}

/** The name of embeddings: a model of the file by its provider and model. */
export function embeddingsName(name: string, { models }: ModelNames): string {
  const own = Object.hasOwn(models, name) ? models[name] : undefined
  return own === undefined ? name : `${own.provider}/${own.model}`
}

/** Only warns: the caller may override the agent's model, or register the provider before a run. */
function checkProvider(provider: string, path: Path, known: ModelNames): void {
  const names = [...Object.keys(known.providers), ...knownProviders()]
  if (names.includes(provider)) return
  const message = `Unknown provider "${provider}"; known providers: ${names.join(", ")}. Add an OpenAI-compatible server under \`providers\`, with its base_url.`
  known.report.warning("UNKNOWN_PROVIDER", message, path, nearest(provider, names))
}

function configArg(written: ModelData, providers: Readonly<Record<string, ProviderData>>): Arg {
  const own = providerOf(written, providers)
  const data = withDefaults(written, own)
  const key = data.token_key ?? own?.token_key
  const provider = own === undefined ? data.provider : (own.provider ?? "openai-compatible")
  const settings = definedArgs({
    temperature: data.temperature,
    maxOutputTokens: data.max_tokens,
    topP: data.top_p,
    frequencyPenalty: data.frequency_penalty,
    presencePenalty: data.presence_penalty,
    providerOptions: optionsArg(provider, data),
  })
  const tokenKey = key && (variableName(key) ?? key)
  const limits = limitArgs(data.limits) ?? limitArgs(own?.limits, data.provider)
  const api = own?.api_type === "openai_responses" ? "responses" : undefined
  const more = definedArgs({ baseUrl: data.base_url ?? own?.base_url, tokenKey, api, settings, limits })
  return more === undefined ? `${provider}/${data.model}` : { provider, model: data.model, ...more }
}

function providerOf(
  { provider }: Pick<ModelData, "provider">,
  providers: Readonly<Record<string, ProviderData>>,
): ProviderData | undefined {
  return Object.hasOwn(providers, provider) ? providers[provider] : undefined
}

/** A model with the settings of its provider that it does not set itself. */
function withDefaults(data: ModelData, own: ProviderData | undefined): ModelData {
  if (own === undefined) return data
  const { base_url: _, token_key: _key, api_type: _api, provider: _own, limits: _limits, ...settings } = own
  const options = own.provider_opts && { provider_opts: { ...own.provider_opts, ...data.provider_opts } }
  return { ...settings, ...data, ...options }
}

/** What a provider calls these settings. Undefined: it has none like it. */
interface ProviderWords {
  /** The name of its options. */
  readonly name: string
  thinking(budget: NonNullable<ModelData["thinking_budget"]>): ArgObject | undefined
  parallel?(isAllowed: boolean): ArgObject
}

/** OpenAI's words: without a budget for adaptive thinking, and with xhigh as the most. */
const effortOf = (budget: number | string): string | undefined => {
  if (typeof budget === "number") return budget === 0 ? "none" : undefined
  const effort = budget.startsWith("adaptive") ? (budget.split("/")[1] ?? "high") : budget
  return effort === "max" ? "xhigh" : effort
}

const tokensOf = (budget: number | string): number | undefined =>
  typeof budget === "number" ? budget : budget === "none" ? 0 : undefined

/** `adaptive` lets the model decide how long it thinks. */
function claudeThinking(budget: string): ArgObject | undefined {
  if (budget === "minimal") return undefined
  const [kind, effort = "high"] = budget.split("/")
  return kind === "adaptive" ? { thinking: { type: "adaptive" }, effort } : { effort: budget }
}

const openaiWords: ProviderWords = {
  name: "openai",
  thinking: (budget) => definedArgs({ reasoningEffort: effortOf(budget) }),
  parallel: (isAllowed) => ({ parallelToolCalls: isAllowed }),
}

const WORDS: Readonly<Record<string, ProviderWords>> = {
  openai: openaiWords,
  azure: openaiWords,
  groq: { ...openaiWords, name: "groq" },
  xai: { name: "xai", thinking: openaiWords.thinking },
  mistral: { name: "mistral", thinking: () => undefined, parallel: openaiWords.parallel as never },
  anthropic: {
    name: "anthropic",
    thinking(budget) {
      const tokens = tokensOf(budget)
      if (tokens === undefined) return claudeThinking(String(budget))
      if (tokens === 0) return { thinking: { type: "disabled" } }
      return tokens < 0 ? undefined : { thinking: { type: "enabled", budgetTokens: tokens } }
    },
    parallel: (isAllowed) => ({ disableParallelToolUse: !isAllowed }),
  },
  google: {
    name: "google",
    thinking(budget) {
      const thinkingBudget = tokensOf(budget)
      if (thinkingBudget !== undefined) return { thinkingConfig: { thinkingBudget } }
      const isLevel = ["minimal", "low", "medium", "high"].includes(String(budget))
      return isLevel ? { thinkingConfig: { thinkingLevel: budget } } : undefined
    },
  },
  "amazon-bedrock": {
    name: "bedrock",
    thinking(budget) {
      const tokens = tokensOf(budget)
      if (tokens === 0) return { reasoningConfig: { type: "disabled" } }
      const isTokens = tokens !== undefined && tokens > 0
      return isTokens ? { reasoningConfig: { type: "enabled", budgetTokens: tokens } } : undefined
    },
  },
}

/** Servers with OpenAI's API take options under their own name. */
function wordsOf(provider: string): ProviderWords | undefined {
  if (Object.hasOwn(WORDS, provider)) return WORDS[provider]
  const info = MODEL_PROVIDERS.find(({ name }) => name === provider)
  const isCompatible = info?.package === "@ai-sdk/openai-compatible"
  return isCompatible ? { name: provider, thinking: openaiWords.thinking } : undefined
}

function optionsArg(provider: string, data: ModelData): ArgObject | undefined {
  const { provider_opts, thinking_budget, parallel_tool_calls } = data
  const words = wordsOf(provider)
  const own = {
    ...(thinking_budget !== undefined && words?.thinking(thinking_budget)),
    ...(parallel_tool_calls !== undefined && words?.parallel?.(parallel_tool_calls)),
    ...(provider_opts as ArgObject | undefined),
  }
  return Object.keys(own).length === 0 ? undefined : { [words?.name ?? provider]: own }
}

/** Models of a provider that has limits share them. */
function limitArgs(limits: ModelData["limits"], provider?: string): ReturnType<typeof definedArgs> {
  if (limits === undefined) return undefined
  const { concurrency, per_minute, tokens_per_minute, pool = provider } = limits
  return definedArgs({ concurrency, perMinute: per_minute, tokensPerMinute: tokens_per_minute, pool })
}

/** Warns about unknown providers, and about fields that have no effect. */
export function checkModels(known: ModelNames): void {
  const { report } = known
  for (const [name, { provider, provider_opts, track_usage }] of Object.entries(known.providers)) {
    const path = ["providers", name]
    if (provider !== undefined) checkProvider(provider, [...path, "provider"], known)
    checkProviderOptions(provider_opts, [...path, "provider_opts"], report)
    if (track_usage !== undefined) report.unsupported('"track_usage" of a provider', [...path, "track_usage"])
  }
  for (const [name, data] of Object.entries(known.models)) {
    checkProvider(data.provider, ["models", name, "provider"], known)
    checkProviderOptions(data.provider_opts, ["models", name, "provider_opts"], report)
    checkModelSettings(data, name, known)
    for (const field of UNSUPPORTED_MODEL_FIELDS) {
      if (data[field] !== undefined) report.unsupported(`"${field}" of a model`, ["models", name, field])
    }
  }
}

/** Warns about settings that the provider has no word for. */
function checkModelSettings(data: ModelData, model: string, { providers, report }: ModelNames): void {
  const own = providerOf(data, providers)
  const provider = own === undefined ? data.provider : (own.provider ?? "openai-compatible")
  const words = wordsOf(provider)
  const { thinking_budget: budget, parallel_tool_calls: parallel } = data
  const has = (options: ArgObject | undefined) => options !== undefined && Object.keys(options).length > 0
  if (budget !== undefined && !has(words?.thinking(budget))) {
    const takes =
      typeof budget === "number" && has(words?.thinking("low")) ? ": it takes low, medium or high" : ""
    const message = `thinking_budget: ${budget} has no effect for ${provider}${takes}.`
    report.warning("NOT_SUPPORTED", message, ["models", model, "thinking_budget"])
  }
  if (parallel !== undefined && words?.parallel === undefined) {
    const message = `"parallel_tool_calls" has no effect for ${provider}.`
    report.warning("NOT_SUPPORTED", message, ["models", model, "parallel_tool_calls"])
  }
}

/** The AI SDK's provider receives the options unchanged, and ignores unknown ones. */
function checkProviderOptions(options: ModelData["provider_opts"], path: Path, report: DocumentReport): void {
  for (const option of Object.keys(options ?? {})) {
    if (!option.includes("_")) continue
    const camel = option.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    const message = `"${option}" in provider_opts has no effect: provider options are written in camelCase.`
    report.warning("NOT_SUPPORTED", message, [...path, option], camel)
  }
}
