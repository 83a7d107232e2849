/** A turn that a limit cut off in the middle of its tool calls: the next run of the thread sends it to the provider as a whole. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { memoryStore } from "@superstep/engine"
import { type AgentOptions, agent, conversation } from "@superstep/engine/agents"
import { manualClock } from "@superstep/engine/testing"
import { tool } from "@superstep/engine/tools"
import { afterEach, beforeEach, expect, test } from "vitest"
import { claude, thinking, toolUse } from "./anthropic-replies.ts"
import { type ModelServer, modelServer, type ServedReply } from "./model-server.ts"
import { callItem, messageItem, reasoningItem, responds } from "./responses-replies.ts"

let server: ModelServer
beforeEach(async () => {
  server = await modelServer()
})
afterEach(async () => {
  await server.close()
  expect(server.refusals).toEqual([])
})

interface Provider {
  options(): Pick<AgentOptions, "model" | "settings">
  readonly cutOff: ServedReply
  readonly answer: ServedReply
}

const encrypted = { providerOptions: { openai: { store: false, include: ["reasoning.encrypted_content"] } } }
const openai = (settings?: AgentOptions["settings"]): Provider => ({
  options: () => ({
    model: createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" })("gpt-5"),
    settings,
  }),
  cutOff: responds([
    reasoningItem("rs_1", "", "thoughts"),
    callItem("fc_1", "call_1", "look", {}),
    callItem("fc_2", "call_2", "wait", {}),
  ]),
  answer: responds([reasoningItem("rs_2", "", "thoughts"), messageItem("msg_1", "Seen.")]),
})

const providers: Record<string, Provider> = {
  "OpenAI's Responses": openai(),
  "OpenAI's Responses, nothing stored there": openai(encrypted),
  "Anthropic, thinking": {
    options: () => ({
      model: createAnthropic({ baseURL: `${server.url}/v1`, apiKey: "k" })("claude-sonnet-4-5"),
      settings: {
        maxOutputTokens: 4_000,
        providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2_000 } } },
      },
    }),
    cutOff: claude(
      [thinking("Hm.", "sig-1"), toolUse("toolu_1", "look", {}), toolUse("toolu_2", "wait", {})],
      "tool_use",
    ),
    answer: claude([thinking("Ah.", "sig-2"), { type: "text", text: "Seen." }], "end_turn"),
  },
}

test.each(Object.entries(providers))("%s", async (_, { options, cutOff, answer }) => {
  const store = memoryStore()
  const clock = manualClock()
  let began: () => void = () => undefined
  const waiting = new Promise<void>((resolve) => {
    began = resolve
  })
  const scout = () =>
    agent({
      name: "scout",
      calling: { retry: { attempts: 1 } },
      stream: false,
      messages: conversation(),
      tools: [
        tool({ name: "look", description: "Looks.", run: () => "a stork" }),
        tool({
          name: "wait",
          description: "Waits.",
          run: () => {
            began()
            return new Promise<string>(() => undefined)
          },
        }),
      ],
      ...options(),
    })
  server.serve(cutOff, answer)
  const run = scout().run("What is there?", { store, thread: "t", clock, timeout: 60_000 })
  await waiting
  await clock.advance(60_000)
  expect((await run.result).error?.code).toBe("RUN_TIMEOUT")
  expect((await scout().run("And?", { store, thread: "t" })).outputs).toEqual(["Seen."])
  const sent = JSON.stringify(server.requests[1]?.body)
  expect(sent).toContain("a stork")
  expect(sent).toContain("This call has no result")
})
