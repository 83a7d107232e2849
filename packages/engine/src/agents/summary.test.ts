/** Summaries: written once, stored with the conversation, and sent to providers as plain text. */
import fc from "fast-check"
import { expect, test } from "vitest"
import { memoryStore } from "../index.ts"
import type { Message } from "../models/index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { tool } from "../tools/index.ts"
import { userText } from "./conversation.ts"
import { chooseMessages, isSummary, summaryMessage } from "./history-policy.ts"
import { agent, conversation, type HistoryPolicy, lastItems, summarise, validHistory } from "./index.ts"
import { pureModel, shown } from "./stand-ins.test-support.ts"

const summaryOf = (text: string) => `user: A summary of the conversation so far:\n\n${text}`

test("a summary is stored: the next run starts from it, and writes a new one only when the conversation is too long again", async () => {
  const writer = scriptedModel(["Summary 1.", "Summary 2."])
  const model = scriptedModel(["A", "B", "C", "D", "E"])
  const history = summarise({ after: 4, keep: 2, model: writer })
  const chat = agent({ name: "x", model, messages: conversation(), history })
  const store = memoryStore()
  const say = (text: string) => chat.run(text, { store, thread: "t" })
  await say("a")
  await say("b")
  expect(writer.calls).toHaveLength(0)
  await say("c")
  expect(shown(writer, 0).at(-1)).toBe("user: user: a\n\nassistant: A\n\nuser: b")
  expect(shown(model, 2)).toEqual([summaryOf("Summary 1."), "assistant: B", "user: c"])
  await say("d")
  expect(writer.calls).toHaveLength(1)
  expect(shown(model, 3)).toEqual([
    summaryOf("Summary 1."),
    "assistant: B",
    "user: c",
    "assistant: C",
    "user: d",
  ])
  const { state, usage } = await say("e")
  expect(usage.modelCalls).toBe(2)
  // The second summary covers the first one.
  expect(shown(writer, 1).at(-1)).toBe(
    `user: ${summaryOf("Summary 1.")}\n\nassistant: B\n\nuser: c\n\nassistant: C\n\nuser: d`,
  )
  expect(shown(model, 4)).toEqual([summaryOf("Summary 2."), "assistant: D", "user: e"])
  // The conversation is complete, with both summaries.
  expect((state.messages as Message[]).filter((message) => !isSummary(message))).toHaveLength(10)
  expect(state.messages).toHaveLength(12)
  const prompts = [...writer.calls, ...model.calls].map(({ prompt }) => prompt)
  expect(JSON.stringify(prompts)).not.toContain("superstep")
})

test("in a long run the summary precedes the last user message, which stays unchanged", async () => {
  const look = tool({ name: "look", description: "Looks.", run: () => "seen" })
  const writer = pureModel(() => "Looked around.")
  const model = pureModel((_, turn) =>
    turn < 3 && writer.calls.length === 0 ? { calls: [{ name: "look" }] } : "ok",
  )
  const history = summarise({ after: 5, keep: 2, model: writer })
  await agent({ name: "x", model, tools: [look], history }).run("Look three times.")
  expect(shown(writer, 0).at(-1)).toMatch(/^user: user: Look three times\.\n\nassistant: look/)
  expect(shown(model, 3)).toEqual([
    summaryOf("Looked around."),
    "user: Look three times.",
    "assistant: look{}",
    'tool: "seen"',
  ])
})

test("an empty summary replaces nothing", async () => {
  const writer = pureModel(() => "  ")
  const model = pureModel(() => "ok")
  const messages = ["1", "2", "3"].map((content) => ({ role: "user", content }))
  await agent({ name: "x", model, history: summarise({ after: 2, model: writer }) }).run({ messages })
  expect(shown(model, 0)).toEqual(["user: 1", "user: 2", "user: 3"])
})

test("after a hand-off the other agent sees what its own policy selects, not a summary", async () => {
  const model = scriptedModel({
    a: ["Summary.", { tool_calls: [{ name: "handoff_to_b", args: {} }] }],
    b: ["B here"],
  })
  const b = agent({ name: "b", model })
  const a = agent({ name: "a", model, handoffs: [b], history: summarise({ after: 2 }) })
  await a.run({ messages: ["1", "2", "3"].map((content) => ({ role: "user", content })) })
  expect(shown(model, 1)).toEqual([summaryOf("Summary."), "user: 3"])
  expect(shown(model, 2).slice(0, 3)).toEqual(["user: 1", "user: 2", "user: 3"])
})

const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.string({ minLength: 1, maxLength: 3 }).map(userText),
  fc
    .string({ minLength: 1, maxLength: 3 })
    .map((text): Message => ({ role: "assistant", content: [{ type: "text", text }] })),
  fc.constant<Message>({
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "c", toolName: "t", input: {} }],
  }),
  fc.integer({ min: 0, max: 20 }).map((keep) => summaryMessage("so far", keep)),
)

test("whatever was summarised, every policy returns a valid history, and no provider sees a mark", () => {
  const policies: HistoryPolicy[] = [
    "all",
    lastItems(3),
    summarise({ after: 2 }),
    (messages) => messages.slice(1),
  ]
  fc.assert(
    fc.property(fc.array(anyMessage, { maxLength: 12 }), fc.constantFrom(...policies), (messages, policy) => {
      const before = validHistory(messages)
      const chosen = chooseMessages(policy, before)
      expect(validHistory(chosen)).toEqual(chosen)
      expect(JSON.stringify(chosen)).not.toContain("superstep")
      const asked = before.findLast((message) => message.role === "user" && !isSummary(message))
      if (asked !== undefined && typeof policy !== "function") expect(chosen).toContain(asked)
      const summary = before.findLastIndex(isSummary)
      const isSummarised = typeof policy === "object" && policy.kind === "summarise"
      if (isSummarised && summary >= 0) {
        const after = before.slice(summary + 1)
        expect(chosen.slice(chosen.length - after.length)).toEqual(after)
      }
    }),
    { numRuns: 100 },
  )
})

test("an invalid policy is rejected at once", () => {
  expect(() => summarise({ after: 4, keep: 4 })).toThrow(/keep must be a whole number from 0 to 3/)
  expect(() => summarise({ after: 0 })).toThrow(/after must be a whole number of at least 1/)
})
