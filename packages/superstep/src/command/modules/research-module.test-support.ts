/** A deep research whose model answers over HTTP, at MODEL_URL. */
import type { Model } from "@superstep/engine/models"
import { deepResearch } from "@superstep/engine/patterns"

type Call = Parameters<Model["doGenerate"]>[0]

const FINISH = { unified: "stop", raw: undefined } as const
const USAGE = {
  inputTokens: { total: 10, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: undefined, reasoning: undefined },
}

async function answerTo({ prompt, providerOptions }: Call): Promise<string> {
  const body = JSON.stringify({ agent: providerOptions?.superstep?.agent, prompt })
  const response = await fetch(String(process.env.MODEL_URL), { method: "POST", body })
  return await response.text()
}

const model: Model = {
  specificationVersion: "v3",
  provider: "remote",
  modelId: "model",
  supportedUrls: {},
  doGenerate: async (call) => ({
    content: [{ type: "text", text: await answerTo(call) }],
    finishReason: FINISH,
    usage: USAGE,
    warnings: [],
  }),
  doStream: async (call) => ({
    stream: ReadableStream.from([
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: await answerTo(call) },
      { type: "text-end", id: "1" },
      { type: "finish", finishReason: FINISH, usage: USAGE },
    ]) as never,
  }),
}

export default deepResearch({
  model,
  tools: [
    {
      name: "documents",
      description: "Searches.",
      run: async ({ query }) => ({
        output: query,
        sources: [{ url: `https://t.invalid/${query}`, title: query, text: query }],
      }),
    },
  ],
})
