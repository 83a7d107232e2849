/** H1 to H5 for any conversation, and for the result of every policy. */
import fc from "fast-check"
import { expect, test } from "vitest"
import type { Message } from "../models/index.ts"
import { scriptedModel } from "../models/script/scripted-model.ts"
import { chooseMessages } from "./history-policy.ts"
import {
  agent,
  conversation,
  type HistoryPolicy,
  lastItems,
  summarise,
  tokenWindow,
  validHistory,
} from "./index.ts"
import { shown } from "./stand-ins.test-support.ts"

const id = fc.constantFrom("1", "2", "3", "")
const call = id.map((toolCallId) => ({ type: "tool-call" as const, toolCallId, toolName: "t", input: {} }))
const result = id.map((toolCallId) => ({
  type: "tool-result" as const,
  toolCallId,
  toolName: "t",
  output: { type: "text" as const, value: "v" },
}))
const text = fc.string({ maxLength: 8 }).map((said) => ({ type: "text" as const, text: said }))
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.string({ maxLength: 4 }).map((content): Message => ({ role: "system", content })),
  fc.array(text, { maxLength: 2 }).map((content): Message => ({ role: "user", content })),
  fc
    .array(fc.oneof(text, call), { maxLength: 4 })
    .map((content): Message => ({ role: "assistant", content })),
  fc.array(result, { maxLength: 4 }).map((content): Message => ({ role: "tool", content })),
)
const anything = fc.array(message, { maxLength: 12 })

const callIds = ({ role, content }: Message) =>
  role === "assistant" ? content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : [])) : []
const resultIds = ({ role, content }: Message) =>
  role === "tool" ? content.flatMap((part) => (part.type === "tool-result" ? [part.toolCallId] : [])) : []

function check(messages: readonly Message[]): void {
  const seen = new Set<string>()
  for (const [at, one] of messages.entries()) {
    expect(one.content.length).toBeGreaterThan(0)
    const calls = callIds(one)
    for (const made of calls) {
      expect(seen.has(made)).toBe(false)
      seen.add(made)
    }
    const next = messages[at + 1]
    if (calls.length > 0) expect(next && resultIds(next)).toEqual(calls)
    if (one.role === "tool") expect(callIds(messages[at - 1] as Message)).toEqual(resultIds(one))
  }
}

test("any conversation becomes one in which every call has exactly one result, right after it", () => {
  fc.assert(
    fc.property(anything, (messages) => check(validHistory(messages))),
    { numRuns: 150 },
  )
})

test("a valid conversation stays unchanged, and texts keep their order", () => {
  fc.assert(
    fc.property(anything, (messages) => {
      const valid = validHistory(messages)
      expect(validHistory(valid)).toEqual(valid)
      const texts = (list: readonly Message[]) =>
        list.flatMap(({ role, content }) =>
          role === "tool" || typeof content === "string"
            ? []
            : content.flatMap((part) => (part.type === "text" ? [part.text] : [])),
        )
      expect(texts(valid)).toEqual(texts(messages))
    }),
    { numRuns: 150 },
  )
})

test("every policy returns a valid conversation, with the system messages and the last user message", () => {
  const policy: fc.Arbitrary<HistoryPolicy> = fc.oneof(
    fc.integer({ min: 1, max: 6 }).map(lastItems),
    fc.integer({ min: 1, max: 60 }).map(tokenWindow),
    fc.integer({ min: 0, max: 6 }).map((n) => (list: readonly Message[]) => list.slice(n)),
  )
  fc.assert(
    fc.property(anything, policy, (messages, chosen) => {
      const before = validHistory(messages)
      const left = chooseMessages(chosen, before)
      check(left)
      if (typeof chosen === "function") return
      const asked = before.findLast(({ role }) => role === "user")
      if (asked !== undefined) expect(left).toContain(asked)
      for (const one of before) if (one.role === "system") expect(left).toContain(one)
    }),
    { numRuns: 150 },
  )
})

test("the model sees only the last items, and the conversation stays complete", async () => {
  const model = scriptedModel([{ text: "ok", repeat: true }])
  const messages = conversation()
  const chat = agent({ name: "x", model, messages, history: lastItems(3), instructions: "S" })
  const said = ["a", "b", "c"].flatMap((letter): Message[] => [
    { role: "user", content: [{ type: "text", text: letter }] },
    { role: "assistant", content: [{ type: "text", text: letter.toUpperCase() }] },
  ])
  const { state } = await chat.run("d", { state: { messages: said } })
  expect(shown(model, 0)).toEqual(["system: S", "user: c", "assistant: C", "user: d"])
  expect(state.messages).toHaveLength(8)
})

test("a long conversation is summarised once, the summary counts, and the last question stays", async () => {
  const model = scriptedModel([{ text: "one" }, { text: "They counted." }, { text: "five" }, { text: "six" }])
  const chat = agent({ name: "x", model, history: summarise({ after: 4, keep: 2 }), repairs: 2 })
  await chat.run({ messages: [{ role: "user", content: "1" }] })
  const messages = ["1", "2", "3", "4", "5"].map((content, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content,
  }))
  const { usage } = await chat.run({ messages })
  expect(usage.modelCalls).toBe(2)
  expect(shown(model, 1).at(-1)).toContain("user: 1\n\nassistant: 2\n\nuser: 3")
  expect(shown(model, 2)).toEqual([
    "user: A summary of the conversation so far:\n\nThey counted.",
    "assistant: 4",
    "user: 5",
  ])
})
