/** The UI message stream, with the AI SDK's own transport and chat. */
import { scriptedModel } from "@superstep/engine/models"
import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai"
import { expect, test } from "vitest"
import { ask, chatServer, clerk, desk, fail, gated, greet, REFUND } from "./chat.test-support.ts"

/** The state that `useChat` keeps, without React. */
class PlainState implements ChatState<UIMessage> {
  status: ChatState<UIMessage>["status"] = "ready"
  error: Error | undefined
  messages: UIMessage[] = []
  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, message]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, structuredClone(message))
  }
  snapshot = <T>(thing: T): T => structuredClone(thing)
}

class PlainChat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    super({ ...init, state: new PlainState() })
  }
}

interface Options extends Partial<ChatInit<UIMessage>> {
  readonly key?: string
  readonly fetch?: typeof fetch
}

function chatWith(url: string, workflow: string, { key, fetch, ...init }: Options = {}): PlainChat {
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${url}/v1/workflows/${workflow}/chat`,
    ...(key !== undefined && { headers: { authorization: `Bearer ${key}` } }),
    ...(fetch !== undefined && { fetch }),
  })
  return new PlainChat({ id: "c1", transport, ...init })
}

const textOf = ({ lastMessage }: PlainChat) =>
  lastMessage?.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("|")

const partsOf = ({ lastMessage }: PlainChat) =>
  lastMessage?.parts.map((part) => ("state" in part ? `${part.type} ${part.state}` : part.type))

test("text, reasoning, tools and their results arrive as parts of one message", async () => {
  const { url } = await chatServer([
    clerk([
      { text: "I look.", tool_calls: [{ name: "stock", args: { item: "lamp" } }] },
      { reasoning: "Three are left.", text: "Three lamps.", sources: [{ url: "https://example.com/a" }] },
    ]),
  ])
  const chat = chatWith(url, "clerk")
  await chat.sendMessage({ text: "How many lamps?" })
  expect([chat.status, chat.error]).toEqual(["ready", undefined])
  expect(chat.messages.map(({ role }) => role)).toEqual(["user", "assistant"])
  expect(partsOf(chat)).toEqual([
    "step-start",
    "text done",
    "dynamic-tool output-available",
    "step-start",
    "reasoning done",
    "text done",
    "source-url",
  ])
  expect(chat.lastMessage?.parts[2]).toMatchObject({
    toolName: "stock",
    input: { item: "lamp" },
    output: { item: "lamp", left: 3 },
  })
  expect(chat.lastMessage?.metadata).toMatchObject({ run: expect.any(String), usage: { modelCalls: 2 } })
})

test("a chat continues in its thread, with the new message only", async () => {
  const model = scriptedModel(["Hello Ada.", "You are Ada."])
  const { url, runtime } = await chatServer([desk(model)])
  const chat = chatWith(url, "desk")
  await chat.sendMessage({ text: "I am Ada." })
  await chat.sendMessage({ text: "Who am I?" })
  expect(textOf(chat)).toBe("You are Ada.")
  expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
  expect((await runtime.runs({})).map(({ thread }) => thread)).toEqual(["c1", "c1"])
})

test("a file reaches an agent, and a workflow that takes text refuses it", async () => {
  const model = scriptedModel(["A lamp."])
  const { url } = await chatServer([clerk(model), greet])
  const png = "data:image/png;base64,iVBORw0KGgo="
  const file = { type: "file", mediaType: "image/png", url: png } as const
  const chat = chatWith(url, "clerk")
  await chat.sendMessage({ text: "What is it?", files: [file] })
  expect(textOf(chat)).toBe("A lamp.")
  expect(model.calls[0]?.prompt[0]?.content).toMatchObject([
    { type: "file", mediaType: "image/png" },
    { type: "text", text: "What is it?" },
  ])
  const other = chatWith(url, "greet")
  await other.sendMessage({ text: "x", files: [file] })
  expect(other.error?.message).toContain("accepts text only")
})

test("an approval: the message waits, and continues with the answer in the same run", async () => {
  const { url, runtime } = await chatServer([desk(REFUND)])
  let isDone = () => {}
  const done = new Promise<void>((resolve) => {
    isDone = resolve
  })
  const chat = chatWith(url, "desk", {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onFinish: ({ finishReason }) => (finishReason === "stop" ? isDone() : undefined),
  })
  await chat.sendMessage({ text: "Refund A7." })
  expect(partsOf(chat)).toEqual(["step-start", "text done", "dynamic-tool approval-requested"])
  const part = chat.lastMessage?.parts[2]
  if (part?.type !== "dynamic-tool" || part.state !== "approval-requested") throw new Error("no approval")
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true })
  await done
  expect(partsOf(chat)).toEqual([
    "step-start",
    "text done",
    "dynamic-tool output-available",
    "step-start",
    "text done",
  ])
  expect(textOf(chat)).toBe("One moment.|Order A7 is refunded.")
  expect(chat.messages).toHaveLength(2)
  expect(await runtime.runs({})).toHaveLength(1)
})

test("an approval that is refused is a denied tool, with the reason for the model", async () => {
  const model = scriptedModel(REFUND)
  const { url } = await chatServer([desk(model)])
  const chat = chatWith(url, "desk")
  await chat.sendMessage({ text: "Refund A7." })
  const part = chat.lastMessage?.parts[2]
  if (part?.type !== "dynamic-tool" || part.state !== "approval-requested") throw new Error("no approval")
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: false, reason: "too late" })
  await chat.sendMessage()
  expect(partsOf(chat)?.[2]).toBe("dynamic-tool output-denied")
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain("too late")
  // Sent again, it answers nothing.
  await chat.sendMessage()
  expect(chat.error?.message).toContain("neither the user's nor an answer")
})

test("a question is a tool of the client, whose output is the answer", async () => {
  const { url } = await chatServer([ask])
  let isDone = () => {}
  const done = new Promise<void>((resolve) => {
    isDone = resolve
  })
  const chat = chatWith(url, "ask", {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onFinish: ({ finishReason }) => (finishReason === "stop" ? isDone() : undefined),
  })
  await chat.sendMessage({ text: "it" })
  const part = chat.lastMessage?.parts[1]
  if (part?.type !== "dynamic-tool") throw new Error("no question")
  expect(part).toMatchObject({
    toolName: "question",
    state: "input-available",
    input: { prompt: "Really it?" },
  })
  await chat.addToolOutput({ tool: "question" as never, toolCallId: part.toolCallId, output: "yes" as never })
  await done
  expect(textOf(chat)).toBe("You said yes.")
})

test("a chat that lost its connection continues with the whole message, nothing missing and nothing twice", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs."]))
  const { url } = await chatServer([clerk(gate.model)])
  const cutting: typeof fetch = async (input, init) => {
    const response = await fetch(input, init)
    if (init?.method !== "POST") return response
    let size = 0
    const cut = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        controller.enqueue(piece)
        size += new TextDecoder().decode(piece).includes("text-delta") ? 1 : 0
        if (size > 0) controller.error(new TypeError("network error"))
      },
    })
    return new Response(response.body?.pipeThrough(cut), response)
  }
  const chat = chatWith(url, "clerk", { fetch: cutting })
  await chat.sendMessage({ text: "Where?" })
  expect(chat.status).toBe("error")
  expect(textOf(chat)).not.toContain("roofs.")
  const resumed = chat.resumeStream()
  gate.open()
  await resumed
  expect([chat.status, textOf(chat)]).toEqual(["ready", "Storks nest on roofs."])
  expect(chat.messages).toHaveLength(2)
})

test("a page that is loaded again joins the message that is being written, and later the whole one", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs."]))
  const { url } = await chatServer([clerk(gate.model)])
  const first = chatWith(url, "clerk")
  const sent = first.sendMessage({ text: "Where?" })
  await gate.reached
  const second = chatWith(url, "clerk")
  const joined = second.resumeStream()
  gate.open()
  await Promise.all([sent, joined])
  expect(textOf(second)).toBe("Storks nest on roofs.")
  expect(second.lastMessage?.id).toBe(first.lastMessage?.id)
  await first.resumeStream()
  expect(first.messages.map(({ role }) => role)).toEqual(["user", "assistant"])
  expect(first.lastMessage?.parts).toEqual(second.lastMessage?.parts)
})

test("a page that is loaded again while the run waits, and after it, has the whole message", async () => {
  const { url } = await chatServer([desk(REFUND)])
  const first = chatWith(url, "desk")
  await first.sendMessage({ text: "Refund A7." })
  const second = chatWith(url, "desk")
  await second.resumeStream()
  expect(partsOf(second)).toEqual(partsOf(first))
  const part = second.lastMessage?.parts[2]
  if (part?.type !== "dynamic-tool" || part.state !== "approval-requested") throw new Error("no approval")
  await second.addToolApprovalResponse({ id: part.approval.id, approved: true })
  await second.sendMessage()
  const third = chatWith(url, "desk")
  await third.resumeStream()
  expect(partsOf(third)).toEqual(partsOf(second))
  expect(textOf(third)).toBe(textOf(second))
})

test("there is nothing to join in a chat without messages, or of another tenant", async () => {
  const { url, key } = await chatServer([clerk(["Hi."])], true)
  const mine = chatWith(url, "clerk", { key: await key({ tenant: "a" }) })
  await mine.sendMessage({ text: "x" })
  expect(textOf(mine)).toBe("Hi.")
  for (const other of [await key({ tenant: "b" }), await key()]) {
    const chat = chatWith(url, "clerk", { key: other })
    await chat.resumeStream()
    expect([chat.status, chat.messages]).toEqual(["ready", []])
  }
})

test("a second message while the run waits is refused, and one that is stopped continues elsewhere", async () => {
  const { url, server, runtime } = await chatServer([desk(REFUND)])
  const chat = chatWith(url, "desk")
  await chat.sendMessage({ text: "Refund A7." })
  const other = chatWith(url, "desk")
  await other.sendMessage({ text: "Hello?" })
  expect(other.error?.message).toContain("THREAD_BUSY")
  expect(await runtime.runs({})).toHaveLength(1)
  server.drain()
  const late = chatWith(url, "desk")
  await late.resumeStream()
  expect([late.status, late.error?.message]).toEqual(["error", expect.stringContaining("connect again")])
})

test("a run that fails is an error of the chat", async () => {
  const { url } = await chatServer([fail])
  const chat = chatWith(url, "fail")
  await chat.sendMessage({ text: "home" })
  expect([chat.status, chat.error?.message]).toEqual(["error", expect.stringContaining("it broke at home")])
})

test("requests that are not valid are refused, and answers to questions of others", async () => {
  const { url, key, runtime } = await chatServer([ask, greet], true)
  const [ada, bob] = [await key({ tenant: "a" }), await key({ tenant: "b" })]
  const chat = chatWith(url, "ask", { key: ada })
  await chat.sendMessage({ text: "it" })
  const question = chat.lastMessage?.parts[1]
  if (question?.type !== "dynamic-tool") throw new Error("no question")
  const answer = { ...question, state: "output-available", output: "yes" }
  const send = async (body: unknown, authorization = bob, workflow = "ask") =>
    await fetch(`${url}/v1/workflows/${workflow}/chat`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${authorization}` },
      body: JSON.stringify(body),
    })
  const message = { role: "assistant", parts: [answer] }
  expect((await send({ id: "c1", messages: [message] })).status).toBe(404)
  const invalid: unknown[] = [
    7,
    {},
    { id: "", messages: [] },
    { id: "c", messages: [{ role: "robot", parts: [] }] },
    { id: "c", messages: [{ role: "user", parts: "x" }] },
    { id: "c".repeat(2_000), messages: [{ role: "user", parts: [] }] },
  ]
  for (const body of invalid) expect((await send(body)).status, JSON.stringify(body).slice(0, 60)).toBe(422)
  const answered = { role: "assistant", parts: [{ ...answer, output: "perhaps" }] }
  expect((await send({ id: "c1", messages: [answered] }, ada)).status).toBe(422)
  expect((await send({ id: "c1", messages: [message] }, ada)).status).toBe(200)
  expect((await send({ id: "c", messages: [{ role: "user", parts: [] }] }, ada, "none")).status).toBe(404)
  expect(await runtime.runs({})).toHaveLength(1)
})
