import { expect, test } from "vitest"
import { z } from "zod"
import { workflow } from "../builder/index.ts"
import { scriptedModel } from "../models/index.ts"
import { tool } from "../tools/index.ts"
import { agent, agentNode } from "./index.ts"

const any = tool({ name: "any", description: "Any.", input: z.looseObject({}), run: () => 1 })
const output = z.object({ a: z.unknown() })

test("a schema that OpenAI cannot enforce is a warning when the workflow is built, even as a node of another", () => {
  const reader = agent({ name: "reader", model: "openai/gpt-5", output, tools: [any] })
  const messages = [
    'Agent "reader": OpenAI cannot enforce the schema of its output, because "a" may be anything. The answer is checked afterwards.',
    'Agent "reader": OpenAI cannot enforce the schema of tool "any", because it may have other properties. The answer is checked afterwards.',
  ]
  expect(reader.warnings.map(({ message }) => message)).toEqual(messages)
  const node = agentNode(reader as never, { id: "read" })
  const { warnings } = workflow("w").start(node).build()
  expect(warnings).toMatchObject(
    messages.map((message) => ({ code: "SCHEMA_NOT_ENFORCED", message, nodes: ["read"] })),
  )
})

test.each([
  ["another provider", { model: "anthropic/claude-sonnet-4-5", output, tools: [any] }],
  ["a scripted model", { model: scriptedModel([]), output, tools: [any] }],
  ["a compatible server, for tools", { model: { provider: "openai-compatible", model: "m" }, tools: [any] }],
  ["a schema that is described", { model: "openai/gpt-5", output: z.object({ a: z.string().optional() }) }],
])("none for %s", (_, options) => {
  expect(agent({ name: "reader", ...options } as never).warnings).toEqual([])
})
