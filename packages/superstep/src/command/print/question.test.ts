import { PassThrough } from "node:stream"
import type { Json, OpenRequest } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { terminal } from "../terminal/terminal.ts"
import { expectedAnswer, printQuestion } from "./question.ts"

const approval = { kind: "tool-approval", agent: "a", tool: "shell", call: "1", args: { cmd: "ls" } }

describe("the expected answer in words", () => {
  test.each<[Json | undefined, string]>([
    [undefined, "text"],
    [{ type: "string" }, "text"],
    [{ type: "boolean" }, "yes or no"],
    [{ type: "integer" }, "a whole number"],
    [{ enum: ["red", 2] }, "one of red, 2"],
    [{ const: "ok" }, "ok"],
    [
      { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
      "yes, no, or JSON with ok (yes or no)",
    ],
    [
      {
        type: "object",
        properties: { amount: { type: "number" }, team: { enum: ["a", "b"] }, why: { type: "string" } },
        required: ["amount", "team"],
      },
      "JSON with amount (a number), team (one of a, b), why (text, optional)",
    ],
    [{ type: "array" }, 'JSON that matches {"type":"array"}'],
    [{ anyOf: [] }, 'JSON that matches {"anyOf":[]}'],
    [true, "JSON that matches true"],
  ])("%j: %s", (schema, text) => {
    expect(expectedAnswer({ schema })).toBe(text)
  })

  test("an approval is yes, always or no", () => {
    expect(expectedAnswer({ schema: { type: "object" }, data: approval })).toBe(
      "yes, always, or no with a reason",
    )
  })
})

function printed(request: Partial<OpenRequest>, storeFlag = ""): string {
  const stream = new PassThrough().setEncoding("utf8")
  const open = { id: "r1", node: "n", task: 1, prompt: "Continue?", openedAt: 0, runId: "run", ...request }
  printQuestion(terminal(stream), open, { now: 60_000, storeFlag })
  return stream.read() as string
}

test("a question has its recipient, its deadline, and the command to answer it", () => {
  expect(
    printed({ to: "Ada", deadline: 120_000, schema: { enum: ["red", "blue"] } }, " --store sqlite:x"),
  ).toBe(
    `  n, to Ada, 1m old, 1m left
    Continue?
    An answer is one of red, blue.
    superstep respond run r1 red --store sqlite:x
`,
  )
  expect(printed({ deadline: 1 })).toContain("expired")
})

test("a question of a nested workflow has a quoted id", () => {
  expect(printed({ id: "2:call 1/r1" })).toContain("respond run '2:call 1/r1' ")
})

test("untrusted text cannot control the terminal, and fits the width", () => {
  const text = printed({ prompt: "\u001b[2J".repeat(60), data: { long: "x".repeat(2_000) } })
  expect(text).not.toContain("\u001b")
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80)
})

test("a hand-off has the conversation, and its routes by name", () => {
  const messages = Array.from({ length: 6 }, (_, i) => ({
    role: i % 2 ? "assistant" : "user",
    text: `m${i} ${"x ".repeat(i * 30)}`,
  }))
  const text = printed({ prompt: "A person is needed.", data: { messages, routes: ["Billing", "Sales"] } })
  expect(text).toContain("    A person is needed.\n    … 2 earlier\n    user: m2 x x")
  expect(text).toContain(
    'An answer is text, {"route": …} with one of Billing, Sales, or {"end": true}.'.slice(0, 40),
  )
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80)
})
