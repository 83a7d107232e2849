/** A2A of a listening server, driven by the official clients of 1.0 and 0.3, and by our own remote agent. */
import { randomUUID } from "node:crypto"
import { createServer as createHttpServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"
import {
  GetTaskRequest,
  ListTasksRequest,
  SendMessageRequest,
  type StreamResponse,
  Task,
  TaskPushNotificationConfig,
  TaskState,
} from "@a2a-js/sdk"
import { ClientFactory, DefaultAgentCardResolver, JsonRpcTransportFactory } from "@a2a-js/sdk/client"
import { memoryStore, node, Runtime, type Store, workflow } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { scriptedModel } from "@superstep/engine/models"
import { a2aAgent } from "@superstep/engine/patterns"
import {
  ClientFactory as OldFactory,
  DefaultAgentCardResolver as OldResolver,
  JsonRpcTransportFactory as OldTransportFactory,
} from "a2a-js-sdk-0.3/client"
import { expect, onTestFinished, test } from "vitest"
import { z } from "zod"
import { apiKeys, createKey, type KeyOptions } from "../auth/api-keys.ts"
import { listen } from "../listen.ts"
import { createServer } from "../server.ts"

const greet = workflow("greet", { description: "Greets." })
  .start(node("greet", (name: string) => `Hello ${name}`))
  .build()
const add = workflow("add numbers")
  .start(
    node({
      id: "add",
      input: z.object({ a: z.number(), b: z.number() }),
      run: ({ a, b }) => ({ sum: a + b }),
    }),
  )
  .build()
const wizard = workflow("wizard")
  .start(
    node("ask", async (item: string, ctx) => {
      const size = await ctx.ask<number>({ prompt: `Which size of ${item}?`, schema: z.number().max(9) })
      const name = await ctx.ask<string>("For whom?")
      return `${item} ${size} for ${name}`
    }),
  )
  .build()
const fail = workflow("fail")
  .start(
    node("fail", (text: string): string => {
      throw new Error(text)
    }),
  )
  .build()
const hold = workflow("hold")
  .start(node("hold", async (_: string, ctx) => await ctx.waitFor<string>("never")))
  .build()
const poet = () => agent({ name: "poet", model: scriptedModel(["Roses are red."]) })

async function serving(store: Store = memoryStore()) {
  const workflows = [greet, add, wizard, fail, hold, poet()]
  const runtime = new Runtime({ store, workflows: workflows as never })
  const problems: unknown[] = []
  const server = createServer({
    runtime,
    workflows: workflows as never,
    auth: apiKeys(store),
    heartbeat: 5,
    webhooks: { allow: ["127.0.0.1"] },
    onProblem: (error) => problems.push(error),
  })
  const { url, close } = await listen(server, { port: 0 })
  const stop = async () => {
    await close({ grace: 0 })
    await runtime.close()
  }
  onTestFinished(stop)
  const key = async (options: Partial<KeyOptions> = {}) =>
    (await createKey(store, { name: "test", role: "operator", ...options }, "test")).secret
  return { url, runtime, store, problems, stop, key }
}

const withKey =
  (key: string): typeof fetch =>
  (input, init) => {
    const headers = new Headers(init?.headers)
    headers.set("authorization", `Bearer ${key}`)
    return fetch(input, { ...init, headers })
  }

async function clientOf(url: string, key: string, name: string) {
  const fetchImpl = withKey(key)
  const factory = new ClientFactory({
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  })
  const base = `${url}/a2a/${encodeURIComponent(name)}`
  return await factory.createFromUrl(base, `${base}/.well-known/agent-card.json`)
}

async function oldClientOf(url: string, key: string, name: string) {
  const fetchImpl = withKey(key)
  const factory = new OldFactory({
    transports: [new OldTransportFactory({ fetchImpl })],
    cardResolver: new OldResolver({ fetchImpl }),
  })
  const base = `${url}/a2a/${encodeURIComponent(name)}`
  return await factory.createFromUrl(base, `${base}/.well-known/agent-card.json`)
}

const message = (text: unknown, more: object = {}, configuration: object = {}) =>
  SendMessageRequest.fromJSON({
    message: {
      messageId: randomUUID(),
      role: "ROLE_USER",
      parts: [typeof text === "string" ? { text } : { data: text }],
      ...more,
    },
    configuration,
  })

const oldMessage = (text: string, more: object = {}) => ({
  message: {
    kind: "message" as const,
    messageId: randomUUID(),
    role: "user" as const,
    parts: [{ kind: "text" as const, text }],
    ...more,
  },
})

const json = (task: unknown) => Task.toJSON(task as Task) as Readonly<Record<string, unknown>>

test("a message is a run: its outputs are artifacts, text as text and data as data", async () => {
  const { url, key, runtime } = await serving()
  const secret = await key()
  const greeter = await clientOf(url, secret, "greet")
  const task = (await greeter.sendMessage(message("Ada", { messageId: "m1" }))) as Task
  expect(json(task)).toMatchObject({
    status: { state: "TASK_STATE_COMPLETED" },
    artifacts: [{ artifactId: "1", parts: [{ text: "Hello Ada" }] }],
    history: [{ messageId: "m1", role: "ROLE_USER", parts: [{ text: "Ada" }] }],
  })
  expect((await runtime.store.run(task.id))?.workflow).toBe("greet")
  expect(task.contextId).not.toBe("")
  const adder = await clientOf(url, secret, "add numbers")
  const added = await adder.sendMessage(message({ a: 1, b: 2 }))
  expect(json(added)).toMatchObject({ artifacts: [{ parts: [{ data: { sum: 3 } }] }] })
  await expect(adder.sendMessage(message("one"))).rejects.toThrow("INPUT_INVALID")
  const failed = await (await clientOf(url, secret, "fail")).sendMessage(message("no paper"))
  expect(json(failed)).toMatchObject({
    status: {
      state: "TASK_STATE_FAILED",
      message: { parts: [{ text: expect.stringContaining("no paper") }] },
    },
  })
})

test("a client of 0.3 sends, streams, answers, gets and cancels", async () => {
  const { url, key } = await serving()
  const secret = await key()
  const greeter = await oldClientOf(url, secret, "greet")
  expect(await greeter.sendMessage(oldMessage("Ada"))).toMatchObject({
    kind: "task",
    status: { state: "completed" },
    artifacts: [{ parts: [{ kind: "text", text: "Hello Ada" }] }],
  })
  const asker = await oldClientOf(url, secret, "wizard")
  const asked = (await asker.sendMessage(oldMessage("ring"))) as { id: string; contextId: string }
  expect(asked).toMatchObject({
    status: {
      state: "input-required",
      message: { parts: [{ text: "Which size of ring?" }, { kind: "data" }] },
    },
  })
  const kinds: string[] = []
  for await (const event of asker.sendMessageStream(oldMessage("7", { taskId: asked.id }))) {
    kinds.push("status" in event ? `${event.kind}:${event.status.state}` : event.kind)
  }
  expect(kinds[0]).toMatch(/^task:/)
  expect(kinds.at(-1)).toBe("status-update:input-required")
  const done = await asker.sendMessage(oldMessage("Ada", { taskId: asked.id, contextId: asked.contextId }))
  expect(done).toMatchObject({
    status: { state: "completed" },
    artifacts: [{ parts: [{ text: "ring 7 for Ada" }] }],
  })
  expect(await asker.getTask({ id: asked.id })).toMatchObject({
    id: asked.id,
    status: { state: "completed" },
  })
  const held = await oldClientOf(url, secret, "hold")
  const params = { ...oldMessage("x"), configuration: { blocking: false } }
  const { id } = (await held.sendMessage(params)) as { id: string }
  expect(await held.cancelTask({ id })).toMatchObject({ status: { state: "canceled" } })
  await expect(held.getTask({ id: "none" })).rejects.toThrow(/not found|no run/i)
})

async function all(stream: AsyncIterable<StreamResponse>): Promise<StreamResponse[]> {
  const events: StreamResponse[] = []
  for await (const event of stream) events.push(event)
  return events
}

test("a stream begins with the task, has the text piece by piece, and ends with the status", async () => {
  const { url, key } = await serving()
  const client = await clientOf(url, await key(), "poet")
  const events = await all(client.sendMessageStream(message("A line, please.")))
  const [first] = events
  expect(first?.payload?.$case).toBe("task")
  const text = events.reduce((before, { payload }) => {
    if (payload?.$case !== "artifactUpdate") return before
    const piece = payload.value.artifact?.parts[0]?.content
    const added = piece?.$case === "text" ? piece.value : ""
    return payload.value.append ? before + added : added
  }, "")
  expect(text).toBe("Roses are red.")
  const last = events.at(-1)?.payload
  expect(last?.$case === "statusUpdate" && last.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
})

test("a run that asks is a task that requires input, and the next message answers it", async () => {
  const { url, key, runtime } = await serving()
  const client = await clientOf(url, await key(), "wizard")
  const asked = (await client.sendMessage(message("ring", { contextId: "c1" }))) as Task
  const { id: taskId } = asked
  expect(json(asked)).toMatchObject({
    contextId: "c1",
    status: {
      state: "TASK_STATE_INPUT_REQUIRED",
      message: {
        role: "ROLE_AGENT",
        parts: [
          { text: "Which size of ring?" },
          { data: { prompt: "Which size of ring?", schema: { type: "number", maximum: 9 } } },
        ],
      },
    },
  })
  await expect(client.sendMessage(message("12", { taskId }))).rejects.toThrow("REQUEST_INVALID")
  await expect(client.sendMessage(message("3", { taskId, contextId: "c2" }))).rejects.toThrow(
    "another context",
  )
  await expect(client.sendMessage(message({ request: "none", answer: 3 }, { taskId }))).rejects.toThrow(
    "not open",
  )
  const [open] = await runtime.requests({ runId: taskId })
  const events = await all(
    client.sendMessageStream(message({ request: open?.id, answer: 3 }, { taskId, messageId: "m2" })),
  )
  const last = events.at(-1)?.payload
  expect(last?.$case === "statusUpdate" && last.value.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  const done = await client.sendMessage(message("Ada", { taskId }))
  expect(json(done)).toMatchObject({
    status: { state: "TASK_STATE_COMPLETED" },
    artifacts: [{ parts: [{ text: "ring 3 for Ada" }] }],
  })
  const task = json(await client.getTask(GetTaskRequest.fromJSON({ id: taskId })))
  expect((task.history as { role: string }[]).map(({ role }) => role)).toEqual([
    "ROLE_USER",
    "ROLE_AGENT",
    "ROLE_USER",
    "ROLE_AGENT",
    "ROLE_USER",
  ])
  expect(task.history).toContainEqual(
    expect.objectContaining({ messageId: "m2", parts: [expect.objectContaining({ data: 3 })] }),
  )
  const short = await client.getTask(GetTaskRequest.fromJSON({ id: taskId, historyLength: 1 }))
  expect(short.history).toHaveLength(1)
  await expect(client.sendMessage(message("more", { taskId }))).rejects.toThrow("takes no message")
})

test("1 a message that is sent again starts nothing and answers nothing", async () => {
  const { url, key, runtime } = await serving()
  const client = await clientOf(url, await key(), "wizard")
  const first = message("ring", { messageId: "m1" })
  const { id: taskId } = (await client.sendMessage(first)) as Task
  expect(((await client.sendMessage(first)) as Task).id).toBe(taskId)
  expect(await runtime.runs({})).toHaveLength(1)
  const answer = message("3", { messageId: "m2", taskId })
  await client.sendMessage(answer)
  const again = (await client.sendMessage(answer)) as Task
  expect(again.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  const [open] = await runtime.requests({ runId: taskId })
  expect(open?.prompt).toBe("For whom?")
})

test("tasks are listed by context and status, followed, and cancelled", async () => {
  const { url, key } = await serving()
  const client = await clientOf(url, await key(), "hold")
  const immediately = { returnImmediately: true }
  const ids: string[] = []
  for (const contextId of ["c1", "c2", "c2"]) {
    const task = (await client.sendMessage(message("x", { contextId }, immediately))) as Task
    expect(task.status?.state).toBe(TaskState.TASK_STATE_WORKING)
    ids.unshift(task.id)
  }
  const list = async (filter: object) => await client.listTasks(ListTasksRequest.fromJSON(filter))
  expect((await list({})).tasks.map(({ id }) => id)).toEqual(ids)
  expect((await list({ contextId: "c2" })).tasks.map(({ id }) => id)).toEqual(ids.slice(0, 2))
  const page = await list({ pageSize: 2 })
  expect(page).toMatchObject({ totalSize: 3, tasks: [{ id: ids[0] }, { id: ids[1] }] })
  expect((await list({ pageSize: 2, pageToken: page.nextPageToken })).tasks.map(({ id }) => id)).toEqual([
    ids[2],
  ])
  const [id] = ids as [string]
  const following = all(client.resubscribeTask({ tenant: "", id }))
  const cancelled = await client.cancelTask({ tenant: "", id, metadata: undefined })
  expect(cancelled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  const last = (await following).at(-1)?.payload
  expect(last?.$case === "statusUpdate" && last.value.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  await expect(client.cancelTask({ tenant: "", id, metadata: undefined })).rejects.toThrow("is cancelled")
  await expect(all(client.resubscribeTask({ tenant: "", id }))).rejects.toThrow("has ended")
  expect((await list({ status: "TASK_STATE_CANCELED" })).tasks.map((task) => task.id)).toEqual([id])
})

test("a task survives a restart of the server: another one shows it, and continues it", async () => {
  const store = memoryStore()
  const before = await serving(store)
  const secret = await before.key()
  const first = await clientOf(before.url, secret, "wizard")
  const { id: taskId } = (await first.sendMessage(message("ring"))) as Task
  await before.stop()
  const after = await serving(store)
  const client = await clientOf(after.url, secret, "wizard")
  const task = await client.getTask(GetTaskRequest.fromJSON({ id: taskId }))
  expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  await client.sendMessage(message("4", { taskId }))
  const done = await client.sendMessage(message("Eve", { taskId }))
  expect(json(done)).toMatchObject({ artifacts: [{ parts: [{ text: "ring 4 for Eve" }] }] })
})

async function receiver() {
  const received: { readonly headers: IncomingHttpHeaders; readonly body: Record<string, never> }[] = []
  let arrived = () => {}
  const http = createHttpServer((request, response) => {
    let body = ""
    request.on("data", (chunk) => {
      body += chunk
    })
    request.on("end", () => {
      received.push({ headers: request.headers, body: JSON.parse(body) })
      response.writeHead(204).end()
      arrived()
    })
  })
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => void http.close())
  const until = async (count: number) => {
    while (received.length < count) {
      await new Promise<void>((resolve) => {
        arrived = resolve
      })
    }
    return received
  }
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`, until }
}

test("clients are notified, in their version and with their credentials, when a task asks and when it ends", async () => {
  const { url, key, runtime } = await serving()
  const secret = await key({ tenant: "a" })
  const current = await receiver()
  const client = await clientOf(url, secret, "wizard")
  const taskPushNotificationConfig = {
    id: "p1",
    url: current.url,
    token: "t0ken",
    authentication: { scheme: "Bearer", credentials: "s3cret" },
  }
  const { id: taskId, contextId } = (await client.sendMessage(
    message("ring", { contextId: "c1" }, { taskPushNotificationConfig }),
  )) as Task
  const old = await receiver()
  const oldClient = await oldClientOf(url, secret, "wizard")
  await oldClient.setTaskPushNotificationConfig({
    taskId,
    pushNotificationConfig: { id: "p2", url: old.url, token: "old" },
  })
  await client.sendMessage(message("3", { taskId }))
  const [asked] = await old.until(1)
  expect(asked?.headers["x-a2a-notification-token"]).toBe("old")
  expect(asked?.body).toMatchObject({ kind: "task", id: taskId, status: { state: "input-required" } })
  await client.sendMessage(message("Ada", { taskId }))
  const notified = await current.until(2)
  expect(notified.at(-1)?.headers).toMatchObject({
    authorization: "Bearer s3cret",
    "x-a2a-notification-token": "t0ken",
  })
  expect(notified.at(-1)?.body).toMatchObject({ task: { id: taskId, contextId } })
  const configs = await client.listTaskPushNotificationConfig({
    tenant: "",
    taskId,
    pageSize: 0,
    pageToken: "",
  })
  expect(configs.configs.map(({ id }) => id)).toEqual(["p1", "p2"])
  await client.deleteTaskPushNotificationConfig({ tenant: "", taskId, id: "p2" })
  await expect(client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "p2" })).rejects.toThrow(
    "no push",
  )
  const own = await client.getTaskPushNotificationConfig({ tenant: "", taskId, id: "p1" })
  expect(own.url).toBe(current.url)
  // No journal has a secret, and the runs of notifications are nobody's business.
  for (const run of await runtime.store.runs({})) {
    expect(JSON.stringify(await runtime.store.read(run.runId, 0))).not.toMatch(/s3cret|t0ken/)
  }
})

test("addresses that webhooks must not reach are refused for notifications", async () => {
  const { url, key } = await serving()
  const client = await clientOf(url, await key(), "hold")
  const task = (await client.sendMessage(message("x", {}, { returnImmediately: true }))) as Task
  for (const address of [
    "http://example.com/",
    "file:///etc/passwd",
    "https://user@example.com/",
    "no address",
  ]) {
    const config = TaskPushNotificationConfig.fromJSON({ taskId: task.id, url: address })
    await expect(client.createTaskPushNotificationConfig(config)).rejects.toThrow("OPTION_INVALID")
  }
  const split = TaskPushNotificationConfig.fromJSON({
    taskId: task.id,
    url: "https://a.example/",
    token: "a\r\nb: c",
  })
  await expect(client.createTaskPushNotificationConfig(split)).rejects.toThrow("printable ASCII")
})

test("2 tasks, contexts and configs of another tenant are not found, as those that nobody has", async () => {
  const { url, key, runtime, problems } = await serving()
  const own = await clientOf(url, await key({ tenant: "a" }), "wizard")
  const { id } = (await own.sendMessage(message("ring", { contextId: "c1", messageId: "m1" }))) as Task
  const secret = await key({ tenant: "b", role: "admin" })
  const rpc = async (method: string, params: object, agentName = "wizard") => {
    const response = await fetch(`${url}/a2a/${agentName}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "a2a-version": "1.0",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    })
    return await response.text()
  }
  const text = { messageId: "x", role: "ROLE_USER", parts: [{ text: "3" }] }
  const requests = (task: string): [string, object][] => [
    ["GetTask", { id: task }],
    ["CancelTask", { id: task }],
    ["SubscribeToTask", { id: task }],
    ["SendMessage", { message: { ...text, taskId: task } }],
    ["SendStreamingMessage", { message: { ...text, taskId: task } }],
    ["CreateTaskPushNotificationConfig", { taskId: task, url: "https://example.com/" }],
    ["ListTaskPushNotificationConfigs", { taskId: task }],
    ["GetTaskPushNotificationConfig", { taskId: task, id: "p" }],
    ["DeleteTaskPushNotificationConfig", { taskId: task, id: "p" }],
  ]
  for (const [i, [method, params]] of requests(id).entries()) {
    const theirs = await rpc(method, params)
    const none = await rpc(method, (requests("none")[i] as [string, object])[1])
    expect(theirs.replaceAll(id, "none"), method).toBe(none)
    expect(theirs).toContain('"error"')
  }
  expect(await rpc("ListTasks", { contextId: "c1" })).not.toContain(id)
  // The same context and message ids of another tenant are its own.
  const other = await clientOf(url, secret, "wizard")
  const theirs = (await other.sendMessage(message("ring", { contextId: "c1", messageId: "m1" }))) as Task
  expect(theirs.id).not.toBe(id)
  // Neither does an agent know the tasks of another one.
  expect(await rpc("GetTask", { id: theirs.id }, "greet")).toContain("-32001")
  expect((await runtime.store.run(id))?.status).toBe("waiting")
  expect(problems).toEqual([])
})

test.each([
  ["no JSON", "{", 400],
  ["a batch", "[]", 400],
  ["a string", '"GetTask"', 400],
  ["no JSON-RPC", '{"method":"GetTask"}', 200],
  ["an unknown method", '{"jsonrpc":"2.0","id":1,"method":"Explode","params":{}}', 200],
  ["no params", '{"jsonrpc":"2.0","id":1,"method":"GetTask"}', 200],
  ["a message that is none", '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":7}}', 200],
  [
    "a message without parts",
    '{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m"}}}',
    200,
  ],
  ["too much", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"${"x".repeat(1_100_000)}"}}`, 413],
])("a request that is %s is refused, and the server serves on", async (_, body, status) => {
  const { url, key } = await serving()
  const headers = { authorization: `Bearer ${await key()}`, "content-type": "application/json" }
  const response = await fetch(`${url}/a2a/greet`, { method: "POST", headers, body })
  expect(response.status).toBe(status)
  expect(await response.text()).toMatch(/"error"|BODY_TOO_LARGE/)
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
})

test("an unknown version is refused; roles, agents and budgets are checked", async () => {
  const { url, key, store } = await serving()
  const call = async (secret: string, name = "greet", version = "1.0") => {
    const response = await fetch(`${url}/a2a/${name}`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        "a2a-version": version,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "SendMessage",
        params: { message: { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text: "Ada" }] } },
      }),
    })
    return { status: response.status, text: await response.text() }
  }
  const secret = await key({ workflows: ["greet"], budget: { tokens: 1, per: "total" } })
  expect((await call(secret, "greet", "9.9")).text).toContain("-32009")
  expect((await call(secret)).text).toContain("TASK_STATE_COMPLETED")
  expect(await call(secret, "wizard")).toMatchObject({ status: 404 })
  expect(await call(await key({ role: "viewer" }))).toMatchObject({ status: 403 })
  const id = `${secret.split("_")[1]}:total`
  const version = (await store.records.get("key-usage", id))?.version ?? null
  await store.records.put("key-usage", id, { usd: 0, tokens: 1, position: 1_000 }, version)
  expect((await call(secret)).text).toContain("KEY_BUDGET_USED_UP")
})

test("the card is at the well-known path if there is one agent, and names the address of each", async () => {
  const { url, key } = await serving()
  const card = async (secret: string, path: string) => {
    const headers = { authorization: `Bearer ${secret}` }
    return await fetch(`${url}${path}`, { headers })
  }
  const one = await key({ role: "viewer", workflows: ["greet"] })
  expect(await (await card(one, "/.well-known/agent-card.json")).json()).toMatchObject({
    name: "greet",
    description: "Greets.",
    supportedInterfaces: [
      { url: `${url}/a2a/greet`, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
      { url: `${url}/a2a/greet`, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
    ],
    url: `${url}/a2a/greet`,
    protocolVersion: "0.3.0",
    capabilities: { streaming: true, pushNotifications: true },
  })
  const several = await card(await key({ role: "viewer" }), "/.well-known/agent-card.json")
  expect(several.status).toBe(404)
  expect(await several.text()).toContain("/a2a/{workflow}/.well-known/agent-card.json")
  expect((await card(one, "/a2a/wizard/.well-known/agent-card.json")).status).toBe(404)
})

test("our own remote agent calls our own server, and passes its questions on", async () => {
  const { url, key } = await serving()
  const remote = a2aAgent({
    name: "remote",
    url: `${url}/a2a/wizard`,
    token: await key(),
    allowPrivate: ["127.0.0.1"],
  } as Parameters<typeof a2aAgent>[0])
  const running = remote.run("ring")
  const prompts: string[] = []
  for (const answer of ["5", "Ada"]) {
    const [request] = (await running).requests
    prompts.push(request?.prompt ?? "")
    await running.respond(request?.id ?? "", answer)
  }
  expect((await running).outputs).toEqual(["ring 5 for Ada"])
  expect(prompts).toEqual([
    expect.stringContaining("Which size of ring?"),
    expect.stringContaining("For whom?"),
  ])
})
