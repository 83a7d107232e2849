/** Embeddings by name, for settings and command lines: `offline`, or a provider's model. Their packages are loaded on use. */
import { SuperstepError } from "@superstep/engine"
import { optionalPackage } from "../../optional-package.ts"
import type { Embeddings } from "./embeddings.ts"
import { OFFLINE_EMBEDDINGS, offlineEmbeddings } from "./offline-embeddings.ts"
import { type EmbeddingModel, providerEmbeddings } from "./provider-embeddings.ts"

export interface NamedEmbeddingsOptions {
  /** Where keys are. Default: the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
}

type Maker = (model: string, env: Readonly<Record<string, string | undefined>>) => Promise<EmbeddingModel>

const PROVIDERS: Readonly<Record<string, Maker>> = {
  async openai(model, env) {
    const apiKey = env.OPENAI_API_KEY
    if (!apiKey) throw unknown(`"openai/${model}" needs a key: set OPENAI_API_KEY`)
    const { createOpenAI } = await load<{
      createOpenAI(options: object): { embedding(id: string): EmbeddingModel }
    }>("@ai-sdk/openai")
    const baseURL = env.OPENAI_BASE_URL
    return createOpenAI({ apiKey, ...(baseURL && { baseURL }) }).embedding(model)
  },

  async ollama(model, env) {
    const { createOllama } = await load<{
      createOllama(options: object): { embedding(id: string): EmbeddingModel }
    }>("ollama-ai-provider-v2")
    const baseURL = env.OLLAMA_BASE_URL
    return createOllama({ ...(baseURL && { baseURL }) }).embedding(model)
  },
}

/** Named as they are asked for: so an index tells by which name to ask for its embeddings again. */
export async function namedEmbeddings(
  name: string,
  options: NamedEmbeddingsOptions = {},
): Promise<Embeddings> {
  const { env = process.env } = options
  if (name === "offline" || name === OFFLINE_EMBEDDINGS) return offlineEmbeddings()
  const slash = name.indexOf("/")
  const [provider, model] = [name.slice(0, Math.max(0, slash)), name.slice(slash + 1)]
  const make = Object.hasOwn(PROVIDERS, provider) ? PROVIDERS[provider] : undefined
  if (make === undefined || model === "") {
    throw unknown(`There are no embeddings "${name}": write offline, openai/MODEL or ollama/MODEL`)
  }
  return providerEmbeddings(await make(model, env), { name })
}

function load<T>(name: string): Promise<T> {
  return optionalPackage(name, "These embeddings", async () => (await import(name)) as T)
}

function unknown(what: string): SuperstepError {
  return new SuperstepError("OPTION_INVALID", `${what}.`, { retryable: false })
}
