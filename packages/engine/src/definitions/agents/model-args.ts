/** Models by the names that a definition gives them. */
import { nearest, type Path } from "../../document/index.ts"
import { UNNAMED_MODEL } from "../../models/index.ts"
import { knownProviders, variableName } from "../../models/internal.ts"
import type { DocumentReport } from "../dialect-input.ts"
import { type Arg, definedArgs } from "../plan/index.ts"
import { type ModelData, type ProviderData, UNSUPPORTED_MODEL_FIELDS } from "./agent-shape.ts"

export interface ModelNames {
  readonly models: Readonly<Record<string, ModelData>>
  readonly providers: Readonly<Record<string, ProviderData>>
  readonly report: DocumentReport
}

const OFFLINE = "offline"

/** The model of this name. An unknown one is reported at the path. */
export function modelArg(name: string | undefined, path: Path, known: ModelNames): Arg {
  if (name === undefined) return UNNAMED_MODEL
  if (name === OFFLINE) return OFFLINE
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
  const message = `Unknown model "${name}": use a name from \`models\`, provider/model, or offline.`
  known.report.error("UNKNOWN_MODEL", message, path, nearest(name, Object.keys(known.models)))
  return OFFLINE
}

/** Only warns: the caller may override the agent's model, or register the provider before a run. */
function checkProvider(provider: string, path: Path, known: ModelNames): void {
  const names = [...Object.keys(known.providers), ...knownProviders()]
  if (names.includes(provider)) return
  const message = `Unknown provider "${provider}"; known providers: ${names.join(", ")}. Add an OpenAI-compatible server under \`providers\`, with its base_url.`
  known.report.warning("UNKNOWN_PROVIDER", message, path, nearest(provider, names))
}

function configArg(data: ModelData, providers: Readonly<Record<string, ProviderData>>): Arg {
  const own = Object.hasOwn(providers, data.provider) ? (providers[data.provider] as ProviderData) : undefined
  const written = data.token_key ?? own?.token_key
  const provider = own === undefined ? data.provider : (own.provider ?? "openai-compatible")
  const settings = definedArgs({
    temperature: data.temperature,
    maxOutputTokens: data.max_tokens,
    topP: data.top_p,
    frequencyPenalty: data.frequency_penalty,
    presencePenalty: data.presence_penalty,
    providerOptions: data.provider_opts === undefined ? undefined : { [provider]: data.provider_opts as Arg },
  })
  const tokenKey = written && (variableName(written) ?? written)
  const more = definedArgs({ baseUrl: data.base_url ?? own?.base_url, tokenKey, settings })
  return more === undefined ? `${provider}/${data.model}` : { provider, model: data.model, ...more }
}

/** The API that servers under `providers` are called with. */
const API_TYPE = "openai_chatcompletions"

/** Warns about unknown providers, and about fields that have no effect. */
export function checkModels(known: ModelNames): void {
  const { report } = known
  for (const [name, { api_type = API_TYPE, provider }] of Object.entries(known.providers)) {
    if (api_type !== API_TYPE) {
      const message = `"api_type" of a provider is not supported: requests use ${API_TYPE}.`
      report.warning("NOT_SUPPORTED", message, ["providers", name, "api_type"])
    }
    if (provider !== undefined) checkProvider(provider, ["providers", name, "provider"], known)
  }
  for (const [name, data] of Object.entries(known.models)) {
    checkProvider(data.provider, ["models", name, "provider"], known)
    checkProviderOptions(data, name, report)
    for (const field of UNSUPPORTED_MODEL_FIELDS) {
      if (data[field] !== undefined) report.unsupported(`"${field}" of a model`, ["models", name, field])
    }
  }
}

/** The AI SDK's provider gets the options as they are written, and ignores those it does not know. */
function checkProviderOptions(
  { provider_opts = {} }: ModelData,
  model: string,
  report: DocumentReport,
): void {
  for (const option of Object.keys(provider_opts)) {
    if (!option.includes("_")) continue
    const camel = option.replace(/_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
    const message = `"${option}" in provider_opts has no effect: provider options are written in camelCase.`
    report.warning("NOT_SUPPORTED", message, ["models", model, "provider_opts", option], camel)
  }
}
