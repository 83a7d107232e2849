/** A toolset against a real server process of the official SDK. */
import { readArgs } from "@superstep/engine/tools"
import { afterAll, expect, onTestFinished, test, vi } from "vitest"
import { mcpToolset } from "./mcp-toolset.ts"
import { everything, logged, opened, toolNamed, use, value } from "./tool-use.test-support.ts"

/** For servers that leave no trace. */
const shared = mcpToolset(everything)
afterAll(() => shared.close())

test("the tools of a server are an agent's tools, under names that every provider accepts", async () => {
  const tools = await shared.tools(logged().ctx)
  const names = tools.map(({ name }) => name)
  expect(names).toContain("echo")
  expect(names).toContain("read_file")
  expect(new Set(names).size).toBe(names.length)
  for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
  const echo = tools.find(({ name }) => name === "echo")
  expect(echo?.description).toBe("Says it back.")
  expect(echo?.parameters).toMatchObject({ type: "object", properties: { text: { type: "string" } } })
})

test("a tool whose name was changed is called by its original name", async () => {
  const tools = await shared.tools(logged().ctx)
  const dotted = tools.find(({ description }) => description === "A name that providers refuse.")
  expect(dotted?.name).toMatch(/^read_file_[0-9a-f]{8}$/)
  expect(dotted && (await value(dotted))).toBe("dot")
})

test("text is returned as text, structured content as data, images as files", async () => {
  const toolset = shared
  expect(await value(await toolNamed(toolset, "echo"), { text: "hello" })).toBe("hello")
  expect(await value(await toolNamed(toolset, "add"), { a: 1, b: 2 })).toEqual({ sum: 3 })
  const image = ["here", { type: "file", mediaType: "image/png", data: expect.any(String) }]
  expect(await value(await toolNamed(toolset, "image"))).toEqual(image)
})

test("invalid arguments are reported to the model, and the server is not called", async () => {
  const echo = await toolNamed(shared, "echo")
  expect(await readArgs(echo, '{"text":1}')).toEqual({ ok: false, reason: "text: must be string" })
})

test("a tool that reports a failure is an outcome with its message", async () => {
  const outcome = await use(await toolNamed(shared, "fail"))
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_TOOL_FAILED", message: "no such file" } })
})

test("all tasks share one process", async () => {
  const toolset = shared
  const [one, two] = await Promise.all([toolNamed(toolset, "pid"), toolNamed(toolset, "pid")])
  expect(await value(one)).toBe(await value(two))
})

test("nothing is started before the first use", async () => {
  const toolset = mcpToolset({ command: "/no/such/program" })
  expect(toolset.instructions).toBeUndefined()
  await toolset.close()
})

test("the agent gets the server's instructions, unless others are set", async () => {
  const toolset = shared
  await toolset.tools(logged().ctx)
  expect(toolset.instructions).toBe("Use echo for everything.")
  const other = opened(everything, { instructions: "Use add." })
  await other.tools(logged().ctx)
  expect(other.instructions).toBe("Use add.")
})

test("a filter admits allowed tools and no denied ones; a pattern that matches nothing is reported", async () => {
  const task = logged()
  const toolset = opened(everything, {
    tools: { allow: ["e*", "add", "nonsense"], deny: ["env"] },
    prefix: "all_",
  })
  const tools = await toolset.tools(task.ctx)
  expect(tools.map(({ name }) => name)).toEqual(["all_echo", "all_add"])
  expect(task.lines).toEqual([
    expect.stringContaining('warn: "nonsense" matches no tool of "everything". It has: echo'),
  ])
})

test("progress is logged in the task", async () => {
  const task = logged()
  const outcome = await use(await toolNamed(shared, "work"), {}, task)
  expect(outcome).toEqual({ ok: true, value: "done" })
  expect(task.lines).toEqual(["info: work: part 1", "info: work: part 2", "info: work: part 3"])
})

test("hints of the server are trusted with trustHints", async () => {
  expect((await toolNamed(shared, "add")).idempotent).toBeUndefined()
  const trusting = opened(everything, { trustHints: true })
  expect((await toolNamed(trusting, "add")).idempotent).toBe(true)
  expect((await toolNamed(trusting, "echo")).idempotent).toBeUndefined()
})

test("when the server's list changes, the next task sees the new one", async () => {
  const toolset = opened(everything)
  await expect(toolNamed(toolset, "later")).rejects.toThrow("no tool later")
  expect(await value(await toolNamed(toolset, "grow"))).toBe("grown")
  expect(await value(await toolNamed(toolset, "later"))).toBe("late")
})

