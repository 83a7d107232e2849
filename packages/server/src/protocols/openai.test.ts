/** The routes of OpenAI, with its own client. */
import { scriptedModel } from "@superstep/engine/models"
import OpenAI from "openai"
import { expect, test } from "vitest"
import { listen } from "../listen.ts"
import { createServer } from "../server.ts"
import { ask, chatServer, clerk, desk, fail, gated, greet, REFUND } from "./chat.test-support.ts"

const clientOf = (url: string, apiKey = "none") => new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 })

const user = (content: string) => ({ role: "user", content }) as const

/** All that a stream yields, or as much as it yields before it is cut. */
async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of stream) found.push(one)
  return found
}

test("workflows are models", async () => {
  const { url } = await chatServer([greet, ask])
  const client = clientOf(url)
  const models = await all(client.models.list())
  expect(models.map(({ id, object }) => [id, object])).toEqual([
    ["greet", "model"],
    ["ask", "model"],
  ])
  expect(await client.models.retrieve("ask")).toMatchObject({ id: "ask", owned_by: "superstep" })
  await expect(client.models.retrieve("none")).rejects.toMatchObject({
    status: 404,
    code: "WORKFLOW_UNKNOWN",
    type: "invalid_request_error",
  })
})

test("chat.completions: the answer, its usage and its finish reason", async () => {
  const { url } = await chatServer([
    clerk([
      { tool_calls: [{ name: "stock", args: { item: "lamp" } }] },
      { text: "Three lamps.", usage: { input: 7, output: 2 } },
    ]),
  ])
  const { choices, usage, model } = await clientOf(url).chat.completions.create({
    model: "clerk",
    messages: [user("How many lamps?")],
  })
  expect(model).toBe("clerk")
  expect(choices).toMatchObject([
    { message: { role: "assistant", content: "Three lamps." }, finish_reason: "stop" },
  ])
  expect(usage?.completion_tokens).toBeGreaterThanOrEqual(2)
  expect(usage?.total_tokens).toBe((usage?.prompt_tokens ?? 0) + (usage?.completion_tokens ?? 0))
})

test("chat.completions: text is streamed as the model says it, and usage comes last if asked for", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs."]))
  const { url } = await chatServer([clerk(gate.model)])
  const stream = await clientOf(url).chat.completions.create({
    model: "clerk",
    messages: [user("Where?")],
    stream: true,
    stream_options: { include_usage: true },
  })
  let text = ""
  const ends: unknown[] = []
  for await (const { choices, usage } of stream) {
    text += choices[0]?.delta.content ?? ""
    if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason)
    if (usage) ends.push(usage.total_tokens > 0, choices)
    if (text !== "" && text !== "Storks nest on roofs.") gate.open()
  }
  expect(text).toBe("Storks nest on roofs.")
  expect(ends).toEqual(["stop", true, []])
})

test("chat.completions: the client's helper streams, and answers a question with a function", async () => {
  const { url } = await chatServer([ask])
  const runner = clientOf(url).chat.completions.runTools({
    model: "ask",
    stream: true,
    messages: [user("it")],
    tools: [
      {
        type: "function",
        function: {
          name: "question",
          description: "Asks the user.",
          parameters: { type: "object", properties: {} },
          parse: JSON.parse,
          function: ({ prompt }: { prompt: string }) => (prompt === "Really it?" ? "yes" : "no"),
        },
      },
    ],
  })
  expect(await runner.finalContent()).toBe("You said yes.")
})

test("chat.completions: an approval is a call, and its answer continues the run", async () => {
  const { url, runtime } = await chatServer([desk(REFUND)])
  const client = clientOf(url)
  const messages: OpenAI.ChatCompletionMessageParam[] = [user("Refund A7.")]
  const first = await client.chat.completions.create({ model: "desk", messages })
  const message = first.choices[0]?.message
  const call = message?.tool_calls?.[0]
  expect(first.choices[0]?.finish_reason).toBe("tool_calls")
  expect(message?.content).toBe("One moment.")
  if (message === undefined || call?.type !== "function") throw new Error("no call")
  expect([call.function.name, JSON.parse(call.function.arguments)]).toEqual([
    "approval",
    { prompt: 'Allow "desk" to call "refund"?', tool: "refund", arguments: { order: "A7" } },
  ])
  const answer = (content: string) =>
    client.chat.completions.create({
      model: "desk",
      messages: [...messages, message, { role: "tool", tool_call_id: call.id, content }],
    })
  await expect(answer("maybe")).rejects.toMatchObject({ status: 422, code: "REQUEST_INVALID" })
  const second = await answer('{"approve": true}')
  expect(second.choices[0]?.message.content).toBe("Order A7 is refunded.")
  expect(await runtime.runs({})).toHaveLength(1)
  await expect(answer("true")).rejects.toMatchObject({ status: 409, code: "RUN_OVER" })
})

