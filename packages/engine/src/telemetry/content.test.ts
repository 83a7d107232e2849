/** Prompts and answers: in spans only if content is enabled, and never with secrets. */
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { z } from "zod"
import { agent } from "../agents/index.ts"
import { pureModel } from "../agents/stand-ins.test-support.ts"
import { tool } from "../tools/index.ts"
import { type Recorder, recorder } from "./recorder.test-support.ts"
import { telemetry } from "./telemetry.ts"

let recorded: Recorder
beforeEach(() => {
  recorded = recorder()
  vi.stubEnv("ACME_API_KEY", "plain-looking-key")
})
afterEach(() => {
  vi.unstubAllEnvs()
  expect(recorded.open()).toEqual([])
})

const login = tool({
  name: "login",
  description: "Logs in.",
  input: z.object({ user: z.string(), password: z.string() }),
  secret: ["password"],
  run: ({ user, password }) => ({ user, echo: password, token: "sk-live-1234567890abcdef" }),
})

const model = pureModel((_, turn) =>
  turn === 0
    ? {
        text: "I log in with hunter2-hunter2.",
        calls: [{ name: "login", args: { user: "olga", password: "hunter2-hunter2" }, id: "c1" }],
      }
    : "Welcome, olga.",
)
const porter = agent({ name: "porter", model, instructions: "Be brief.", tools: [login] })

async function run(content: boolean | undefined) {
  const { tracer, meter } = recorded
  const options = content === undefined ? {} : { content }
  await porter.run("Let me in; the key is plain-looking-key", {
    telemetry: telemetry({ tracer, meter, messages: false, ...options }),
  })
}

const all = () =>
  JSON.stringify(
    recorded.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  )
const read = (name: string, attribute: string, at = 0) =>
  JSON.parse(String(recorded.spans(name)[at]?.attributes[attribute]))

it.each([undefined, false])("spans contain no prompts or answers when content is %s", async (content) => {
  await run(content)
  for (const said of ["Let me in", "Be brief", "I log in", "Welcome", "olga", "hunter2"]) {
    expect(all()).not.toContain(said)
  }
  for (const name of [
    "system_instructions",
    "input.messages",
    "output.messages",
    "call.arguments",
    "call.result",
  ]) {
    expect(all()).not.toContain(name)
  }
})

it("with content, spans have prompts, answers, arguments and results in the shape of the conventions", async () => {
  await run(true)
  expect(read("chat model", "gen_ai.system_instructions")).toEqual([{ type: "text", content: "Be brief." }])
  expect(read("chat model", "gen_ai.input.messages", 1)).toEqual([
    { role: "user", parts: [{ type: "text", content: "Let me in; the key is [secret]" }] },
    {
      role: "assistant",
      parts: [
        { type: "text", content: "I log in with [secret]." },
        { type: "tool_call", id: "c1", name: "login", arguments: { user: "olga", password: "[secret]" } },
      ],
    },
    {
      role: "tool",
      parts: [
        {
          type: "tool_call_response",
          id: "c1",
          response: { user: "olga", echo: "[secret]", token: "[secret]" },
        },
      ],
    },
  ])
  expect(read("chat model", "gen_ai.output.messages")).toEqual([
    {
      role: "assistant",
      parts: [
        { type: "text", content: "I log in with [secret]." },
        { type: "tool_call", id: "c1", name: "login", arguments: { user: "olga", password: "[secret]" } },
      ],
      finish_reason: "tool_call",
    },
  ])
  expect(read("chat model", "gen_ai.output.messages", 1)).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "Welcome, olga." }], finish_reason: "stop" },
  ])
  expect(read("execute_tool login", "gen_ai.tool.call.arguments")).toEqual({
    user: "olga",
    password: "[secret]",
  })
  expect(read("execute_tool login", "gen_ai.tool.call.result")).toEqual({
    user: "olga",
    echo: "[secret]",
    token: "[secret]",
  })
})

it("secrets are in no span, with content or without", async () => {
  await run(true)
  for (const secret of ["hunter2", "plain-looking-key", "sk-live-1234567890abcdef"]) {
    expect(all()).not.toContain(secret)
  }
})

it("a key that an error quotes is masked, with content or without", async () => {
  const { tracer, meter } = recorded
  const leak = tool({
    name: "leak",
    description: "Fails.",
    input: z.object({}),
    run: () => {
      throw new Error("refused sk-live-1234567890abcdef")
    },
  })
  const calling = pureModel((_, turn) => (turn === 0 ? { calls: [{ name: "leak" }] } : "Done."))
  await agent({ name: "porter", model: calling, tools: [leak] }).run("go", {
    telemetry: telemetry({ tracer, meter, messages: false }),
  })
  expect(recorded.span("execute_tool leak").status.message).toBe("ERROR: refused [secret]")
  expect(all()).not.toContain("sk-live-1234567890abcdef")
})
