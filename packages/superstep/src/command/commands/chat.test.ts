import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const HELPER = `
agents:
  root:
    model: openai/gpt-5
    instruction: Help.
    welcome_message: Good morning.
    commands:
      space: How much room is there on
      joke: { description: Something funny, instruction: Tell a joke. }
`
/** Replies with the length of the conversation, from its prompt. */
const SCRIPT = `
- { when: "Hello", text: One. }
- { when: "How much room is there on /tmp", text: Two. }
- { when: "Tell a joke.", text: Three. }
`
const files = { "helper.yaml": HELPER, "script.yaml": SCRIPT }
const model = ["--model", "scripted:script.yaml"]

describe("superstep chat", () => {
  it("creates a run for each line, and has the agent's own commands", async () => {
    const stdin = "Hello\n\n/space /tmp\n/joke\n/exit\nnever\n"
    const { code, stdout, stderr } = await superstep(["chat", "helper.yaml", ...model], { files, stdin })
    expect({ code, stdout }).toEqual({ code: 0, stdout: "One.\nTwo.\nThree.\n" })
    expect(stderr).toMatch(/^thread chat-[0-9a-f]{8} · .*\nGood morning\.\n$/)
  })

  it("lists its commands, and reports unknown ones", async () => {
    const { stderr } = await superstep(["chat", "helper.yaml", ...model], {
      files,
      stdin: "/help\n/nothing\n",
    })
    expect(stderr).toContain("/joke   Something funny")
    expect(stderr).toContain("Unknown command /nothing")
  })

  it("continues a thread in another process", async () => {
    const io = testIo({ files, stdin: "Hello\n" })
    await superstep(["chat", "helper.yaml", "--thread", "ada", ...model], io)
    const { stdout } = await superstep(
      ["run", "helper.yaml", "Tell a joke.", "--thread", "ada", "--json", "--model", "offline"],
      io,
    )
    const started = JSON.parse(stdout.split("\n")[0] ?? "")
    expect(JSON.stringify(started.state)).toContain("Hello")
    expect(JSON.stringify(started.state)).toContain("One.")
  })

  it("continues after an answer that fails, and prints the reason", async () => {
    const { code, stdout, stderr } = await superstep(["chat", "helper.yaml", ...model], {
      files,
      stdin: "What?\nHello\n",
    })
    expect({ code, stdout }).toEqual({ code: 0, stdout: "One.\n" })
    expect(stderr).toContain("superstep: failed at root:")
  })

  it("is opened by superstep run for a file with only agents, at a terminal", async () => {
    const io = testIo({ files, terminals: ["stdin", "stderr"] })
    const running = superstep(["run", "helper.yaml", ...model], io)
    await io.seen("Good morning.")
    io.stdin.write("Hel\\\r")
    await io.seen("… ")
    io.stdin.write("Hello\r")
    await io.seen("One.")
    io.stdin.write("/exit\r")
    const { code, stdout } = await running
    expect({ code, stdout }).toEqual({ code: 0, stdout: "One.\n" })
  })

  it.each([["chat"], ["run", "x", "--thread", "t"], ["exec", "x", "--thread", "t"]])(
    "is not for steps, which keep no state between runs: %s",
    async (name, ...others) => {
      const steps = "agents: { a: { model: offline } }\nworkflow: [ { type: agent, name: a } ]\n"
      const io = testIo({ files: { "steps.yaml": steps }, stdin: "Hello\n" })
      const { code, stdout, stderr } = await superstep([name, "steps.yaml", ...others, "--quiet"], io)
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
      expect(stderr).toMatch(/^superstep: steps keeps nothing between runs\. /)
      expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
    },
  )

  it("refuses --strict, which is for single runs", async () => {
    const { code, stderr } = await superstep(["chat", "helper.yaml", "--strict", ...model], { files })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("unknown option '--strict'"),
    })
  })

  it("has many runs, so none of them has an id; with an id it is a single run", async () => {
    const refused = await superstep(["chat", "helper.yaml", "--run-id", "r", ...model], { files })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("unknown option '--run-id'") })
    const io = testIo({ files, terminals: ["stdin", "stderr"] })
    const running = superstep(["run", "helper.yaml", "--run-id", "r", ...model], io)
    await io.seen('Prompt for "helper":')
    io.stdin.write("Hello\r")
    expect(await running).toMatchObject({ code: 0, stdout: "One.\n" })
  })
})