test("chat.completions: a failure is OpenAI's error, and is not sent again", async () => {
  const { url, runtime } = await chatServer([fail])
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 3 })
  const sent = { model: "fail", messages: [user("home")] }
  await expect(client.chat.completions.create(sent)).rejects.toMatchObject({
    status: 500,
    type: "server_error",
    message: expect.stringContaining("it broke at home"),
  })
  expect(await runtime.runs({})).toHaveLength(1)
  const stream = await client.chat.completions.create({ ...sent, stream: true })
  await expect(all(stream)).rejects.toThrow("it broke at home")
})

test("chat.completions: what a workflow cannot do is refused in OpenAI's shape", async () => {
  const { url, runtime } = await chatServer([greet])
  const client = clientOf(url)
  const send = (more: object) =>
    client.chat.completions.create({ model: "greet", messages: [user("x")], ...more } as never)
  const tool = { type: "function", function: { name: "launch", parameters: {} } }
  const tries: [object, object][] = [
    [{ model: "none" }, { status: 404, code: "WORKFLOW_UNKNOWN" }],
    [{ model: 7 }, { status: 422, param: "model" }],
    [{ messages: [] }, { status: 422, param: "messages" }],
    [{ messages: [{ role: "user", content: 7 }] }, { status: 422 }],
    [
      { messages: [user("x"), { role: "tool", tool_call_id: "x", content: "yes" }] },
      { status: 404, code: "REQUEST_UNKNOWN" },
    ],
    [{ n: 2 }, { status: 422, param: "n" }],
    [{ tools: [tool] }, { status: 422, param: "tools.0.function.name" }],
    [{ response_format: { type: "json_object" } }, { status: 422 }],
    [{ messages: [user("x".repeat(1_100_000))] }, { status: 413, code: "BODY_TOO_LARGE" }],
    [
      {
        messages: [
          { role: "user", content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
        ],
      },
      { status: 422, code: "INPUT_INVALID" },
    ],
  ]
  for (const [more, problem] of tries) {
    await expect(send(more), JSON.stringify(more).slice(0, 100)).rejects.toMatchObject({
      type: "invalid_request_error",
      ...problem,
    })
  }
  expect(await runtime.runs({})).toEqual([])
})

test("chat.completions: an agent gets the whole conversation, another workflow the last text", async () => {
  const model = scriptedModel(["Ada."])
  const { url } = await chatServer([clerk(model), greet])
  const client = clientOf(url)
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    { role: "system", content: "Be brief." },
    user("I am Ada."),
    { role: "assistant", content: "Hello." },
    { role: "user", content: [{ type: "text", text: "Who am I?" }] },
  ]
  await client.chat.completions.create({ model: "clerk", messages })
  expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual(["user", "user", "assistant", "user"])
  const { choices } = await client.chat.completions.create({ model: "greet", messages })
  expect(choices[0]?.message.content).toBe("Hello Who am I?")
})

test("responses: the output has the text, the tools that the workflow called, and usage", async () => {
  const { url } = await chatServer([
    clerk([
      { text: "I look.", tool_calls: [{ name: "stock", args: { item: "lamp" } }] },
      { reasoning: "Three are left.", text: "Three lamps." },
    ]),
  ])
  const response = await clientOf(url).responses.create({ model: "clerk", input: "How many lamps?" })
  expect(response.status).toBe("completed")
  expect(response.output_text).toBe("I look.Three lamps.")
  expect(response.output).toMatchObject([
    { type: "message", content: [{ type: "output_text", text: "I look." }] },
    { type: "mcp_call", name: "stock", arguments: '{"item":"lamp"}', output: '{"item":"lamp","left":3}' },
    { type: "reasoning", summary: [{ type: "summary_text", text: "Three are left." }] },
    { type: "message", status: "completed" },
  ])
  expect(response.usage?.total_tokens).toBeGreaterThan(0)
})

