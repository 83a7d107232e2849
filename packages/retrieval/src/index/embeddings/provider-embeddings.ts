/** Embeddings of a provider's model, in calls of the size that it takes, a few at a time, tried again when it is busy. */
import { SuperstepError } from "@superstep/engine"
import type { Embeddings } from "./embeddings.ts"

/** The AI SDK's embedding models (EmbeddingModelV3, and V2) are such. */
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
  /** Calls at the same time. Default 4, or 1 where the model says so. */
  readonly parallel?: number | undefined
  /** How often a call is made at the most. Default 5. */
  readonly attempts?: number | undefined
  /** Waits so many milliseconds before the next attempt. */
  readonly wait?: ((milliseconds: number, signal?: AbortSignal) => Promise<void>) | undefined
}

const MOST_PER_CALL = 128
const FIRST_WAIT = 1_000
const LONGEST_WAIT = 60_000

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
      const size = Math.max(1, Math.min(MOST_PER_CALL, (await model.maxEmbeddingsPerCall) ?? MOST_PER_CALL))
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
            // Nobody pays for the rest.
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

/** As long as the provider asks for, else longer each time. */
function waitFor(error: unknown, attempt: number): number {
  const headers = (error as { responseHeaders?: Record<string, string> }).responseHeaders ?? {}
  const seconds = Number(headers["retry-after"])
  const asked = seconds > 0 ? seconds * 1_000 : FIRST_WAIT * 2 ** (attempt - 1)
  return Math.min(asked, LONGEST_WAIT)
}

function failed({ provider, modelId }: EmbeddingModel, cause: unknown): SuperstepError {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new SuperstepError("EMBEDDINGS_FAILED", `${provider}/${modelId} did not embed: ${why}`, { cause })
}

async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  const { setTimeout } = await import("node:timers/promises")
  await setTimeout(milliseconds, undefined, { signal })
}
