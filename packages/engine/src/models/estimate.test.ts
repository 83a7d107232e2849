import { expect, test } from "vitest"
import { estimateInput, estimateTokens } from "./usage.ts"

test("four letters are about a token, and so is one character of a dense script", () => {
  expect(estimateTokens("")).toBe(0)
  expect(estimateTokens("abcd".repeat(25))).toBe(25)
  expect(estimateTokens("abc")).toBe(1)
  expect(estimateTokens("你好世界")).toBe(4)
  expect(estimateTokens("日本語 text")).toBe(5)
})

test("the estimate includes instructions, files, calls, results and tools", () => {
  const small = estimateInput({ prompt: [{ role: "system", content: "Be brief." }] })
  const tool = {
    type: "function" as const,
    name: "find",
    inputSchema: { type: "object" as const, properties: { q: { type: "string" as const } } },
  }
  const large = estimateInput({
    prompt: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?" },
          { type: "file", mediaType: "image/png", data: "x".repeat(1_000_000) },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool-call", toolCallId: "1", toolName: "find", input: { q: "y".repeat(400) } }],
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "1",
            toolName: "find",
            output: { type: "text", value: "z".repeat(400) },
          },
        ],
      },
    ],
    tools: [tool],
  })
  expect(small).toBe(7)
  expect(large).toBeGreaterThan(small + 1_000 + 200)
  expect(large).toBeLessThan(2_000)
})

test("a message and a list of tools are measured once, however many calls they are part of", () => {
  let reads = 0
  const input = {
    get q() {
      reads += 1
      return "y".repeat(400)
    },
  }
  const call = { type: "tool-call" as const, toolCallId: "1", toolName: "find", input }
  const message = { role: "assistant" as const, content: [call] }
  const schema = { type: "object" as const, default: input }
  const tools = [{ type: "function" as const, name: "find", inputSchema: schema }]
  const first = estimateInput({ prompt: [message], tools })
  expect(estimateInput({ prompt: [message], tools })).toBe(first)
  expect(estimateInput({ prompt: [message, message], tools })).toBeGreaterThan(first)
  expect(reads).toBe(2)
})