test("responses: the client's stream helper builds the same response", async () => {
  const { url } = await chatServer([
    clerk([
      { tool_calls: [{ name: "stock", args: { item: "lamp" } }] },
      { reasoning: "Three.", text: "Three lamps." },
    ]),
  ])
  const client = clientOf(url)
  const stream = client.responses.stream({ model: "clerk", input: "How many lamps?" })
  let text = ""
  stream.on("response.output_text.delta", ({ delta }) => {
    text += delta
  })
  const streamed = await stream.finalResponse()
  const read = await client.responses.retrieve(streamed.id)
  expect(text).toBe("Three lamps.")
  expect(streamed.output_text).toBe("Three lamps.")
  expect(read.output).toEqual(JSON.parse(JSON.stringify(streamed.output)).map(withoutParsed))
})

/** The helper adds a field. */
function withoutParsed(item: { content?: { parsed?: unknown }[] }) {
  for (const part of item.content ?? []) delete part.parsed
  return item
}

test("responses: a stream that is cut at any event continues there, without a missing or repeated one", async () => {
  const gate = gated(scriptedModel([{ reasoning: "Where do they nest?", text: "Storks nest on roofs." }]))
  const { url } = await chatServer([clerk(gate.model)])
  const client = clientOf(url)
  const first = await client.responses.create({
    model: "clerk",
    input: "Where?",
    stream: true,
    background: true,
  })
  const seen: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of first) {
    seen.push(event)
    // In the middle of the text, while the model is still speaking.
    if (event.type === "response.output_text.delta") break
  }
  gate.open()
  const created = seen[0]
  if (created?.type !== "response.created") throw new Error("not created")
  const { id } = created.response
  const follow = async (after?: number) =>
    await all(
      await client.responses.retrieve(id, {
        stream: true,
        ...(after !== undefined && { starting_after: after }),
      }),
    )
  const rest = await follow(seen.at(-1)?.sequence_number)
  const textOf = (events: OpenAI.Responses.ResponseStreamEvent[]) =>
    events.map((event) => (event.type === "response.output_text.delta" ? event.delta : "")).join("")
  expect(textOf([...seen, ...rest])).toBe("Storks nest on roofs.")
  const whole = await follow()
  const types = (events: OpenAI.Responses.ResponseStreamEvent[]) =>
    events.map(({ type }) => type).filter((type, i, list) => type !== list[i - 1])
  expect(types([...seen, ...rest])).toEqual(types(whole))
  for (const [i, { sequence_number: after }] of whole.entries()) {
    expect(i === 0 || after > (whole[i - 1]?.sequence_number ?? 0)).toBe(true)
    const later = await follow(after)
    expect(later).toEqual(whole.slice(i + 1))
  }
  // In the middle of a piece.
  const delta = whole.find(({ type }) => type === "response.output_text.delta")
  const later = await follow((delta?.sequence_number ?? 0) - 8 * 5)
  expect(textOf(later)).toBe("oofs.".slice(-5))
})

test("responses: in the background, read until it is done, and cancelled", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs.", "unused"]))
  const { url } = await chatServer([clerk(gate.model)])
  const client = clientOf(url)
  const made = await client.responses.create({ model: "clerk", input: "Where?", background: true })
  expect(made).toMatchObject({ status: "in_progress", output: [], background: true })
  await gate.reached
  expect(await client.responses.retrieve(made.id)).toMatchObject({ status: "in_progress", usage: null })
  gate.open()
  for await (const _ of await client.responses.retrieve(made.id, { stream: true }));
  expect(await client.responses.retrieve(made.id)).toMatchObject({ status: "completed", error: null })
})

test("responses: one that is cancelled has that status, also when it is cancelled again", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs."]))
  const { url } = await chatServer([clerk(gate.model)])
  const client = clientOf(url)
  const { id } = await client.responses.create({ model: "clerk", input: "Where?", background: true })
  await gate.reached
  for (const cancel of [true, true, false]) {
    const response = await (cancel ? client.responses.cancel(id) : client.responses.retrieve(id))
    expect(response).toMatchObject({ id, status: "cancelled" })
  }
  gate.open()
})

