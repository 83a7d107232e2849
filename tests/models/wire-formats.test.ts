/**
 * Agents against servers that refuse what the providers refuse, through the providers' own packages: hand-offs, fallbacks,
 * thinking, secrets, schemas.
 */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { agent } from "@superstep/engine/agents"
import type { Model } from "@superstep/engine/models"
import { tool } from "@superstep/engine/tools"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { z } from "zod"
import { claude, thinking, toolUse } from "./anthropic-replies.ts"
import { type ModelServer, modelServer } from "./model-server.ts"
import { refused, text, toolCalls } from "./openai-replies.ts"
import { callItem, messageItem, reasoningItem, responds } from "./responses-replies.ts"

let server: ModelServer
beforeEach(async () => {
  server = await modelServer()
})
afterEach(async () => {
  await server.close()
  expect(server.refusals).toEqual([])
})

const openai = () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" })
const anthropic = (model = "claude-sonnet-4-5") =>
  createAnthropic({ baseURL: `${server.url}/v1`, apiKey: "k" })(model)
const compatible = () =>
  createOpenAICompatible({ name: "local", baseURL: `${server.url}/v1`, supportsStructuredOutputs: true })(
    "m1",
  )

const calling = { retry: { attempts: 1 } }
const find = tool({
  name: "find",
  description: "Finds it.",
  input: z.object({ what: z.string(), most: z.number().optional() }),
  run: ({ what, ...rest }) => ({ found: what, ...rest }),
})
const thinks = { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 2_000 } } } }
const body = (n: number) => server.requests[n]?.body ?? {}

describe("hand-offs", () => {
  const team = (first: Model, second: Model) => {
    const specialist = agent({ name: "specialist", model: second, calling })
    return agent({ name: "triage", model: first, calling, handoffs: [specialist] })
  }
  const handsOver = () =>
    responds([reasoningItem("rs_9", "Billing."), callItem("fc_2", "call_2", "handoff_to_specialist", {})])

  test("an OpenAI reasoning model hands over to an agent without tools", async () => {
    server.serve(handsOver(), responds([reasoningItem("rs_2"), messageItem("msg_2", "Paid.")]))
    const { outputs } = await team(openai()("gpt-5"), openai()("gpt-5")).run("My bill?")
    expect(outputs).toEqual(["Paid."])
  })

  test("reasoning does not reach a model that did not write it", async () => {
    server.serve(
      responds([reasoningItem("rs_1"), callItem("fc_1", "call_1", "find", { what: "bill", most: null })]),
      handsOver(),
      responds([messageItem("msg_3", "Paid.")]),
    )
    const specialist = agent({ name: "specialist", model: openai()("gpt-4.1"), calling, tools: [find] })
    const more = { tools: [find], handoffs: [specialist] }
    const triage = agent({ name: "triage", model: openai()("gpt-5"), calling, ...more })
    expect((await triage.run("My bill?")).outputs).toEqual(["Paid."])
    expect(JSON.stringify(body(2))).toMatch(/function_call_output.*function_call_output/)
  })

  test("a conversation that reasoned continues over several turns and runs", async () => {
    server.serve(
      responds([reasoningItem("rs_1"), callItem("fc_1", "call_1", "find", { what: "a", most: null })]),
      responds([reasoningItem("rs_2"), callItem("fc_2", "call_2", "find", { what: "b", most: 3 })]),
      responds([reasoningItem("rs_3"), messageItem("msg_3", "Found both.")]),
    )
    const finder = agent({ name: "finder", model: openai()("gpt-5"), calling, tools: [find] })
    expect((await finder.run("Find a and b.")).outputs).toEqual(["Found both."])
    const outputs = (body(2).input as { type?: string; output?: string }[]).filter(
      ({ type }) => type === "function_call_output",
    )
    // The null that a strict schema makes the model write did not reach the tool.
    expect(outputs.map(({ output }) => JSON.parse(output ?? ""))).toEqual([
      { found: "a" },
      { found: "b", most: 3 },
    ])
  })

  test("an answer that was cut off while reasoning leaves a conversation that can continue", async () => {
    const cut = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } }
    server.serve(responds([reasoningItem("rs_1")], cut), responds([messageItem("msg_2", '{"n":1}')]))
    const counter = agent({
      name: "counter",
      model: openai()("gpt-5"),
      calling,
      output: z.object({ n: z.number() }),
      onTruncated: "continue",
    })
    expect((await counter.run("Count.")).outputs).toEqual([{ n: 1 }])
  })
})

