// A model that costs nothing: what is measured is the agent around it.

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
}
const said = {
  content: [{ type: "text", text: "done" }],
  finishReason: { unified: "stop", raw: "stop" },
  usage,
  warnings: [],
}

/** The parts of a reply, all there: two pieces of text, or a call. */
function streamed({ content, finishReason }) {
  const parts = content.flatMap((part) =>
    part.type === "text"
      ? [part.text.slice(0, 2), part.text.slice(2)].map((delta) => ({ type: "text-delta", id: "0", delta }))
      : [part],
  )
  const all = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason, usage }]
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at < all.length) controller.enqueue(all[at++])
      else controller.close()
    },
  })
}

/** Asks for a tool until it has had `wanted` results; answers at once, unless `wait` says how long a call takes. */
export function stubModel(wanted, wait = () => undefined) {
  const reply = (prompt) => {
    const had = prompt.reduce((sum, { role }) => sum + (role === "tool" ? 1 : 0), 0)
    if (had >= wanted) return said
    const call = { type: "tool-call", toolCallId: `c${had}`, toolName: "next", input: "{}" }
    return { ...said, content: [call], finishReason: { unified: "tool-calls", raw: "tool_calls" } }
  }
  return {
    specificationVersion: "v3",
    provider: "stub",
    modelId: "stub",
    supportedUrls: {},
    async doGenerate({ prompt }) {
      await wait()
      return reply(prompt)
    },
    doStream: async ({ prompt }) => ({ stream: streamed(reply(prompt)) }),
  }
}
