/** AG-UI, with its own client; every event is checked against its schemas. */
import { type BaseEvent, HttpAgent, type RunAgentParameters } from "@ag-ui/client"
import { EventSchemas } from "@ag-ui/core/schemas"
import { scriptedModel } from "@superstep/engine/models"
import { expect, test, vi } from "vitest"
import { ask, chatServer, clerk, desk, fail, gated, greet, REFUND } from "./chat.test-support.ts"

interface Ran {
  readonly events: readonly BaseEvent[]
  readonly interrupts: readonly { readonly id: string }[]
}

/** An agent of the client that checks each event that it gets. */
function agentOf(url: string, workflow: string, key?: string) {
  const agent = new HttpAgent({
    url: `${url}/v1/workflows/${workflow}/ag-ui`,
    threadId: "t1",
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  })
  const run = async (parameters?: RunAgentParameters): Promise<Ran> => {
    const events: BaseEvent[] = []
    await agent.runAgent(parameters, {
      onEvent: ({ event }) => {
        EventSchemas.parse(event)
        events.push(event)
      },
    })
    const { interrupts = [] } = Object(events.at(-1)?.outcome) as { interrupts?: { id: string }[] }
    return { events, interrupts }
  }
  const say = async (content: string) => {
    agent.addMessage({ id: `user-${agent.messages.length}`, role: "user", content })
    return await run()
  }
  return { agent, run, say }
}

const typesOf = ({ events }: Ran) =>
  events.map(({ type }) => type).filter((type, i, list) => type !== list[i - 1])

test("text, reasoning and tools arrive as events, and become messages", async () => {
  const { url } = await chatServer([
    clerk([
      { text: "I look.", tool_calls: [{ name: "stock", args: { item: "lamp" }, id: "s1" }] },
      { reasoning: "Three are left.", text: "Three lamps." },
    ]),
  ])
  const { agent, say } = agentOf(url, "clerk")
  const ran = await say("How many lamps?")
  expect(typesOf(ran)).toEqual([
    "RUN_STARTED",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "TOOL_CALL_START",
    "TOOL_CALL_ARGS",
    "TOOL_CALL_END",
    "TOOL_CALL_RESULT",
    "REASONING_START",
    "REASONING_MESSAGE_START",
    "REASONING_MESSAGE_CONTENT",
    "REASONING_MESSAGE_END",
    "REASONING_END",
    "TEXT_MESSAGE_START",
    "TEXT_MESSAGE_CONTENT",
    "TEXT_MESSAGE_END",
    "RUN_FINISHED",
  ])
  expect(ran.events.at(-1)).toMatchObject({ threadId: "t1", outcome: { type: "success" } })
  expect(agent.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "assistant",
    "tool",
    "reasoning",
    "assistant",
  ])
  expect(agent.messages.at(-1)?.content).toBe("Three lamps.")
})

test("a thread continues with the new message only", async () => {
  const model = scriptedModel(["Hello Ada.", "You are Ada."])
  const { url } = await chatServer([desk(model)])
  const { agent, say } = agentOf(url, "desk")
  await say("I am Ada.")
  await say("Who am I?")
  expect(agent.messages.at(-1)?.content).toBe("You are Ada.")
  expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
})

