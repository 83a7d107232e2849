/** MCP at /mcp of a listening server, driven by the official clients of both generations. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as OldClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport as OldTransportType } from "@modelcontextprotocol/sdk/shared/transport.js"
import { node, Runtime, workflow } from "@superstep/engine"
import { describe, expect, onTestFinished, test } from "vitest"
import { z } from "zod"
import { apiKeys } from "../auth/api-keys.ts"
import { listen } from "../listen.ts"
import { type Served, served } from "../serve.test-support.ts"
import { createServer } from "../server.ts"

const add = workflow("add", { description: "Adds two numbers." })
  .start(node({ id: "add", input: z.object({ a: z.number(), b: z.number() }), run: ({ a, b }) => a + b }))
  .build()
const approve = workflow("approve")
  .start(
    node("ask", async (plan: string, ctx) => {
      const isWanted = await ctx.ask<boolean>({ prompt: `Do ${plan}?`, schema: z.boolean() })
      return isWanted ? `did ${plan}` : `left ${plan}`
    }),
  )
  .build()

/** A workflow that runs until it is stopped. */
function held() {
  let start: () => void = () => undefined
  const started = new Promise<void>((resolve) => {
    start = resolve
  })
  const hold = workflow("hold")
    .start(
      node("hold", (_: string, { signal }) => {
        start()
        return new Promise<string>((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        )
      }),
    )
    .build()
  return { hold, started }
}

const ERAS = ["2025-11-25", "2026-07-28"] as const
type Era = (typeof ERAS)[number]

async function listening(options: Parameters<typeof served>[0] = {}) {
  const all = served({ workflows: [add, approve] as never, ...options })
  const { url, close } = await listen(all.server, { port: 0 })
  onTestFinished(() => close({ grace: 0 }))
  return { ...all, url }
}

async function connected(
  era: Era,
  { url, key }: { readonly url: string; readonly key: string },
  forms?: () => { action: "accept"; content: Record<string, boolean> },
): Promise<Client> {
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      capabilities: forms === undefined ? {} : { elicitation: {} },
      ...(era === "2026-07-28" && { versionNegotiation: { mode: { pin: era } } }),
    },
  )
  if (forms !== undefined) client.setRequestHandler("elicitation/create", forms)
  const requestInit = { headers: { authorization: `Bearer ${key}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }))
  onTestFinished(() => client.close())
  return client
}

const text = (result: unknown) => JSON.stringify((result as { content: unknown }).content)

async function settled({ runtime }: Served, runId: string) {
  return await runtime.get(runId).result.catch((error: unknown) => error)
}

describe.each(ERAS)("a client of revision %s", (era) => {
  test("sees the workflows of its key as tools, with their input, and gets outputs as data", async () => {
    const { url, key } = await listening()
    const client = await connected(era, { url, key: await key({ role: "operator", workflows: ["add"] }) })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(["add", "answer_run", "cancel_run"])
    expect(tools[0]).toMatchObject({
      description: "Adds two numbers.",
      inputSchema: { properties: { a: { type: "number" } }, required: ["a", "b"] },
    })
    const messages: (string | undefined)[] = []
    const result = await client.callTool(
      { name: "add", arguments: { a: 1, b: 2 } },
      { onprogress: ({ message }) => void messages.push(message) },
    )
    expect(result.structuredContent).toMatchObject({ status: "completed", outputs: [3] })
    expect(messages).toEqual(["add started", "add finished"])
  })

  test("answers a question by a form, in the name of its key", async () => {
    const { url, key, runtime } = await listening()
    const forms = () => ({ action: "accept" as const, content: { answer: true } })
    const client = await connected(era, { url, key: await key({ role: "operator" }) }, forms)
    const { structuredContent } = await client.callTool({ name: "approve", arguments: { input: "it" } })
    expect(structuredContent).toMatchObject({ status: "completed", outputs: ["did it"] })
    const { runId } = structuredContent as { runId: string }
    const [answered] = await runtime.requests({ runId, outcome: ["answered"] })
    expect(answered?.by).toMatch(/^key:/)
  })

  test("that cancels its call cancels the run", async () => {
    const { hold, started } = held()
    const all = await listening({ workflows: [hold] as never })
    const { runtime } = all
    const client = await connected(era, { url: all.url, key: await all.key({ role: "operator" }) })
    const stop = new AbortController()
    const call = client.callTool({ name: "hold", arguments: { input: "x" } }, { signal: stop.signal })
    const rejected = expect(call).rejects.toThrow()
    await started
    const [run] = await runtime.runs({})
    stop.abort("enough")
    await rejected
    expect(await settled(all, run?.runId as string)).toMatchObject({ status: "cancelled" })
  })

  test("cannot reach runs of another tenant, by no means", async () => {
    const all = await listening()
    const { url, key, runtime } = all
    const own = await connected(era, { url, key: await key({ role: "operator", tenant: "a" }) })
    const { structuredContent } = await own.callTool({ name: "approve", arguments: { input: "secret" } })
    const run = (structuredContent as { runId: string }).runId
    const foreign = await connected(era, { url, key: await key({ role: "admin", tenant: "b" }) })
    for (const [name, args] of [
      ["answer_run", { run, answer: true }],
      ["cancel_run", { run }],
    ] as const) {
      const theirs = await foreign.callTool({ name, arguments: args })
      const none = await foreign.callTool({ name, arguments: { ...args, run: "none" } })
      expect(theirs.isError).toBe(true)
      expect(text(theirs).replaceAll(run, "none")).toBe(text(none))
    }
    expect((await runtime.store.run(run))?.status).toBe("waiting")
    expect(await runtime.requests({ runId: run })).toHaveLength(1)
  })

  test("with a key whose budget is used up starts nothing, and still answers", async () => {
    const { url, key, ask, runtime } = await listening()
    const secret = await key({ role: "operator", budget: { tokens: 10, per: "total" } })
    const client = await connected(era, { url, key: secret })
    const { structuredContent } = await client.callTool({ name: "approve", arguments: { input: "it" } })
    const run = (structuredContent as { runId: string }).runId
    const counted = runtime.on("run.ended", { consumer: "test" }, () => undefined)
    await ask("POST", "/v1/workflows/add/runs", { key: secret, body: { input: { a: 1, b: 2 } } })
    await counted
    const id = secret.split("_")[1]
    await runtime.store.records.put(
      "key-usage",
      `${id}:total`,
      { usd: 0, tokens: 10, position: 1_000 },
      (await runtime.store.records.get("key-usage", `${id}:total`))?.version ?? null,
    )
    const refused = await client.callTool({ name: "add", arguments: { a: 1, b: 2 } })
    expect(text(refused)).toContain("KEY_BUDGET_USED_UP")
    const done = await client.callTool({ name: "answer_run", arguments: { run, answer: false } })
    expect(done.structuredContent).toMatchObject({ outputs: ["left it"] })
  })
})

test("a run continues when the server stops while a client waits for it", async () => {
  const { hold, started } = held()
  const all = await listening({ workflows: [hold] as never })
  const client = await connected("2026-07-28", { url: all.url, key: await all.key({ role: "operator" }) })
  const call = client.callTool({ name: "hold", arguments: { input: "x" } }).catch((error: unknown) => error)
  await started
  const [run] = await all.runtime.runs({})
  all.server.drain()
  await call
  expect((await all.runtime.store.run(run?.runId as string))?.status).toBe("running")
})

test("a client of the SDK's first generation works as well", async () => {
  const { url, key } = await listening()
  const client = new OldClient({ name: "old", version: "1.0.0" })
  const requestInit = { headers: { authorization: `Bearer ${await key({ role: "operator" })}` } }
  await client.connect(new OldTransport(new URL(`${url}/mcp`), { requestInit }) as OldTransportType)
  onTestFinished(() => client.close())
  const { structuredContent } = await client.callTool({ name: "add", arguments: { a: 2, b: 3 } })
  expect(structuredContent).toMatchObject({ outputs: [5] })
})

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1" } },
}
const ACCEPT = { accept: "application/json, text/event-stream" }

test("E1 a session is unknown to every other key, and to the same person with other rights", async () => {
  const { ask, key } = served()
  const owner = await key({ role: "operator", tenant: "a" })
  const opened = await ask("POST", "/mcp", { key: owner, body: INITIALIZE, headers: ACCEPT })
  const session = opened.headers.get("mcp-session-id") as string
  expect(session).toMatch(/^[\w-]{36,}$/)
  await opened.body?.cancel()
  const list = { jsonrpc: "2.0", id: 2, method: "tools/list" }
  const status = async (secret: string, id: string) => {
    const response = await ask("POST", "/mcp", {
      key: secret,
      body: list,
      headers: { ...ACCEPT, "mcp-session-id": id, "mcp-protocol-version": "2025-11-25" },
    })
    await response.body?.cancel()
    return response.status
  }
  expect(await status(owner, session)).toBe(200)
  for (const other of [{ tenant: "a" }, { tenant: "b" }, {}]) {
    const secret = await key({ role: "admin", ...other })
    expect(await status(secret, session)).toBe(404)
    const end = await ask("DELETE", "/mcp", { key: secret, headers: { "mcp-session-id": session } })
    expect(end.status).toBe(404)
  }
  expect(await status(owner, "none")).toBe(404)
  expect(await status(owner, session)).toBe(200)
})

test("pages of other sites are refused, also under a name that they let resolve to this machine", async () => {
  const { ask, key } = served({ cors: ["https://app.example"] })
  const secret = await key({ role: "operator" })
  const status = async (origin: string, sent?: string) =>
    (await ask("POST", "/mcp", { key: sent, body: INITIALIZE, headers: { ...ACCEPT, origin } })).status
  expect(await status("https://evil.example", secret)).toBe(403)
  expect(await status("null", secret)).toBe(403)
  expect(await status("https://app.example", secret)).toBe(200)
  expect(await status("http://localhost:3000", secret)).toBe(200)
  // The server's own origin: a page that it serves, or DNS rebinding. Only the first has a key.
  expect(await status("http://local", secret)).toBe(200)
  const open = served({ auth: undefined })
  const rebound = await open.ask("POST", "/mcp", {
    body: INITIALIZE,
    headers: { ...ACCEPT, origin: "http://local" },
  })
  expect(rebound.status).toBe(403)
})

test.each([
  ["no JSON", "{", 400],
  ["no JSON-RPC", '{"hello":1}', 400],
  ["a batch without a session", "[]", 400],
  ["a call without a session", '{"jsonrpc":"2.0","id":1,"method":"tools/list"}', 400],
  [
    "a deep value",
    `{"jsonrpc":"2.0","id":1,"method":"x","params":${"[".repeat(5_000)}${"]".repeat(5_000)}}`,
    400,
  ],
  ["too much", `{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"${"x".repeat(2_000)}"}}`, 413],
])("a message that is %s is refused, and the server serves on", async (_, body, status) => {
  const problems: unknown[] = []
  const { server, key, ask } = served({
    ...(status === 413 && { maxBody: 1_000 }),
    onProblem: (error) => problems.push(error),
  })
  const secret = await key({ role: "operator" })
  const headers = { ...ACCEPT, authorization: `Bearer ${secret}`, "content-type": "application/json" }
  const response = await server.fetch(new Request("http://local/mcp", { method: "POST", headers, body }))
  expect(response.status).toBe(status)
  expect(problems).toEqual([])
  expect((await ask("GET", "/healthz")).status).toBe(200)
})

test("a viewer calls nothing, and requests count against the rate limit of their key", async () => {
  const { ask, key } = served()
  const viewer = await key({ role: "viewer" })
  expect((await ask("POST", "/mcp", { key: viewer, body: INITIALIZE, headers: ACCEPT })).status).toBe(403)
  const limited = await key({ role: "operator", rateLimit: { requests: 1, seconds: 60 } })
  const first = await ask("POST", "/mcp", { key: limited, body: INITIALIZE, headers: ACCEPT })
  expect(first.headers.get("ratelimit")).toContain("r=0")
  const second = await ask("POST", "/mcp", { key: limited, body: INITIALIZE, headers: ACCEPT })
  expect(second.status).toBe(429)
})

/** Two servers of one store behind a load balancer that sends every request to the next one. */
async function balanced(
  workflows: readonly unknown[],
  forms?: () => { action: "accept"; content: Record<string, boolean> },
) {
  const first = served({ workflows: workflows as never })
  const { store } = first
  const runtime = new Runtime({ store, workflows: workflows as never })
  onTestFinished(() => runtime.close())
  const second = createServer({ runtime, workflows: workflows as never, auth: apiKeys(store) })
  const authorization = `Bearer ${await first.key({ role: "operator" })}`
  const servers = [first.server, second]
  let requests = 0
  const send = (url: string | URL, init?: RequestInit) =>
    (servers[requests++ % 2] as typeof second).fetch(new Request(url, init))
  const client = new Client(
    { name: "test", version: "1.0.0" },
    { capabilities: forms === undefined ? {} : { elicitation: {} } },
  )
  if (forms !== undefined) client.setRequestHandler("elicitation/create", forms)
  const requestInit = { headers: { authorization } }
  const transport = new StreamableHTTPClientTransport(new URL("http://local/mcp"), {
    requestInit,
    fetch: send,
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  expect(client.getNegotiatedProtocolVersion()).toBe("2025-11-25")
  return { client, transport, runtime, authorization, servers }
}

test("H1 H2 a session of 2025-11-25 works at every server of the store: calls, forms, and its end", async () => {
  const forms = () => ({ action: "accept" as const, content: { answer: true } })
  const { client, transport, servers, authorization } = await balanced([add, approve], forms)
  for (const a of [1, 2, 3]) {
    const { structuredContent } = await client.callTool({ name: "add", arguments: { a, b: 1 } })
    expect(structuredContent).toMatchObject({ outputs: [a + 1] })
    // Moves the balance by one, so that the answer of a form reaches the server without the call.
    await client.ping()
  }
  for (const plan of ["one", "two"]) {
    const { structuredContent } = await client.callTool({ name: "approve", arguments: { input: plan } })
    expect(structuredContent).toMatchObject({ status: "completed", outputs: [`did ${plan}`] })
    await client.listTools()
  }
  const session = transport.sessionId as string
  await transport.terminateSession()
  for (const server of servers) {
    const headers = {
      ...ACCEPT,
      authorization,
      "mcp-session-id": session,
      "content-type": "application/json",
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id: 9, method: "tools/list" })
    const response = await server.fetch(new Request("http://local/mcp", { method: "POST", headers, body }))
    expect(response.status).toBe(404)
  }
})

test("H2 a call is cancelled through another server of the store", async () => {
  const { hold, started } = held()
  const { client, runtime } = await balanced([hold])
  const stop = new AbortController()
  const call = client.callTool({ name: "hold", arguments: { input: "x" } }, { signal: stop.signal })
  const rejected = expect(call).rejects.toThrow()
  await started
  stop.abort("enough")
  await rejected
  await expect.poll(async () => (await runtime.runs({}))[0]?.status).toBe("cancelled")
})
