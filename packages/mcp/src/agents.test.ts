/** Both sides with real agents: one that uses a server's tools, and one that is served as a tool. */
import { Client, InMemoryTransport } from "@modelcontextprotocol/client"
import { agent } from "@superstep/engine/agents"
import { scriptedModel } from "@superstep/engine/models"
import { expect, onTestFinished, test } from "vitest"
import { everything, opened } from "./client/tool-use.test-support.ts"
import { ownTools } from "./server/serve-mcp.ts"
import { newSession } from "./server/session.ts"

test("an agent uses the tools of a server, survives its crash, and sees the error", async () => {
  const model = scriptedModel([
    { tool_calls: [{ name: "add", args: { a: 1, b: 2 } }] },
    { tool_calls: [{ name: "crash", args: {} }] },
    { tool_calls: [{ name: "echo", args: { text: "back again" } }] },
    "Three, after all.",
  ])
  const toolset = opened(everything, { tools: ["add", "crash", "echo"], reconnect: { delay: 1 } })
  const adder = agent({ name: "adder", model, tools: [toolset] })
  const { outputs } = await adder.run("What is 1 + 2?")
  expect(outputs).toEqual(["Three, after all."])
  const prompts = model.calls.map(({ options }) => JSON.stringify(options.prompt))
  expect(prompts[0]).toContain("Use echo for everything.")
  expect(prompts[1]).toContain('"sum":3')
  expect(prompts[2]).toContain("disconnected")
  expect(prompts[3]).toContain("back again")
})

test("an agent is served as a tool with text as input", async () => {
  const poet = agent({
    name: "poet",
    description: "Writes a line.",
    model: scriptedModel(["Roses are red."]),
  })
  const options = { agents: [poet] }
  const tools = ownTools(options)
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await newSession(tools, {}).server.connect(ours)
  const client = new Client({ name: "test", version: "1.0.0" })
  await client.connect(theirs)
  onTestFinished(async () => {
    await client.close()
    await tools.close()
  })
  const listed = await client.listTools()
  expect(listed.tools[0]).toMatchObject({ name: "poet", description: "Writes a line." })
  const result = await client.callTool({ name: "poet", arguments: { input: "A poem, please." } })
  expect(result.content).toEqual([{ type: "text", text: "Roses are red." }])
})