test("responses: an approval, approved and refused, continues the run in the next response", async () => {
  const { url, runtime } = await chatServer([
    desk([...REFUND, { tool_calls: [{ name: "refund", args: { order: "B8" } }] }, "Then not."]),
  ])
  const client = clientOf(url)
  const first = await client.responses.create({ model: "desk", input: "Refund A7.", conversation: "c1" })
  const request = first.output.find(({ type }) => type === "mcp_approval_request")
  expect(first.status).toBe("completed")
  expect(request).toMatchObject({ name: "refund", arguments: '{"order":"A7"}', server_label: "desk" })
  const second = await client.responses.create({
    model: "desk",
    previous_response_id: first.id,
    input: [{ type: "mcp_approval_response", approval_request_id: request?.id ?? "", approve: true }],
  })
  expect(second.output).toMatchObject([
    { type: "mcp_call", name: "refund", output: "refunded A7", error: null },
    { type: "message" },
  ])
  expect(second.output_text).toBe("Order A7 is refunded.")
  expect(second.previous_response_id).toBe(first.id)
  expect(await client.responses.retrieve(first.id)).toMatchObject({ output: first.output })

  const third = await client.responses.create({
    model: "desk",
    input: "Also B8.",
    previous_response_id: second.id,
  })
  const other = third.output.find(({ type }) => type === "mcp_approval_request")
  const fourth = await client.responses.create({
    model: "desk",
    // Without previous_response_id: the client sends back what it has.
    input: [
      ...(third.output as OpenAI.Responses.ResponseInputItem[]),
      {
        type: "mcp_approval_response",
        approval_request_id: other?.id ?? "",
        approve: false,
        reason: "too late",
      },
    ],
  })
  expect(fourth.output_text).toBe("Then not.")
  const threads = (await runtime.runs({})).map(({ thread }) => thread)
  expect(threads).toEqual(["c1", "c1"])
})

test("responses: a question is a function call, and its output the answer", async () => {
  const { url } = await chatServer([ask])
  const client = clientOf(url)
  const first = await client.responses.create({ model: "ask", input: "it" })
  const call = first.output[0]
  if (call?.type !== "function_call") throw new Error("no call")
  expect([call.name, JSON.parse(call.arguments)]).toMatchObject(["question", { prompt: "Really it?" }])
  const send = (output: string) =>
    client.responses.create({
      model: "ask",
      input: [{ type: "function_call_output", call_id: call.call_id, output }],
    })
  await expect(send("perhaps")).rejects.toMatchObject({ status: 422, code: "REQUEST_INVALID" })
  expect((await send("no")).output_text).toBe("You said no.")
})

test("responses: previous_response_id and conversation continue a thread, which has no branches", async () => {
  const model = scriptedModel(["Hello Ada.", "You are Ada.", "Still Ada."])
  const { url } = await chatServer([desk(model)])
  const client = clientOf(url)
  const first = await client.responses.create({ model: "desk", input: "I am Ada.", metadata: { shop: "1" } })
  expect(first).toMatchObject({ metadata: { shop: "1" }, conversation: null })
  const second = await client.responses.create({
    model: "desk",
    input: "Who am I?",
    previous_response_id: first.id,
  })
  expect(second.output_text).toBe("You are Ada.")
  expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
  await expect(
    client.responses.create({ model: "desk", input: "And now?", previous_response_id: first.id }),
  ).rejects.toMatchObject({ status: 422, code: "OPTION_INVALID" })
  const named = await client.responses.create({ model: "desk", input: "Hi", conversation: "c9" })
  expect(named.conversation).toEqual({ id: "c9" })
  expect(model.calls[2]?.prompt).toHaveLength(1)
})

test("responses: a failed run is a failed response", async () => {
  const { url } = await chatServer([fail])
  const client = clientOf(url)
  const response = await client.responses.create({ model: "fail", input: "home" })
  expect(response).toMatchObject({
    status: "failed",
    error: { message: expect.stringContaining("it broke at home") },
  })
  const events = await all(await client.responses.retrieve(response.id, { stream: true }))
  expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } })
})

