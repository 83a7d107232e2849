/** A history function of the user: its result is repaired, or rejected before a request is made. */
import { describe, expect, test } from "vitest"
import { type Message, scriptedModel } from "../models/index.ts"
import { agent, type HistoryPolicy } from "./index.ts"
import { shown } from "./stand-ins.test-support.ts"

const call = { type: "tool-call" as const, toolCallId: "1", toolName: "t", input: {} }
const result = {
  type: "tool-result" as const,
  toolCallId: "1",
  toolName: "t",
  output: { type: "text" as const, value: "v" },
}
const messages: readonly Message[] = [
  { role: "system", content: "S" },
  { role: "user", content: [{ type: "text", text: "a" }] },
  { role: "assistant", content: [{ type: "text", text: "A" }, call] },
  { role: "tool", content: [result] },
  { role: "assistant", content: [{ type: "text", text: "B" }] },
  { role: "user", content: [{ type: "text", text: "c" }] },
]

async function seen(history: unknown): Promise<string[]> {
  const model = scriptedModel(["ok"])
  await agent({ name: "x", model, history: history as HistoryPolicy }).run({ messages })
  return shown(model, 0)
}

describe("is repaired", () => {
  test.each<[string, (all: readonly Message[]) => unknown, string[]]>([
    ["a result without its call", (all) => all.slice(3), ["user: c"]],
    ["an assistant at the start", (all) => all.slice(4), ["user: c"]],
    ["an assistant alone", (all) => [all[0], all[4]], ["system: S", "user: c", "assistant: B"]],
    ["no message at all", () => [], ["user: c"]],
    ["the system alone", (all) => all.slice(0, 1), ["system: S", "user: c"]],
    ["content as a string", () => [{ role: "user", content: "d" }], ["user: d"]],
  ])("%s", async (_, choose, expected) => {
    expect(await seen(choose)).toEqual(expected)
  })
})

describe("is rejected before a request is made", () => {
  test.each<[string, (all: readonly Message[]) => unknown, RegExp]>([
    ["nothing", () => undefined, /returned nothing instead of a list/],
    ["a promise", async (all) => all, /returned a promise instead of a list/],
    ["something else", () => ["hello"], /not a message, at 0/],
    ["an unknown role", () => [{ role: "bot", content: "x" }], /not a message, at 0/],
  ])("%s", async (_, choose, message) => {
    const model = scriptedModel(["ok"])
    const run = agent({ name: "x", model, history: choose as never }).run({ messages })
    await expect(run).rejects.toMatchObject({
      cause: { code: "HISTORY_INVALID", message: expect.stringMatching(message) },
    })
    expect(model.calls).toEqual([])
  })
})
