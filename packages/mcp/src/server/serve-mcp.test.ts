/** Our workflows, driven by the official client: over HTTP on loopback, and as a process over stdio. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js"
import { memoryStore, node, Runtime, workflow } from "@superstep/engine"
import { expect, onTestFinished, test } from "vitest"
import { program } from "../client/tool-use.test-support.ts"
import { type HttpTransport, type ServeMcpOptions, serveMcp } from "./serve-mcp.ts"
import { adder, approval, gate, greeter } from "./workflows.test-support.ts"

async function httpServer(options: ServeMcpOptions, on: Partial<HttpTransport> = {}): Promise<URL> {
  const served = serveMcp(options, { transport: "http", ...on })
  const server = createServer((request, response) => served.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(async () => {
    await served.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
}

async function connected(transport: Transport): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

async function clientOf(options: ServeMcpOptions): Promise<Client> {
  return await connected(new StreamableHTTPClientTransport(await httpServer(options)) as Transport)
}

/** Requests the list first, so that the client validates results against the output schema. */
async function called(client: Client, name: string, args: object): Promise<CallToolResult> {
  await client.listTools()
  return (await client.callTool({ name, arguments: { ...args } })) as CallToolResult
}

const text = ({ content }: CallToolResult) =>
  content.map((block) => (block.type === "text" ? block.text : "")).join()

test("a workflow is a tool with the input of its start node", async () => {
  const client = await clientOf({ workflows: [greeter, adder] })
  const { tools } = await client.listTools()
  expect(tools.map(({ name }) => name)).toEqual(["greeter", "add_numbers", "answer_run", "cancel_run"])
  expect(tools[0]?.inputSchema).toMatchObject({
    properties: { input: { type: "string" } },
    required: ["input"],
  })
  expect(tools[1]).toMatchObject({
    description: "Adds two numbers.",
    inputSchema: { properties: { a: { type: "number" }, b: { type: "number" } }, required: ["a", "b"] },
  })
})

test("its outputs are the result: as text, and as data", async () => {
  const client = await clientOf({ workflows: [greeter, adder] })
  const greeted = await called(client, "greeter", { input: "Ada" })
  expect(text(greeted)).toBe("Hello, Ada!")
  expect(greeted.structuredContent).toMatchObject({ status: "completed", outputs: ["Hello, Ada!"] })
  const added = await called(client, "add_numbers", { a: 1, b: 2 })
  expect(text(added)).toBe('{"sum":3}')
})

test("invalid input and a failed run are error results", async () => {
  const failing = workflow("failing")
    .chain(
      node("fails", () => {
        throw new Error("no paper")
      }),
    )
    .build()
  const client = await clientOf({ workflows: [adder, failing] })
  const refused = await called(client, "add_numbers", { a: "one" })
  expect(refused.isError).toBe(true)
  expect(text(refused)).toContain("INPUT_INVALID")
  const failed = await called(client, "failing", { input: "" })
  expect(failed).toMatchObject({ isError: true, structuredContent: { status: "failed" } })
  expect(text(failed)).toContain("no paper")
  await expect(client.callTool({ name: "nothing" })).rejects.toThrow('There is no tool "nothing"')
})

test("R2 a run that waits for a person returns its question, which a second tool answers", async () => {
  const client = await clientOf({ workflows: [approval] })
  const waiting = await called(client, "approval", { input: "the plan" })
  const { runId, requests } = waiting.structuredContent as { runId: string; requests: { id: string }[] }
  expect(waiting.isError).toBeUndefined()
  expect(waiting.structuredContent).toMatchObject({
    status: "waiting",
    requests: [{ prompt: "Do it?", data: "the plan" }],
  })
  expect(text(waiting)).toContain(runId)
  expect(text(waiting)).toContain("Do it?")

  const misfit = await called(client, "answer_run", { run: runId, answer: { yes: true } })
  expect(misfit.isError).toBe(true)
  expect(text(misfit)).toContain("REQUEST_INVALID")

  const done = await called(client, "answer_run", { run: runId, request: requests[0]?.id, answer: true })
  expect(done.structuredContent).toMatchObject({ runId, status: "completed", outputs: ["did the plan"] })
  const again = await called(client, "answer_run", { run: runId, answer: true })
  expect(again.isError).toBe(true)
})

test("an answer as text is parsed", async () => {
  const client = await clientOf({ workflows: [approval] })
  const { structuredContent } = await called(client, "approval", { input: "x" })
  const done = await called(client, "answer_run", { run: structuredContent?.runId, answer: "false" })
  expect(done.structuredContent).toMatchObject({ status: "completed", outputs: ["left x"] })
})

test("a run that waits can be cancelled", async () => {
  const client = await clientOf({ workflows: [approval] })
  const { structuredContent } = await called(client, "approval", { input: "x" })
  const run = structuredContent?.runId
  expect(text(await called(client, "cancel_run", { run }))).toContain("is cancelled")
  expect((await called(client, "answer_run", { run, answer: true })).isError).toBe(true)
})

test("R3 runs of workflows that are not served are unknown", async () => {
  const runtime = new Runtime({ store: memoryStore(), workflows: [approval, greeter] })
  onTestFinished(() => runtime.close())
  const hidden = await runtime.start(approval, "secret plan").result
  const client = await clientOf({ workflows: [greeter], runtime })
  for (const name of ["answer_run", "cancel_run"]) {
    const refused = await called(client, name, { run: hidden.runId, answer: true })
    expect(text(refused)).toContain("There is no run")
  }
})

