/** Code that a provider runs: its calls, logs and files are on record, go back to it, and a crash repeats no request that was answered. */
import { createAnthropic } from "@ai-sdk/anthropic"
import { createOpenAI } from "@ai-sdk/openai"
import { memoryStore } from "@superstep/engine"
import { type AgentOptions, agent, conversation } from "@superstep/engine/agents"
import { providerTool, tool } from "@superstep/engine/tools"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { claude, claudeBlocks, toolUse } from "./anthropic-replies.ts"
import { type ModelServer, modelServer, type ServedReply } from "./model-server.ts"
import { callItem, codeItem, messageItem, reasoningItem, responds } from "./responses-replies.ts"

let server: ModelServer
beforeEach(async () => {
  server = await modelServer()
})
afterEach(async () => {
  await server.close()
  expect(server.refusals).toEqual([])
})

const note = tool({ name: "note", description: "Notes.", run: () => "noted" })
const never: ServedReply = () => undefined

interface Provider {
  options(): Pick<AgentOptions, "model" | "tools" | "settings">
  /** The code runs, and a tool of one's own is called. */
  first(streamed: boolean): ServedReply
  second(streamed: boolean): ServedReply
  third(streamed: boolean): ServedReply
  /** What is on record of the first reply, and of the second one. */
  readonly call: object
  readonly result: object
  readonly answered: readonly object[]
  /** What the provider gets back of the first reply. */
  readonly sentBack: RegExp
}

const openai = () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: "k" })
const anthropic = () => createAnthropic({ baseURL: `${server.url}/v1`, apiKey: "k" })

const outputs = [
  { type: "logs", logs: "42\n" },
  { type: "image", url: "https://files.example.com/plot.png" },
]
const citation = {
  type: "container_file_citation",
  container_id: "cntr_1",
  file_id: "cfile_1",
  filename: "plot.csv",
  start_index: 0,
  end_index: 4,
}

const code = 'print("6 * 7")'
const interpreter = (store: boolean): Provider => ({
  options: () => ({
    model: openai()("gpt-5"),
    tools: [providerTool(openai().tools.codeInterpreter({})), note],
    ...(!store && {
      settings: { providerOptions: { openai: { store, include: ["reasoning.encrypted_content"] } } },
    }),
  }),
  first: () =>
    responds([
      reasoningItem("rs_1", "", "secret thoughts"),
      codeItem("ci_1", code, outputs),
      reasoningItem("rs_2", "", "more of them"),
      callItem("fc_1", "call_1", "note", {}),
    ]),
  second: () =>
    responds([
      reasoningItem("rs_3", "", "and more"),
      codeItem("ci_2", "1 / 0", [{ type: "logs", logs: "ZeroDivisionError" }]),
      messageItem("msg_1", "It is 42.", [citation]),
    ]),
  third: () => responds([messageItem("msg_2", "Still 42.")]),
  call: { type: "provider-call", id: "ci_1", args: JSON.stringify({ code, containerId: "cntr_1" }) },
  result: { type: "provider-result", id: "ci_1", result: { outputs } },
  answered: [
    {
      type: "provider-result",
      id: "ci_2",
      result: { outputs: [{ type: "logs", logs: "ZeroDivisionError" }] },
    },
    {
      type: "source",
      title: "plot.csv",
      providerMetadata: {
        openai: { type: "container_file_citation", fileId: "cfile_1", containerId: "cntr_1" },
      },
    },
  ],
  sentBack: store ? /"ci_1"/ : /6 \* 7.*42/,
})