test("the program inherits PATH and HOME and its own env, and nothing else", async () => {
  for (const name of ["LOGNAME", "SHELL", "TERM", "USER", "SOME_KEY"]) vi.stubEnv(name, "not for servers")
  onTestFinished(() => void vi.unstubAllEnvs())
  const toolset = opened({ ...everything, env: { CITY: "Bern", USER: "nobody" } })
  const env = JSON.parse(String(await value(await toolNamed(toolset, "env")))) as Record<string, string>
  expect(env).toMatchObject({ CITY: "Bern", USER: "nobody", PATH: process.env.PATH })
  expect(Object.keys(env).filter((name) => !["CITY", "USER", "PATH", "HOME"].includes(name))).toEqual([])
})

test("the values of secret variables are masked in the server's output", async () => {
  const toolset = opened({ ...everything, env: { API_TOKEN: "hunter2-hunter2" } })
  const said = String(await value(await toolNamed(toolset, "env")))
  expect(said).toContain("[secret]")
  expect(said).not.toContain("hunter2")
})

test("prompts and resources can be listed and read", async () => {
  const toolset = shared
  expect((await toolset.listPrompts()).map(({ name }) => name)).toEqual(["greet"])
  const { messages } = await toolset.getPrompt("greet", { name: "Ada" })
  expect(messages).toEqual([{ role: "user", content: { type: "text", text: "Greet Ada." } }])
  expect((await toolset.listResources()).map(({ uri }) => uri)).toEqual(["memo://one", "memo://photo"])
  const { contents } = await toolset.readResource("memo://one")
  expect(contents).toEqual([{ uri: "memo://one", mimeType: "text/plain", text: "Buy milk." }])
  await expect(toolset.readResource("memo://none")).rejects.toMatchObject({ code: "MCP_REFUSED" })
})

test("prompts and resources can be tools", async () => {
  const toolset = opened(everything, { tools: [], asTools: { prompts: true, resources: true } })
  const names = (await toolset.tools(logged().ctx)).map(({ name }) => name)
  expect(names).toEqual(["list_prompts", "get_prompt", "list_resources", "read_resource"])
  const prompt = await value(await toolNamed(toolset, "get_prompt"), {
    name: "greet",
    arguments: { name: "Ada" },
  })
  expect(prompt).toEqual([{ role: "user", content: "Greet Ada." }])
  const read = await toolNamed(toolset, "read_resource")
  expect(await value(read, { uri: "memo://one" })).toMatchObject({ text: "Buy milk." })
  expect(await value(read, { uri: "memo://photo" })).toMatchObject([
    { type: "file", mediaType: "image/png", data: "AAAA" },
  ])
  expect(await value(await toolNamed(toolset, "list_resources"))).toHaveLength(2)
  expect(await value(await toolNamed(toolset, "list_prompts"))).toMatchObject([{ name: "greet" }])
})

test("their approval is that of the server's other tools", async () => {
  const asTools = { prompts: true, resources: true }
  const tools = await opened(everything, { asTools, approval: "always" }).tools(logged().ctx)
  expect(new Set(tools.map(({ approval }) => approval))).toEqual(new Set(["always"]))
})

test.each([
  ["neither a command nor a url", {}, "write { command, args } or { url }"],
  ["both", { command: "x", url: "http://x" }, "not both"],
  ["an address that is none", { url: "ftp://x" }, "must start with http"],
  ["a password in its url", { url: "http://ada:hunter2@x" }, "write them into headers"],
  ["an unknown transport", { url: "http://x", transport: "carrier pigeon" }, "streamable-http"],
  ["arguments in one text", { command: "x", args: "-y server" }, "args must be a list"],
])("a server with %s is rejected at once", (_, address, said) => {
  expect(() => mcpToolset(address as never)).toThrow(said)
})

test("an invalid header is rejected without revealing it", () => {
  const make = () => mcpToolset({ url: "http://x", headers: { authorization: "Bearer hunter2\n" + "x" } })
  expect(make).toThrow("headers must be { name: string }")
  expect(make).not.toThrow("hunter2")
})

test.each([
  ["timeout", { timeout: 0 }],
  ["prefix", { prefix: "a b" }],
  ["approval", { approval: "sometimes" as never }],
  ["reconnect.attempts", { reconnect: { attempts: 0 } }],
])("an invalid %s is rejected at once", (said, options) => {
  expect(() => mcpToolset(everything, options)).toThrow(said)
})