test("a runtime in the options keeps the runs, and another client can answer them", async () => {
  const runtime = new Runtime({ store: memoryStore(), workflows: [approval] })
  onTestFinished(() => runtime.close())
  const first = await clientOf({ workflows: [approval], runtime })
  const { structuredContent } = await called(first, "approval", { input: "x" })
  await first.close()
  const second = await clientOf({ workflows: [approval], runtime })
  const done = await called(second, "answer_run", { run: structuredContent?.runId, answer: true })
  expect(done.structuredContent).toMatchObject({ status: "completed", outputs: ["did x"] })
})

test("a client that requests progress receives all of it before the result", async () => {
  const client = await clientOf({ workflows: [greeter, approval] })
  const messages: (string | undefined)[] = []
  const onprogress = ({ message }: { message?: string | undefined }) => void messages.push(message)
  const follow = async (name: string, args: object) =>
    (await client.callTool({ name, arguments: { ...args } }, undefined, { onprogress })) as CallToolResult
  await follow("greeter", { input: "Ada" })
  expect(messages.splice(0)).toEqual(["greet started", "greet: greeting Ada", "greet finished"])
  const { structuredContent } = await follow("approval", { input: "x" })
  expect(messages.splice(0)).toEqual(["ask started", "ask asks: Do it?"])
  await follow("answer_run", { run: structuredContent?.runId, answer: true })
  expect(messages).toEqual(["ask finished"])
})

test("R1 a call that is cancelled cancels its run", async () => {
  const { held, started, stopped } = gate()
  const client = await clientOf({ workflows: [held] })
  const stop = new AbortController()
  const call = client.callTool({ name: "held", arguments: { input: "x" } }, undefined, {
    signal: stop.signal,
  })
  const rejected = expect(call).rejects.toThrow("enough")
  await started
  stop.abort("enough")
  await rejected
  expect(await stopped).toContain("the run ended as cancelled")
})

test("R1 a session that ends cancels its runs", async () => {
  const { held, started, stopped } = gate()
  const url = await httpServer({ workflows: [held] })
  const transport = new StreamableHTTPClientTransport(url)
  const client = await connected(transport as Transport)
  client.callTool({ name: "held", arguments: { input: "x" } }).catch(() => undefined)
  await started
  await transport.terminateSession()
  expect(await stopped).toContain("the run ended as cancelled")
})

test("hosts and origins other than this machine are refused, unless they are allowed", async () => {
  const url = await httpServer({ workflows: [greeter] }, { allowedOrigins: ["https://app.example"] })
  const post = (headers: Record<string, string>) => fetch(url, { method: "POST", body: "{}", headers })
  expect((await post({ origin: "https://evil.example" })).status).toBe(403)
  expect((await post({ origin: "null" })).status).toBe(403)
  // Rejected not for its host, but for the type of its body.
  expect((await post({ origin: "https://app.example" })).status).toBe(415)
  expect((await post({ origin: "http://localhost:3000" })).status).toBe(415)
  expect((await post({})).status).toBe(415)
})

test("E2 a new client replaces the one that was idle longest, which can return", async () => {
  const { held, started } = gate()
  const url = await httpServer({ workflows: [greeter, held] }, { maxSessions: 2 })
  const client = () => connected(new StreamableHTTPClientTransport(url) as Transport)
  const busy = await client()
  busy.callTool({ name: "held", arguments: { input: "x" } }).catch(() => undefined)
  await started
  const quiet = await client()
  const third = await client()
  expect(text(await called(third, "greeter", { input: "Ada" }))).toBe("Hello, Ada!")
  await expect(quiet.listTools()).rejects.toMatchObject({ code: 404 })
  expect(await busy.listTools()).toBeDefined()
})

test("a request with an unknown session gets 404; one without a handshake leaves nothing behind", async () => {
  const url = await httpServer({ workflows: [greeter] }, { maxSessions: 1 })
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })
  const post = (more: Record<string, string>) =>
    fetch(url, { method: "POST", body, headers: { ...headers, ...more } })
  expect((await post({ "mcp-session-id": "nobody" })).status).toBe(404)
  expect((await post({})).status).toBe(400)
  await connected(new StreamableHTTPClientTransport(url) as Transport)
})

test("names, descriptions and inputs can be set for a served workflow", async () => {
  const client = await clientOf({
    name: "office",
    version: "2.0.0",
    instructions: "Be brief.",
    workflows: [{ workflow: greeter, name: "hello", description: "Greets." }],
  })
  expect(client.getServerVersion()).toMatchObject({ name: "office", version: "2.0.0" })
  expect(client.getInstructions()).toBe("Be brief.")
  expect((await client.listTools()).tools[0]).toMatchObject({ name: "hello", description: "Greets." })
})

test("nothing to serve, and two tools of one name, are refused", () => {
  expect(() => serveMcp({}, { transport: "http" })).toThrow("name workflows or agents")
  const twice = [greeter, { workflow: adder, name: "greeter" }]
  expect(() => serveMcp({ workflows: twice }, { transport: "http" })).toThrow('two tools are named "greeter"')
  expect(() => serveMcp({ workflows: [{ workflow: greeter, name: "a b" }] })).toThrow("invalid tool name")
})

test("over stdio the server is a process that ends with its client", async () => {
  const transport = new StdioClientTransport({ ...server, args: [...(server.args ?? [])], stderr: "inherit" })
  const client = await connected(transport)
  expect(text(await called(client, "greeter", { input: "Ada" }))).toBe("Hello, Ada!")
  const waiting = await called(client, "approval", { input: "x" })
  const run = waiting.structuredContent?.runId
  expect(text(await called(client, "answer_run", { run, answer: true }))).toBe("did x")
  const { pid } = transport
  await client.close()
  expect(() => process.kill(Number(pid), 0)).toThrow("ESRCH")
})

const server = program("../server/served-program.test-support.ts")
