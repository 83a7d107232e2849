import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

// The same agent in two steps: two nodes of one run.
const FLOW = `
agents:
  clerk: { model: openai/gpt-5, toolsets: [{ type: shell }] }
workflow:
  - { id: one, type: agent, name: clerk }
  - { id: two, type: agent, name: clerk }
`
const SCRIPT = `
clerk:
  - { tool_calls: [{ name: shell, args: { cmd: "echo a" } }] }
  - One.
  - { tool_calls: [{ name: shell, args: { cmd: "echo b" } }] }
  - Two.
`
const files = { "flow.yaml": FLOW, "script.yaml": SCRIPT }
const model = ["--model", "scripted:script.yaml"]

describe("a tool that is always allowed in a run", () => {
  it("is not asked for again, in any node and after the run moved to another process", async () => {
    const io = testIo({ files, env: { USER: "ada" } })
    const first = await superstep(["run", "flow.yaml", "Go", "--run-id", "r", ...model], io)
    expect([first.code, first.stderr]).toEqual([3, expect.stringContaining('Allow "clerk" to call "shell"?')])
    const { code, stdout } = await superstep(["respond", "r", "always"], io)
    expect([code, stdout]).toEqual([0, "Two.\n"])
    const events = (await superstep(["runs", "events", "r", "--json"], io)).stdout.trim().split("\n")
    const answers = events.map((line) => JSON.parse(line)).filter(({ type }) => type === "request.answered")
    expect(answers.map(({ by, value }) => [by, value])).toEqual([["ada", { approve: true, always: true }]])
  })

  it("is asked for once at the terminal, also if several calls wait", async () => {
    const calls = "{ name: shell, args: { cmd: 'echo a' } }, { name: shell, args: { cmd: 'echo b' } }"
    const script = `clerk:\n  - { tool_calls: [${calls}] }\n  - One.\n  - { tool_calls: [${calls}] }\n  - Two.\n`
    const io = testIo({
      files: { ...files, "script.yaml": script },
      terminals: ["stdin", "stdout", "stderr"],
      env: { NO_COLOR: "1" },
    })
    const ended = superstep(["run", "flow.yaml", "Go", "--run-id", "r", ...model], io)
    await io.seen("always allow")
    const UP = "\x1B[A"
    io.stdin.write(UP)
    io.stdin.write("\r")
    expect((await ended).code).toBe(0)
    const answers = (await superstep(["runs", "events", "r"], io)).stdout.match(/request\.answered/g)
    expect(answers).toHaveLength(2)
  })

  it("is asked for again where a hook has a person decide", async () => {
    const hook = `echo '{"hook_specific_output":{"permission_decision":"ask"}}'`
    const hooks = `hooks: { pre_tool_use: [{ matcher: shell, hooks: [{ type: command, command: ${JSON.stringify(hook)} }] }] }`
    const io = testIo({ files: { ...files, "flow.yaml": FLOW.replace("clerk: {", `clerk: { ${hooks},`) } })
    await superstep(["run", "flow.yaml", "Go", "--run-id", "r", ...model], io)
    expect(await superstep(["respond", "r", "always"], io)).toMatchObject({ code: 3 })
    expect(await superstep(["respond", "r", "yes"], io)).toMatchObject({ code: 0, stdout: "Two.\n" })
  })

  it("is asked for again in the next run", async () => {
    const io = testIo({ files })
    await superstep(["run", "flow.yaml", "Go", "--run-id", "r", ...model], io)
    await superstep(["respond", "r", "always"], io)
    expect((await superstep(["run", "flow.yaml", "Go", "--quiet", ...model], io)).code).toBe(3)
  })
})