describe("Anthropic's thinking", () => {
  const use = toolUse("toolu_1", "find", { what: "a" })

  test("goes back signed and first, turn after turn", async () => {
    server.serve(
      claude([thinking("Look for a.", "sig-1"), use], "tool_use"),
      claude([toolUse("toolu_2", "find", { what: "b" })], "tool_use"),
      claude([{ type: "text", text: "Found." }], "end_turn"),
    )
    const finder = agent({ name: "finder", model: anthropic(), settings: thinks, calling, tools: [find] })
    expect((await finder.run("Find a.")).outputs).toEqual(["Found."])
    expect(JSON.stringify(body(2))).toContain("sig-1")
  })

  test("a secret in it drops the block, not its text, and the turn continues without thinking", async () => {
    const login = tool({
      name: "login",
      description: "Logs in.",
      input: z.object({ password: z.string() }),
      secret: ["password"],
      run: () => "in",
    })
    server.serve(
      claude(
        [
          thinking("The password is hunter2-hunter2.", "sig-1"),
          toolUse("toolu_1", "login", { password: "hunter2-hunter2" }),
        ],
        "tool_use",
      ),
      claude([{ type: "text", text: "You are in." }], "end_turn"),
      claude([{ type: "text", text: "Yes." }], "end_turn"),
    )
    const keeper = agent({ name: "keeper", model: anthropic(), settings: thinks, calling, tools: [login] })
    expect((await keeper.run("Log me in.")).outputs).toEqual(["You are in."])
    expect(JSON.stringify(body(1))).not.toMatch(/hunter2|sig-1/)
    expect(body(1).thinking).toEqual({ type: "disabled" })
    await keeper.run("Again?")
    expect(body(2).thinking).toMatchObject({ type: "enabled" })
  })

  test("a fallback to Anthropic in the middle of a turn that another provider began", async () => {
    server.serve(
      responds([reasoningItem("rs_1"), callItem("fc_1", "call_1", "find", { what: "a", most: null })]),
      refused(500, "Down"),
      claude([{ type: "text", text: "Found." }], "end_turn"),
    )
    const finder = agent({
      name: "finder",
      model: [openai()("gpt-5"), anthropic()],
      settings: thinks,
      calling,
      tools: [find],
    })
    expect((await finder.run("Find a.")).outputs).toEqual(["Found."])
  })

  test("a fallback from Anthropic to OpenAI, in both of its interfaces", async () => {
    const long = `toolu_${"x".repeat(60)}`
    server.serve(
      claude([thinking("Hm.", "sig-1"), toolUse(long, "find", { what: "a" })], "tool_use"),
      refused(500, "Down"),
      refused(500, "Down"),
      text("Found."),
    )
    const finder = agent({
      name: "finder",
      model: [anthropic(), openai()("gpt-5"), openai().chat("gpt-5")],
      calling,
      tools: [find],
    })
    expect((await finder.run("Find a.")).outputs).toEqual(["Found."])
  })
})

describe.each<[string, () => Model]>([
  ["OpenAI's Responses", () => openai()("gpt-5")],
  ["OpenAI's Chat Completions", () => openai().chat("gpt-5")],
  ["a compatible server", () => compatible()],
  ["Anthropic with structured outputs", () => anthropic()],
  ["Anthropic without them", () => anthropic("claude-3-5-haiku-latest")],
])("schemas for %s", (name, model) => {
  const isClaude = name.startsWith("Anthropic")
  const answers = (json: string) => {
    if (name.includes("Responses")) return responds([messageItem("msg_1", json)])
    if (name.includes("without")) return claude([toolUse("toolu_9", "json", JSON.parse(json))], "tool_use")
    return isClaude ? claude([{ type: "text", text: json }], "end_turn") : text(json)
  }

  test.each<[string, z.ZodType, unknown, unknown]>([
    [
      "optional properties",
      z.object({ a: z.string(), b: z.string().optional() }),
      { a: "x", b: null },
      { a: "x" },
    ],
    [
      "defaults",
      z.object({ a: z.string().default("y"), b: z.int().min(1) }),
      { a: null, b: 2 },
      { a: "y", b: 2 },
    ],
    ["a list", z.array(z.string()), { value: ["x"] }, ["x"]],
    [
      "a union",
      z.union([z.object({ a: z.string() }), z.object({ b: z.number() })]),
      { value: { b: 1 } },
      { b: 1 },
    ],
    [
      "a map",
      z.object({ m: z.record(z.string(), z.number()) }),
      { m: [{ key: "a", value: 1 }] },
      { m: { a: 1 } },
    ],
    ["anything", z.object({ a: z.unknown() }), { a: [1] }, { a: [1] }],
    ["an open object", z.looseObject({ a: z.string() }), { a: "x", b: 1 }, { a: "x", b: 1 }],
  ])("%s", async (_, schema, wrote, expected) => {
    server.serve(answers(JSON.stringify(isClaude && !("value" in (wrote as object)) ? expected : wrote)))
    const reader = agent({ name: "reader", model: model(), calling, output: schema, repairs: 0 })
    expect((await reader.run("Read.")).outputs).toEqual([expected])
  })

  test("a tool whose arguments are a union, and one that takes anything", async () => {
    const seen: unknown[] = []
    const pick = tool({
      name: "pick",
      description: "Picks.",
      input: z.union([z.object({ a: z.string().optional() }), z.object({ b: z.number() })]) as never,
      run: (args: unknown) => seen.push(args),
    })
    const any = tool({ name: "any", description: "Any.", input: z.looseObject({}), run: () => 1 })
    const args = { value: { a: null } }
    server.serve(
      name.includes("Responses")
        ? responds([callItem("fc_1", "call_1", "pick", args)])
        : isClaude
          ? claude([toolUse("toolu_1", "pick", args)], "tool_use")
          : toolCalls({ id: "call_1", name: "pick", args: JSON.stringify(args) }),
      name.includes("Responses")
        ? responds([messageItem("msg_1", "Done.")])
        : isClaude
          ? claude([{ type: "text", text: "Done." }], "end_turn")
          : text("Done."),
    )
    const picker = agent({ name: "picker", model: model(), calling, tools: [pick, any] })
    expect((await picker.run("Pick.")).outputs).toEqual(["Done."])
    expect(seen).toEqual([{}])
  })
})
