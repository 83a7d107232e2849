/** Models by the names a definition gives them. */
import { UNNAMED_MODEL } from "../../models/index.ts"
import { nearest, type Path, type Place, type Report } from "../document/index.ts"
import type { Arg } from "../plan/index.ts"
import { type ModelData, type ProviderData, UNSUPPORTED_MODEL_FIELDS } from "./agent-shape.ts"

export interface ModelNames {
  readonly models: Readonly<Record<string, ModelData>>
  readonly providers: Readonly<Record<string, ProviderData>>
  readonly report: Report
  /** Where in the document a path is. */
  place(path: Path): Place
}

const OFFLINE = "offline"

/** The model that a name stands for; one that is unknown is reported where it is named. */
export function modelArg(name: string | undefined, path: Path, known: ModelNames): Arg {
  if (name === undefined) return UNNAMED_MODEL
  if (name === OFFLINE) return OFFLINE
  if (Object.hasOwn(known.models, name)) return configArg(known.models[name] as ModelData, known.providers)
  const slash = name.indexOf("/")
  if (slash > 0 && slash < name.length - 1) {
    const provider = name.slice(0, slash)
    if (!Object.hasOwn(known.providers, provider)) return name
    return configArg({ provider, model: name.slice(slash + 1) }, known.providers)
  }
  known.report.error(
    "UNKNOWN_MODEL",
    `There is no model "${name}": name one of \`models\`, or write provider/model, or offline.`,
    known.place(path),
    nearest(name, Object.keys(known.models)),
  )
  return OFFLINE
}

function configArg(data: ModelData, providers: Readonly<Record<string, ProviderData>>): Arg {
  const own = Object.hasOwn(providers, data.provider) ? (providers[data.provider] as ProviderData) : undefined
  const baseUrl = data.base_url ?? own?.base_url
  const tokenKey = data.token_key ?? own?.token_key
  const provider = own === undefined ? data.provider : (own.provider ?? "openai-compatible")
  const settings = given({
    temperature: data.temperature,
    maxOutputTokens: data.max_tokens,
    topP: data.top_p,
    frequencyPenalty: data.frequency_penalty,
    presencePenalty: data.presence_penalty,
    providerOptions: data.provider_opts === undefined ? undefined : { [provider]: data.provider_opts as Arg },
  })
  const where = given({ baseUrl, tokenKey, settings })
  if (where === undefined) return `${provider}/${data.model}`
  return { provider, model: data.model, ...where }
}

/** The fields that are there; undefined where none is. */
function given(fields: Readonly<Record<string, Arg>>): Record<string, Arg> | undefined {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  return known.length === 0 ? undefined : Object.fromEntries(known)
}

/** The interface that servers of `providers` are spoken to with. */
const API_TYPE = "openai_chatcompletions"

/** Fields that are read and do nothing. */
export function checkModels(known: ModelNames): void {
  for (const [name, { api_type = API_TYPE }] of Object.entries(known.providers)) {
    if (api_type === API_TYPE) continue
    const text = `"api_type" of a provider is not supported here: it is spoken to as ${API_TYPE}.`
    known.report.warning("NOT_SUPPORTED", text, known.place(["providers", name, "api_type"]))
  }
  for (const [name, data] of Object.entries(known.models)) {
    for (const field of UNSUPPORTED_MODEL_FIELDS) {
      if (data[field] === undefined) continue
      const text = `"${field}" of a model is not supported here, and does nothing.`
      known.report.warning("NOT_SUPPORTED", text, known.place(["models", name, field]))
    }
  }
}
