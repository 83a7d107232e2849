import { createOpenAI } from "@ai-sdk/openai"
import { describe, expect, test } from "vitest"
import { offlineEmbeddings } from "./embeddings.ts"
import { type EmbeddingModel, namedEmbeddings, providerEmbeddings } from "./named-embeddings.ts"

function model(
  answer: (values: string[], call: number) => number[][] | Error,
): EmbeddingModel & { calls: string[][] } {
  const calls: string[][] = []
  return {
    calls,
    provider: "test",
    modelId: "m",
    maxEmbeddingsPerCall: 2,
    supportsParallelCalls: true,
    async doEmbed({ values }) {
      calls.push(values)
      const result = answer(values, calls.length)
      if (result instanceof Error) throw result
      return { embeddings: result }
    },
  }
}

describe("a provider's embeddings", () => {
  test("are requested in batches that the model accepts, and returned in the order of the texts", async () => {
    const provider = model((values) => values.map((value) => [Number(value), 0]))
    const embeddings = providerEmbeddings(provider)
    expect(embeddings).toMatchObject({ name: "test/m", dimensions: undefined })
    expect(await embeddings.embed(["1", "2", "3", "4", "5"])).toEqual([
      [1, 0],
      [2, 0],
      [3, 0],
      [4, 0],
      [5, 0],
    ])
    expect(provider.calls).toEqual([["1", "2"], ["3", "4"], ["5"]])
    expect(embeddings.dimensions).toBe(2)
  })

  test("are requested again if the provider is busy, after the requested delay", async () => {
    const busy = Object.assign(new Error("busy"), {
      isRetryable: true,
      responseHeaders: { "retry-after": "7" },
    })
    const down = Object.assign(new Error("down"), { isRetryable: true })
    const provider = model((_, call) => [busy, down][call - 1] ?? [[1]])
    const waits: number[] = []
    const wait = async (milliseconds: number) => void waits.push(milliseconds)
    expect(await providerEmbeddings(provider, { wait }).embed(["x"])).toEqual([[1]])
    expect(waits).toEqual([7_000, 2_000])
  })

  test("fail with the provider's message if a retry does not help", async () => {
    const refused = providerEmbeddings(model(() => new Error("no such model")))
    await expect(refused.embed(["x"])).rejects.toMatchObject({
      code: "EMBEDDINGS_FAILED",
      message: "test/m failed to embed: no such model",
    })
    const always = Object.assign(new Error("busy"), { isRetryable: true })
    const provider = model(() => always)
    await expect(
      providerEmbeddings(provider, { attempts: 3, wait: async () => {} }).embed(["x"]),
    ).rejects.toThrow(/busy/)
    expect(provider.calls).toHaveLength(3)
  })

  test("cost nothing more once one of the calls has failed", async () => {
    const provider = model((values, call) => (call === 1 ? new Error("quota") : values.map(() => [1])))
    const texts = Array.from({ length: 40 }, String)
    await expect(providerEmbeddings(provider, { parallel: 2 }).embed(texts)).rejects.toThrow("quota")
    await new Promise((resolve) => setImmediate(resolve))
    expect(provider.calls).toHaveLength(2)
  })

  test("can be a model of the AI SDK", () => {
    const openai = createOpenAI({ apiKey: "none" })
    expect(providerEmbeddings(openai.embedding("text-embedding-3-small")).name).toMatch(
      /^openai.*text-embedding-3-small$/,
    )
  })
})

test("offline embeddings place similar meanings near each other", async () => {
  const embeddings = offlineEmbeddings()
  try {
    const [age, same, other, empty] = await embeddings.embed([
      "How old are you?",
      "What is your age?",
      "It rains a lot.",
      "",
    ])
    const product = (a: ArrayLike<number> = [], b: ArrayLike<number> = []) =>
      Array.from(a).reduce((sum, value, i) => sum + value * (b[i] as number), 0)
    expect(age).toHaveLength(embeddings.dimensions as number)
    expect(empty).toHaveLength(embeddings.dimensions as number)
    expect(product(age, same)).toBeGreaterThan(product(age, other) + 0.3)
    await expect(embeddings.embed(["x"], AbortSignal.abort())).rejects.toThrow(/abort/i)
    expect(await embeddings.embed(["still here"])).toHaveLength(1)
    // A question among many documents gets its turn.
    const order: string[] = []
    const many = embeddings.embed(Array.from({ length: 24 }, (_, i) => `Text ${i}.`))
    const documents = many.then(() => order.push("documents"))
    await Promise.all([documents, embeddings.embed(["A question?"]).then(() => order.push("question"))])
    expect(order).toEqual(["question", "documents"])
    await embeddings.close?.()
    expect(await embeddings.embed(["here again"])).toHaveLength(1)
  } finally {
    await embeddings.close?.()
  }
})

test("embeddings are found by name; the error for an unknown name lists the known ones", async () => {
  expect((await namedEmbeddings("offline")).name).toBe("energetic-ai/embeddings-en")
  const env = { OPENAI_API_KEY: "none" }
  expect((await namedEmbeddings("openai/text-embedding-3-small", { env })).name).toBe(
    "openai/text-embedding-3-small",
  )
  expect((await namedEmbeddings("ollama/nomic-embed-text", { env })).name).toBe("ollama/nomic-embed-text")
  await expect(namedEmbeddings("openai/x", { env: {} })).rejects.toThrow(/set OPENAI_API_KEY/)
  for (const name of ["", "nobody/x", "openai", "openai/", "toString/x"]) {
    await expect(namedEmbeddings(name, { env })).rejects.toThrow(
      /write offline, openai\/MODEL or ollama\/MODEL/,
    )
  }
})
