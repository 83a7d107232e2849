/** Hooks of a definition are real commands: what they read, what they decide, and what happens when they fail. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { shown } from "../../agents/stand-ins.test-support.ts"
import { memoryStore } from "../../index.ts"
import { scriptedModel } from "../../models/index.ts"
import { tool } from "../../tools/index.ts"
import { type CommandHooksOptions, commandHooks } from "./command-hooks.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "hooks-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const seen: unknown[] = []
const run = tool({
  name: "run",
  description: "Runs.",
  input: { jsonSchema: { type: "object", properties: { cmd: { type: "string" }, pin: { type: "string" } } } },
  secret: ["pin"],
  run: (args) => {
    seen.push(args)
    return "ran"
  },
})

const callOf = (cmd: string) => ({ tool_calls: [{ name: "run", args: { cmd, pin: "4711-0815" } }] })

function agentWith(
  options: CommandHooksOptions,
  script: Parameters<typeof scriptedModel>[0] = [callOf("ls"), "done"],
) {
  seen.length = 0
  const model = scriptedModel(script)
  return { model, x: agent({ name: "x", model, tools: [run], middleware: [commandHooks(options)] }) }
}

const before = (...commands: readonly string[]): CommandHooksOptions => ({
  preToolUse: [{ matcher: "run|other", hooks: commands.map((command) => ({ command, timeout: 5_000 })) }],
})
const say = (output: object) => `cat > /dev/null; echo '${JSON.stringify(output)}'`
const specific = (fields: object) => say({ hook_specific_output: fields })

describe("before a tool call", () => {
  test.each([
    [
      "a decision",
      specific({ permission_decision: "deny", permission_decision_reason: "too risky" }),
      "too risky",
    ],
    ["exit code 2", "echo no shells >&2; exit 2", "no shells"],
    ["a block", say({ decision: "block", reason: "closed" }), "closed"],
    ["a stop", say({ continue: false, stop_reason: "enough" }), "enough"],
    // A guard that cannot decide must not allow.
    ["a failure", "exit 1", "exited with code 1"],
    ["a timeout", "sleep 30", "was stopped after 50 ms"],
  ])("%s denies it", async (_, command, reason) => {
    const hooks = [{ command, timeout: command.startsWith("sleep") ? 50 : 5_000 }]
    const { x, model } = agentWith({ preToolUse: [{ hooks }] })
    expect((await x.run("go")).outputs).toEqual(["done"])
    expect(seen).toEqual([])
    expect(shown(model, 1).at(-1)).toContain(reason)
  })

  test("each hook sees and changes the arguments of the one before, but never a secret", async () => {
    const update = `sed 's/.*"cmd":"\\([^"]*\\)".*/{"hook_specific_output":{"updated_input":{"cmd":"\\1 -h"}}}/'`
    const { x } = agentWith(before(`tee ${folder}/first | ${update}`, update))
    await x.run("go")
    expect(seen).toEqual([{ cmd: "ls -h -h", pin: "4711-0815" }])
    const input = readFileSync(join(folder, "first"), "utf8")
    expect(JSON.parse(input)).toMatchObject({
      hook_event_name: "pre_tool_use",
      tool_name: "run",
      agent_name: "x",
      cwd: process.cwd(),
      tool_input: { cmd: "ls", pin: "[secret]" },
    })
    expect(input).not.toContain("4711")
  })

  test("a hook leaves the call to a person, and is not run again when the run resumes", async () => {
    const store = memoryStore()
    const count = `echo x >> ${folder}/count; ${specific({ permission_decision: "ask" })}`
    const asking = agentWith(before(count))
    const { requests } = await asking.x.run("go", { store, runId: "r" })
    expect([requests[0]?.prompt, seen]).toEqual(['Allow "x" to call "run"?', []])
    const { x } = agentWith(before(count))
    const resumed = x.resume("r", { store, takeOver: true })
    await resumed.respond(requests[0]?.id ?? "", { approve: false })
    expect((await resumed).outputs).toEqual(["done"])
    expect(readFileSync(join(folder, "count"), "utf8")).toBe("x\n")
  })

  test("does not get our keys, and other tools do not run it", async () => {
    process.env.SUPERSTEP_TEST_TOKEN = "key-123"
    try {
      const { x, model } = agentWith({
        preToolUse: [{ matcher: "other", hooks: [{ command: "exit 2" }] }],
        postToolUse: [{ matcher: "*", hooks: [{ command: "env" }] }],
      })
      await x.run("go")
      expect(seen).toHaveLength(1)
      expect(shown(model, 1).at(-1)).toContain("PATH=")
      expect(shown(model, 1).at(-1)).not.toContain("key-123")
    } finally {
      delete process.env.SUPERSTEP_TEST_TOKEN
    }
  })
})

test("hooks around the session add to the instructions and to results, and learn how it ended", async () => {
  const log = (name: string) => ({ command: `cat >> ${folder}/${name}` })
  const options: CommandHooksOptions = {
    sessionStart: [
      { command: "echo Today is Monday." },
      { command: specific({ additional_context: "The branch is main." }) },
      // A failing hook is a warning.
      { command: "exit 7" },
    ],
    postToolUse: [
      { hooks: [{ command: 'grep -o \'"tool_response":"[a-z]*"\'' }, { command: "echo odd >&2; exit 2" }] },
    ],
    stop: [log("stop")],
    sessionEnd: [log("end")],
    notification: [log("notification")],
  }
  const { x, model } = agentWith(options)
  await x.run("go", { runId: "r1" })
  expect(shown(model, 0)[0]).toBe("system: Today is Monday.\n\nThe branch is main.")
  expect(shown(model, 1).at(-1)).toBe(`tool: ${JSON.stringify('ran\n\n"tool_response":"ran"\nodd')}`)
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), "utf8")) as object
  expect(read("stop")).toMatchObject({ session_id: "r1", hook_event_name: "stop", stop_response: "done" })
  expect(read("end")).toMatchObject({ hook_event_name: "session_end", reason: "answered" })

  await agentWith(options, []).x.run("go", { store: memoryStore() }).result
  expect(read("notification")).toMatchObject({
    notification_level: "error",
    notification_message: expect.stringContaining("script"),
  })
})
