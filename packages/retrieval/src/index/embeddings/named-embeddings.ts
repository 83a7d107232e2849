/**
 * Embeddings by name. Those of a provider are requested in batches, with limited concurrency, and retried if the provider
 * is busy.
 */
import { SuperstepError } from "@superstep/engine"
import { invalidOption, messageOf, optionalPackage } from "../../errors.ts"
import { type Embeddings, hasOfflineEmbeddings, OFFLINE_EMBEDDINGS, offlineEmbeddings } from "./embeddings.ts"

/** Compatible with the AI SDK's embedding models (EmbeddingModelV3 and V2). */
export interface EmbeddingModel {
  readonly provider: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined
  readonly supportsParallelCalls: PromiseLike<boolean> | boolean
  doEmbed(options: {
    values: string[]
    abortSignal?: AbortSignal
  }): PromiseLike<{ readonly embeddings: readonly (readonly number[])[] }>
}

export interface ProviderEmbeddingsOptions {
  /** Default: the provider's name and the model's. */
  readonly name?: string | undefined
  /** Maximum concurrent calls. Default 4, or 1 if the model requires it. */
  readonly parallel?: number | undefined
  /** Maximum attempts of a call. Default 5. */
  readonly attempts?: number | undefined
  /** Waits before the next attempt. In milliseconds. */
  readonly wait?: ((milliseconds: number, signal?: AbortSignal) => Promise<void>) | undefined
}

const MAX_PER_CALL = 128
const FIRST_WAIT = 1_000
const MAX_WAIT = 60_000

export function providerEmbeddings(
  model: EmbeddingModel,
  options: ProviderEmbeddingsOptions = {},
): Embeddings {
  const { parallel = 4, attempts = 5, wait = sleep } = options
  let dimensions: number | undefined

  async function call(
    values: string[],
    signal: AbortSignal | undefined,
  ): Promise<readonly (readonly number[])[]> {
    for (let attempt = 1; ; attempt++) {
      try {
        const { embeddings } = await model.doEmbed({ values, ...(signal && { abortSignal: signal }) })
        return embeddings
      } catch (error) {
        signal?.throwIfAborted()
        if (attempt >= attempts || !isRetryable(error)) throw failed(model, error)
        await wait(waitFor(error, attempt), signal)
      }
    }
  }

  return {
    name: options.name ?? `${model.provider}/${model.modelId}`,
    get dimensions() {
      return dimensions
    },
    async embed(texts, signal) {
      const size = Math.max(1, Math.min(MAX_PER_CALL, (await model.maxEmbeddingsPerCall) ?? MAX_PER_CALL))
      const isParallel = await model.supportsParallelCalls
      const batches: string[][] = []
      for (let at = 0; at < texts.length; at += size) batches.push(texts.slice(at, at + size))
      const vectors: (readonly number[])[][] = []
      let next = 0
      const work = async () => {
        while (next < batches.length) {
          const mine = next++
          try {
            vectors[mine] = [...(await call(batches[mine] as string[], signal))]
          } catch (error) {
            // Stops the remaining batches, so that they cost nothing.
            next = batches.length
            throw error
          }
        }
      }
      await Promise.all(Array.from({ length: isParallel ? parallel : 1 }, work))
      const all = vectors.flat()
      dimensions ??= all[0]?.length
      return all
    },
  }
}

function isRetryable(error: unknown): boolean {
  return (error as { isRetryable?: unknown }).isRetryable === true
}

/** The delay that the provider requests, else an increasing one. */
function waitFor(error: unknown, attempt: number): number {
  const headers = (error as { responseHeaders?: Record<string, string> }).responseHeaders ?? {}
  const seconds = Number(headers["retry-after"])
  const asked = seconds > 0 ? seconds * 1_000 : FIRST_WAIT * 2 ** (attempt - 1)
  return Math.min(asked, MAX_WAIT)
}

function failed({ provider, modelId }: EmbeddingModel, cause: unknown): SuperstepError {
  const why = messageOf(cause)
  return new SuperstepError("EMBEDDINGS_FAILED", `${provider}/${modelId} failed to embed: ${why}`, { cause })
}

async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  const { setTimeout } = await import("node:timers/promises")
  await setTimeout(milliseconds, undefined, { signal })
}

/** Embeddings by name, for settings and command lines: `offline`, or a provider's model. */
export interface NamedEmbeddingsOptions {
  /** The environment with the keys. Default: the process's environment. */
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

/** Keeps the requested name: an index stores it to open its embeddings again. */
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
    throw unknown(`Unknown embeddings "${name}": write offline, openai/MODEL or ollama/MODEL`)
  }
  return providerEmbeddings(await make(model, env), { name })
}

function load<T>(name: string): Promise<T> {
  return optionalPackage<T>(name, "These embeddings")
}

function unknown(what: string): SuperstepError {
  return invalidOption(`${what}.`)
}

// The default: the configured embeddings, else the offline model if it is installed.

/** Disables embeddings: search by words only. */
export const NO_EMBEDDINGS = "none"

/** A name for `namedEmbeddings`. Undefined if there is no model, or if embeddings are disabled. Loads nothing. */
export function defaultEmbeddings(
  env: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  const configured = env.SUPERSTEP_EMBEDDINGS
  if (configured === NO_EMBEDDINGS) return undefined
  if (configured !== undefined && configured !== "") return configured
  return hasOfflineEmbeddings() ? "offline" : undefined
}