test("responses: requests that are not valid are refused, and ids of others do not exist", async () => {
  const { url, key } = await chatServer([ask, desk(["Hi."])], true)
  const [ada, bob] = [clientOf(url, await key({ tenant: "a" })), clientOf(url, await key({ tenant: "b" }))]
  const theirs = await ada.responses.create({ model: "ask", input: "it" })
  const call = theirs.output[0]
  if (call?.type !== "function_call") throw new Error("no call")
  const unknown = { status: 404, type: "invalid_request_error" }
  const answer = { type: "function_call_output", call_id: call.call_id, output: "yes" } as const
  await expect(bob.responses.retrieve(theirs.id)).rejects.toMatchObject(unknown)
  await expect(bob.responses.cancel(theirs.id)).rejects.toMatchObject(unknown)
  await expect(bob.responses.create({ model: "ask", input: [answer] })).rejects.toMatchObject(unknown)
  await expect(
    bob.responses.create({ model: "desk", input: "x", previous_response_id: theirs.id }),
  ).rejects.toMatchObject(unknown)
  for (const id of ["none", "resp_", "resp_x~0", `${theirs.id.slice(0, -1)}7`, "resp_%~0"]) {
    await expect(ada.responses.retrieve(id), id).rejects.toMatchObject(unknown)
  }
  // A conversation of the same name is another one.
  await ada.responses.create({ model: "desk", input: "x", conversation: "c" })
  const invalid: object[] = [
    { input: 7 },
    { input: [] },
    { input: [{ type: "message", role: "assistant", content: "x" }] },
    { input: [{ type: "computer_call_output" }] },
    { input: "x", conversation: "c", previous_response_id: theirs.id },
    { input: "x", tools: [{ type: "web_search" }] },
    { input: "x", metadata: { a: 1 } },
  ]
  for (const more of invalid) {
    const sent = ada.responses.create({ model: "desk", ...more } as never)
    await expect(sent, JSON.stringify(more)).rejects.toMatchObject({ status: 422 })
  }
  await expect(clientOf(url, "wrong").models.list()).rejects.toMatchObject({
    status: 401,
    type: "invalid_request_error",
    code: "NOT_AUTHENTICATED",
  })
})

test("a budget and a rate limit of a key are OpenAI's errors", async () => {
  const model = scriptedModel([{ text: "Hello.", repeat: true }])
  const { url, key, runtime } = await chatServer([clerk(model)], true)
  const client = clientOf(url, await key({ rateLimit: { requests: 1, seconds: 60 } }))
  await client.models.list()
  await expect(client.models.list()).rejects.toMatchObject({
    status: 429,
    type: "rate_limit_error",
    code: "RATE_LIMITED",
  })
  const poor = clientOf(url, await key({ budget: { tokens: 1, per: "total" } }))
  await poor.responses.create({ model: "clerk", input: "Hi" })
  await expect.poll(() => runtime.store.records.list("key-usage")).toHaveLength(2)
  await expect(poor.responses.create({ model: "clerk", input: "Hi" })).rejects.toMatchObject({
    status: 429,
    code: "KEY_BUDGET_USED_UP",
  })
  const viewer = clientOf(url, await key({ role: "viewer" }))
  await expect(viewer.responses.create({ model: "clerk", input: "Hi" })).rejects.toMatchObject({
    status: 403,
    code: "NOT_ALLOWED",
  })
})

test("a server that stops tells the client to connect again, and another one continues the stream", async () => {
  const gate = gated(scriptedModel(["Storks nest on roofs."]))
  const workflows = [clerk(gate.model)]
  const { url, server, runtime } = await chatServer(workflows)
  const seen: OpenAI.Responses.ResponseStreamEvent[] = []
  const stream = await clientOf(url).responses.create({ model: "clerk", input: "Where?", stream: true })
  const following = async () => {
    for await (const event of stream) {
      seen.push(event)
      if (event.type === "response.output_text.delta") server.drain()
    }
  }
  await expect(following()).rejects.toThrow(/connect again/)
  gate.open()
  const other = createServer({ runtime, workflows })
  const listening = await listen(other, { port: 0 })
  const created = seen[0]
  if (created?.type !== "response.created") throw new Error("not created")
  const after = seen.at(-1)?.sequence_number ?? 0
  const options = { stream: true, starting_after: after } as const
  const rest = await all(await clientOf(listening.url).responses.retrieve(created.response.id, options))
  await listening.close({ grace: 0 })
  const deltas = [...seen, ...rest].map((event) =>
    event.type === "response.output_text.delta" ? event.delta : "",
  )
  expect(deltas.join("")).toBe("Storks nest on roofs.")
  expect(rest.at(-1)?.type).toBe("response.completed")
})
