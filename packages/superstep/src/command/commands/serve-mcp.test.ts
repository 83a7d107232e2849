/** The official client talks to the command, as an assistant that starts it does. */
import { PassThrough } from "node:stream"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { expect, onTestFinished, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const FILES = {
  "team.yaml": `agents:
  poet: { model: offline, description: Writes a line. }
  critic: { model: offline, description: Judges a line. }
`,
  "flow.yaml": `name: approve order
description: Asks a person.
workflow: [{ id: ask, type: human, prompt: "Approve {{ $input }}?" }]
`,
}

async function served(...argv: readonly string[]) {
  const io = testIo({ files: FILES })
  const ended = superstep(["serve", "mcp", ...argv, "--port", "0"], io)
  await Promise.race([io.seen("/mcp"), ended])
  const [, url] = /at (http\S+)/.exec(io.written.stderr) ?? []
  if (url === undefined) throw new Error(io.written.stderr)
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode: "auto" } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  const stop = async () => {
    await client.close()
    io.interrupt()
    return await ended
  }
  return { io, client, stop }
}

const names = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)

test("each agent of a file with agents is a tool, and another file is one", async () => {
  const { client, io, stop } = await served("team.yaml", "flow.yaml")
  expect(await names(client)).toEqual(["poet", "critic", "approve_order", "answer_run", "cancel_run"])
  const written = await client.callTool({ name: "poet", arguments: { input: "roses" } })
  expect(written.structuredContent).toMatchObject({ status: "completed" })
  const asked = await client.callTool({ name: "approve_order", arguments: { input: "roses" } })
  expect(asked.structuredContent).toMatchObject({
    status: "waiting",
    requests: [{ prompt: "Approve roses?" }],
  })
  expect(io.written.stdout).toBe("")
  expect((await stop()).code).toBe(0)
  // The run is in the store, and knows its file.
  const { runId } = asked.structuredContent as { runId: string }
  expect(await superstep(["respond", runId, "r1", "yes"], io)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("yes"),
  })
})

test("over stdio messages are on stdout alone, and the process ends with its client", async () => {
  const stdin = new PassThrough()
  onTestFinished(() => void stdin.destroy())
  const io = Object.assign(testIo({ files: FILES }), { stdin })
  const ended = superstep(["serve", "mcp", "flow.yaml"], io)
  await io.seen("over stdio")
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  }
  stdin.write(`${JSON.stringify(initialize)}\n`)
  await io.seen('"serverInfo"')
  stdin.end()
  const { code, stdout, stderr } = await ended
  expect(code).toBe(0)
  for (const line of stdout.trim().split("\n")) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" })
  expect(stderr).toContain("Serving approve order over stdio.")
})

test("a file that is missing, and two tools with one name, are reported", async () => {
  expect((await superstep(["serve", "mcp", "none.yaml"], testIo())).code).toBe(2)
  const twice = await superstep(["serve", "mcp", "team.yaml", "team.yaml"], testIo({ files: FILES }))
  expect(twice).toMatchObject({ code: 2, stderr: expect.stringContaining('Two tools would be named "poet"') })
})

test("a login needs a server that has one", async () => {
  const ended = await superstep(["mcp", "login", "flow.yaml"], testIo({ files: FILES }))
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining("no MCP server with remote.oauth") })
  const missing = await superstep(["mcp", "login", "nope.yaml"], testIo({ files: FILES }))
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining("there is no such file") })
})