test("an approval is an interrupt, and its answer resumes the run", async () => {
  const { url, runtime } = await chatServer([desk(REFUND)])
  const { agent, say, run } = agentOf(url, "desk")
  const first = await say("Refund A7.")
  expect(first.interrupts).toMatchObject([
    { reason: "tool_call", message: 'Allow "desk" to call "refund"?', toolCallId: "refund_1" },
  ])
  const interruptId = first.interrupts[0]?.id ?? ""
  const second = await run({ resume: [{ interruptId, status: "resolved", payload: { approve: true } }] })
  expect(second.events.find(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject({
    toolCallId: "refund_1",
    content: "refunded A7",
  })
  expect(agent.messages.at(-1)?.content).toBe("Order A7 is refunded.")
  expect(await runtime.runs({})).toHaveLength(1)
})

test("an interrupt that is cancelled refuses an approval", async () => {
  const { url } = await chatServer([desk(REFUND)])
  const { say, run } = agentOf(url, "desk")
  const interruptId = (await say("Refund A7.")).interrupts[0]?.id ?? ""
  const second = await run({ resume: [{ interruptId, status: "cancelled" }] })
  expect(second.events.find(({ type }) => type === "TOOL_CALL_RESULT")).toMatchObject({
    toolCallId: "refund_1",
    content: "It was not allowed.",
  })
})

test("a question is an interrupt with the schema of its answer; cancelling it cancels the run", async () => {
  const { url } = await chatServer([ask])
  const one = agentOf(url, "ask")
  const first = await one.say("it")
  expect(first.interrupts).toMatchObject([
    { reason: "input_required", message: "Really it?", responseSchema: { enum: ["yes", "no"] } },
  ])
  const interruptId = first.interrupts[0]?.id ?? ""
  // The client prints what it throws.
  const print = vi.spyOn(console, "error").mockImplementation(() => undefined)
  const invalid = one.run({ resume: [{ interruptId, status: "resolved", payload: "perhaps" }] })
  await expect(invalid).rejects.toThrow("422")
  print.mockRestore()
  await one.run({ resume: [{ interruptId, status: "resolved", payload: "yes" }] })
  expect(one.agent.messages.at(-1)?.content).toBe("You said yes.")

  const other = agentOf(url, "ask")
  const asked = (await other.say("it")).interrupts[0]?.id ?? ""
  const { events } = await other.run({ resume: [{ interruptId: asked, status: "cancelled" }] })
  expect(events.at(-1)).toMatchObject({ type: "RUN_FINISHED", outcome: { type: "cancelled" } })
})

test("a request with the same runId follows the run again, with the same ids and nothing missing", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs."]))
  const { url, runtime } = await chatServer([clerk(gate.model)])
  const send = async (body: object, signal?: AbortSignal) => {
    const response = await fetch(`${url}/v1/workflows/clerk/ag-ui`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...(signal && { signal }),
    })
    return response
  }
  const message = { id: "1", role: "user", content: "Where?" }
  const input = { threadId: "t1", runId: "r1", messages: [message] }
  const leaving = new AbortController()
  const first = await send(input, leaving.signal)
  await gate.reached
  leaving.abort()
  await first.text().catch(() => undefined)
  gate.open()
  const texts = await Promise.all([1, 2].map(async () => (await send(input)).text()))
  for (const text of texts) {
    const events = text
      .split("\n")
      .filter((line) => line.startsWith("data: "))
      .map((line) => EventSchemas.parse(JSON.parse(line.slice(6))))
    const said = events.map((event) => (event.type === "TEXT_MESSAGE_CONTENT" ? event.delta : ""))
    expect(said.join("")).toBe("Storks nest on roofs.")
  }
  const idsOf = (text: string) => new Set(text.match(/"messageId":"[^"]+"/g))
  expect(idsOf(texts[0] ?? "")).toEqual(idsOf(texts[1] ?? ""))
  expect(await runtime.runs({})).toHaveLength(1)
})

test("a run that fails is RUN_ERROR", async () => {
  const { url } = await chatServer([fail])
  const { agent } = agentOf(url, "fail")
  agent.addMessage({ id: "1", role: "user", content: "home" })
  const events: BaseEvent[] = []
  await agent.runAgent({}, { onEvent: ({ event }) => void events.push(event) }).catch(() => undefined)
  expect(events.at(-1)).toMatchObject({
    type: "RUN_ERROR",
    message: expect.stringContaining("it broke at home"),
  })
})

test("requests that are not valid are refused, and interrupts of others do not exist", async () => {
  const { url, key, runtime } = await chatServer([ask, greet], true)
  const [ada, bob] = [await key({ tenant: "a" }), await key({ tenant: "b" })]
  const { say } = agentOf(url, "ask", ada)
  const interruptId = (await say("it")).interrupts[0]?.id ?? ""
  const send = async (more: object, authorization = bob, workflow = "ask") => {
    const response = await fetch(`${url}/v1/workflows/${workflow}/ag-ui`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${authorization}` },
      body: JSON.stringify({ threadId: "t1", runId: "r1", messages: [], ...more }),
    })
    await response.body?.cancel()
    return response.status
  }
  const resume = [{ interruptId, status: "resolved", payload: "yes" }]
  expect(await send({ resume })).toBe(404)
  expect(await send({ resume: [{ interruptId: "x", status: "resolved" }] })).toBe(404)
  expect(await send({ messages: [{ id: "1", role: "user", content: "x" }] }, bob, "none")).toBe(404)
  const invalid: object[] = [
    {},
    { messages: 7 },
    { messages: [{ role: "user", content: 7 }] },
    { messages: [{ role: "robot", content: "x" }] },
    { threadId: "" },
    { runId: 7 },
    { resume: [{ interruptId, status: "perhaps" }] },
  ]
  for (const more of invalid) expect(await send(more), JSON.stringify(more)).toBe(422)
  expect(await runtime.runs({})).toHaveLength(1)
})