const stdout = {
  stdout: "42\n",
  stderr: "",
  return_code: 0,
}
const execution = (version: "20250522" | "20250825"): Provider => {
  const isBash = version === "20250825"
  const name = isBash ? "bash_code_execution" : "code_execution"
  const input = isBash ? { command: "python -c 'print(6 * 7)'" } : { code: "print(6 * 7)" }
  const content = {
    ...stdout,
    type: `${name}_result`,
    content: [{ type: `${name}_output`, file_id: "file_1" }],
  }
  const failed = { type: `${name}_tool_result_error`, error_code: "unavailable" }
  const reply = (streamed: boolean, blocks: readonly Record<string, unknown>[], stop: string) =>
    streamed ? claudeBlocks(blocks, stop) : claude(blocks, stop)
  return {
    options: () => ({
      model: anthropic()("claude-sonnet-4-5"),
      tools: [
        providerTool(
          isBash ? anthropic().tools.codeExecution_20250825() : anthropic().tools.codeExecution_20250522({}),
        ),
        note,
      ],
    }),
    first: (streamed) =>
      reply(
        streamed,
        [
          { type: "server_tool_use", id: "srvtoolu_1", name, input },
          { type: `${name}_tool_result`, tool_use_id: "srvtoolu_1", content },
          toolUse("toolu_1", "note", {}),
        ],
        "tool_use",
      ),
    second: (streamed) =>
      reply(
        streamed,
        [
          { type: "server_tool_use", id: "srvtoolu_2", name, input },
          { type: `${name}_tool_result`, tool_use_id: "srvtoolu_2", content: failed },
          { type: "text", text: "It is 42." },
        ],
        "end_turn",
      ),
    third: (streamed) => reply(streamed, [{ type: "text", text: "Still 42." }], "end_turn"),
    call: { type: "provider-call", id: "srvtoolu_1", name: "code_execution" },
    result: { type: "provider-result", id: "srvtoolu_1", result: content },
    answered: [{ type: "provider-result", id: "srvtoolu_2" }],
    sentBack: new RegExp(`"${name}_tool_result".*"file_1"`),
  }
}

const providers: [string, Provider][] = [
  ["OpenAI's code interpreter", interpreter(true)],
  ["OpenAI's code interpreter, nothing stored there", interpreter(false)],
  ["Anthropic's code execution", execution("20250522")],
  ["Anthropic's code execution in a shell", execution("20250825")],
]

describe.each(providers)("%s", (_, provider) => {
  const coder = (streamed: boolean) =>
    agent({
      name: "coder",
      calling: { retry: { attempts: 1 } },
      stream: streamed,
      messages: conversation(),
      ...provider.options(),
    })

  test.each([true, false])(
    "is on record with logs and files, over several turns and runs; streamed: %s",
    async (streamed) => {
      server.serve(provider.first(streamed), provider.second(streamed), provider.third(streamed))
      const store = memoryStore()
      const run = coder(streamed).stream("6 * 7?", { store, thread: "t" })
      const replies: { content?: unknown }[] = []
      for await (const event of run) if (event.type === "step.recorded") replies.push(event.value as never)
      const { outputs: answers, agents } = await run.result
      expect(answers).toEqual(["It is 42."])
      const [first, second] = replies.filter(({ content }) => content !== undefined)
      expect(first?.content).toEqual(
        expect.arrayContaining([
          expect.objectContaining(provider.call),
          expect.objectContaining(provider.result),
        ]),
      )
      for (const part of provider.answered) {
        expect(second?.content).toContainEqual(expect.objectContaining(part))
      }
      const sources = provider.answered.filter((part) => "title" in part)
      expect(agents?.[0]?.sources).toMatchObject(sources)
      const next = await coder(streamed).run("And now?", { store, thread: "t" })
      expect(next.outputs).toEqual(["Still 42."])
      for (const n of [1, 2]) expect(JSON.stringify(server.requests[n]?.body)).toMatch(provider.sentBack)
    },
  )

  test.each([true, false])(
    "a crash repeats the request that had no answer, byte for byte; streamed: %s",
    async (streamed) => {
      server.serve(provider.first(streamed), never, provider.second(streamed))
      const store = memoryStore()
      const dying = coder(streamed).stream("6 * 7?", { store, runId: "r" })
      await server.requested(2)
      const again = coder(streamed).resume("r", { store, takeOver: true })
      expect((await again).outputs).toEqual(["It is 42."])
      expect(server.requests).toHaveLength(3)
      expect(server.requests[2]?.body).toEqual(server.requests[1]?.body)
      await dying.result.catch(() => undefined)
    },
  )
})
