/** Tools of a provider: offered, run there or here, on record, sent back, and their sources in the reply. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { agent } from "@superstep/engine/agents"
import { filePart, providerTool, tool } from "@superstep/engine/tools"
import { afterEach, beforeEach, expect, test } from "vitest"
import { claude, toolUse } from "./anthropic-replies.ts"
import { type ModelServer, modelServer } from "./model-server.ts"
import { callItem, messageItem, reasoningItem, responds } from "./responses-replies.ts"

let server: ModelServer
beforeEach(async () => {
  server = await modelServer()
})
afterEach(async () => {
  await server.close()
  expect(server.refusals).toEqual([])
})

const calling = { retry: { attempts: 1 } }
const openai = () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" })
const anthropic = () => createAnthropic({ baseURL: `${server.url}/v1`, apiKey: "k" })
const note = tool({ name: "note", description: "Notes.", run: () => "noted" })
const cited = { type: "url_citation", url: "https://example.com/a", title: "A", start_index: 0, end_index: 2 }
const search = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "weather" },
}

async function recorded(run: AsyncIterable<{ type: string; value?: unknown }>): Promise<unknown[]> {
  const found: unknown[] = []
  for await (const event of run) if (event.type === "step.recorded") found.push(event.value)
  return found
}

test("OpenAI's web search runs there; its call, its result and its sources are on record, and go back", async () => {
  server.serve(
    responds([reasoningItem("rs_1"), search, reasoningItem("rs_2"), callItem("fc_1", "call_1", "note", {})]),
    responds([reasoningItem("rs_3"), messageItem("msg_1", "12 °C.", [cited])]),
  )
  const web = providerTool(openai().tools.webSearch({ searchContextSize: "low" }))
  const guide = agent({ name: "guide", model: openai()("gpt-5"), calling, tools: [web, note] })
  const run = guide.stream("How warm?")
  const replies = await recorded(run as never)
  expect((await run.result).outputs).toEqual(["12 °C."])
  expect(server.requests[0]?.body.tools).toContainEqual({ type: "web_search", search_context_size: "low" })
  expect(replies).toContainEqual(
    expect.objectContaining({
      content: expect.arrayContaining([
        expect.objectContaining({ type: "provider-call", id: "ws_1", name: "web_search" }),
        expect.objectContaining({ type: "provider-result", id: "ws_1" }),
      ]),
    }),
  )
  expect(replies).toContainEqual(
    expect.objectContaining({
      content: expect.arrayContaining([
        { type: "source", id: expect.any(String), url: "https://example.com/a", title: "A" },
      ]),
    }),
  )
  expect(JSON.stringify(server.requests[1]?.body.input)).toContain("ws_1")
})

test("Anthropic's web search, with a turn that the provider pauses", async () => {
  const use = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "weather" } }
  const page = {
    type: "web_search_result",
    url: "https://example.com/a",
    title: "A",
    encrypted_content: "enc",
    page_age: null,
  }
  const result = { type: "web_search_tool_result", tool_use_id: "srvtoolu_1", content: [page] }
  server.serve(claude([use, result], "pause_turn"), claude([{ type: "text", text: "12 °C." }], "end_turn"))
  const web = providerTool(anthropic().tools.webSearch_20250305({ maxUses: 2 }))
  const guide = agent({ name: "guide", model: anthropic()("claude-sonnet-4-5"), calling, tools: [web] })
  expect((await guide.run("How warm?")).outputs).toEqual(["12 °C."])
  const messages = server.requests[1]?.body.messages
  expect(JSON.stringify(messages)).toContain('"encrypted_content":"enc"')
})

test("a computer is described by the provider and runs here; its screenshot is a result", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
  const actions: unknown[] = []
  const computer = providerTool(
    anthropic().tools.computer_20250124({ displayWidthPx: 800, displayHeightPx: 600 }),
    {
      run: (args: unknown) => {
        actions.push(args)
        return filePart(png)
      },
    },
  )
  server.serve(
    claude([toolUse("toolu_1", "computer", { action: "screenshot" })], "tool_use"),
    claude([{ type: "text", text: "A desktop." }], "end_turn"),
  )
  const user = agent({ name: "user", model: anthropic()("claude-sonnet-4-5"), calling, tools: [computer] })
  expect((await user.run("What is on the screen?")).outputs).toEqual(["A desktop."])
  expect(actions).toEqual([{ action: "screenshot" }])
  expect(server.requests[0]?.body.tools).toMatchObject([{ name: "computer", display_width_px: 800 }])
  expect(JSON.stringify(server.requests[1]?.body.messages)).toContain(png)
})

test("another provider does not see what the first one ran itself", async () => {
  server.serve(
    responds([search, callItem("fc_1", "call_1", "handoff_to_second", {})]),
    claude([{ type: "text", text: "Warm." }], "end_turn"),
  )
  const second = agent({ name: "second", model: anthropic()("claude-sonnet-4-5"), calling, tools: [note] })
  const web = providerTool(openai().tools.webSearch({}))
  const more = { tools: [web], handoffs: [second] }
  const first = agent({ name: "first", model: openai()("gpt-5"), calling, ...more })
  expect((await first.run("How warm?")).outputs).toEqual(["Warm."])
  expect(JSON.stringify(server.requests[1]?.body)).not.toContain("ws_1")
})

test.each<[string, unknown]>([
  ["nothing", {}],
  ["a tool of one's own", note],
])("%s is not a provider's tool", (_, definition) => {
  expect(() => providerTool(definition as never)).toThrow(/openai\.tools\.webSearch/)
})
