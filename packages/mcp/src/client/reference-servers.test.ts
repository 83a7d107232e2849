/** The protocol's own example servers, as the programs that people install. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { memoryStore, Runtime, workflow } from "@superstep/engine"
import { agent } from "@superstep/engine/agents"
import { scriptedModel } from "@superstep/engine/models"
import { expect, onTestFinished, test } from "vitest"
import type { McpProgram } from "./server-address.ts"
import { logged, opened, toolNamed, use, value } from "./tool-use.test-support.ts"

/** A server from its npm package. */
function installed(name: string, ...args: readonly string[]): McpProgram {
  const from = createRequire(import.meta.url).resolve(`@modelcontextprotocol/server-${name}/package.json`)
  return { name, command: process.execPath, args: [join(dirname(from), "dist", "index.js"), ...args] }
}

test("server-everything: texts, images, resources, data, progress and roots", async () => {
  const toolset = opened(installed("everything", "stdio"), { roots: ["/work"] })
  const called = async (name: string, args = {}) => value(await toolNamed(toolset, name), args)
  expect(await called("echo", { message: "hello" })).toBe("Echo: hello")
  expect(await called("get-sum", { a: 2, b: 3 })).toContain("5")
  expect(await called("get-tiny-image")).toMatchObject([
    expect.any(String),
    { type: "file", mediaType: "image/png", data: expect.stringMatching(/^iVBOR/) },
    expect.any(String),
  ])
  expect(await called("get-resource-reference", { resourceType: "Blob" })).toContainEqual(
    expect.objectContaining({ type: "file", data: expect.any(String) }),
  )
  expect(await called("get-structured-content", { location: "Chicago" })).toMatchObject({
    conditions: expect.any(String),
  })
  expect(await called("get-roots-list")).toContain("file:///work")
  const task = logged()
  await use(await toolNamed(toolset, "trigger-long-running-operation"), { duration: 0.02, steps: 2 }, task)
  expect(task.lines).toHaveLength(2)
  expect((await toolset.listPrompts()).length).toBeGreaterThan(0)
  const [resource] = await toolset.listResources()
  expect((await toolset.readResource(resource?.uri ?? "")).contents).toHaveLength(1)
})

test("server-everything: asks a person, and uses the agent's model", async () => {
  const toolset = opened(installed("everything", "stdio"), { sampling: { approval: "never" } })
  const model = scriptedModel([
    { tool_calls: [{ name: "trigger-elicitation-request", args: {} }] },
    { tool_calls: [{ name: "trigger-sampling-request", args: { prompt: "Say it." } }] },
    "The answer.",
    "Done.",
  ])
  const tester = agent({ name: "tester", model, tools: [toolset] })
  const testing = workflow("testing").chain(tester).build()
  const runtime = new Runtime({ store: memoryStore(), workflows: [testing] })
  onTestFinished(() => runtime.close())
  const { runId, requests } = await runtime.start(testing, "Test it.").result
  const [request] = requests
  expect(request?.schema).toMatchObject({ properties: { email: { format: "email" } } })
  await runtime.respond(runId, request?.id ?? "", { name: "Ada", check: true, email: "ada@example.com" })
  const { status, outputs, usage } = await runtime.get(runId).result
  expect({ status, outputs }).toEqual({ status: "completed", outputs: ["Done."] })
  expect(usage).toMatchObject({ modelCalls: 4, toolCalls: 2 })
  const prompts = model.calls.map(({ options }) => JSON.stringify(options.prompt))
  expect(prompts[1]).toContain("ada@example.com")
  expect(prompts[3]).toContain("The answer.")
})

test("server-filesystem: works in the folder that it gets as its root, and in no other", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "superstep-mcp-")))
  onTestFinished(() => rm(folder, { recursive: true }))
  const [workspace, other] = [join(folder, "workspace"), join(folder, "other")]
  for (const one of [workspace, other]) mkdirSync(one)
  writeFileSync(join(other, "secret.txt"), "hunter2")
  const toolset = opened(installed("filesystem", other), { roots: [workspace] })
  // The server asks for its roots after the handshake, beside the first calls.
  const allowed = await toolNamed(toolset, "list_allowed_directories")
  await expect.poll(async () => JSON.stringify(await value(allowed))).toContain(workspace)
  const note = join(workspace, "note.txt")
  await value(await toolNamed(toolset, "write_file"), { path: note, content: "Buy milk." })
  expect(readFileSync(note, "utf8")).toBe("Buy milk.")
  expect(await value(await toolNamed(toolset, "read_text_file"), { path: note })).toEqual({
    content: "Buy milk.",
  })
  const outside = await use(await toolNamed(toolset, "read_text_file"), { path: join(other, "secret.txt") })
  expect(outside).toMatchObject({ ok: false, error: { code: "MCP_TOOL_FAILED" } })
  expect(JSON.stringify(outside)).not.toContain("hunter2")
})
