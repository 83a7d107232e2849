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
    expect(stderr).toMatch(/\/joke +Something funny/)
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

  it("changes the model, shows what was used, and lists and continues conversations", async () => {
    const io = testIo({
      files,
      stdin: "Hello\n/cost\n/model\n/model root=offline\n/sessions\n/sessions 1\n/yolo\n/yolo\n",
    })
    const { code, stderr } = await superstep(["chat", "helper.yaml", "--thread", "ada", ...model], io)
    expect(code).toBe(0)
    expect(stderr).toMatch(/1 message: ~?\d+ tokens, .*, 1 model call\n/)
    expect(stderr).toContain("  root: scripted:script.yaml\n")
    expect(stderr).toContain("From now on: root=offline.")
    expect(stderr).toMatch(/\* 1 {2}\d+s +ada {2}Hello\n/)
    expect(stderr).toContain("Continues ada.")
    expect(stderr).toContain("Tools run without asking, unless they are denied.\nTools ask again.\n")
  })

  it("keeps its model if the new one cannot be used", async () => {
    const io = testIo({ files, stdin: "/model nowhere/x\nHello\n" })
    const { code, stdout, stderr } = await superstep(["chat", "helper.yaml", ...model], io)
    expect([code, stdout]).toEqual([0, "One.\n"])
    expect(stderr).toContain("nowhere")
  })

  it("continues with a summary after /compact, on a thread of its own", async () => {
    const script = `
- { when: "Hello", text: One. }
- { when: "Summarize our conversation", text: They greeted. }
- { when: "Tell a joke.", text: Three. }
`
    const io = testIo({
      files: { ...files, "script.yaml": script },
      stdin: "/compact\nHello\n/compact\n/joke\n",
    })
    const { code, stdout, stderr } = await superstep(["chat", "helper.yaml", "--thread", "ada", ...model], io)
    expect([code, stdout]).toEqual([0, "One.\nThree.\n"])
    expect(stderr).toContain("There is nothing to summarize.")
    const thread = /Continues on thread (\S+) with this summary. Everything is still in ada./.exec(
      stderr,
    )?.[1]
    const json = ["run", "helper.yaml", "x", "--json", "--model", "offline", "--thread"]
    const { state } = JSON.parse((await superstep([...json, thread ?? ""], io)).stdout.split("\n")[0] ?? "")
    const texts = state.messages.map(({ content }: { content: [{ text: string }] }) => content[0].text)
    expect(texts).toEqual([
      "A summary of our conversation so far:\n\nThey greeted.",
      "Understood. Let us continue.",
      "Tell a joke.",
      "Three.",
    ])
  })

  it("sends files with the next message, and reports those that cannot be sent", async () => {
    const io = testIo({
      files: { ...files, "notes.txt": "Rain." },
      stdin: "/attach gone.txt\n/attach notes.txt\n/attach\nHello\n/attach\n",
    })
    const { code, stdout, stderr } = await superstep(["chat", "helper.yaml", "--thread", "ada", ...model], io)
    expect([code, stdout]).toEqual([0, "One.\n"])
    expect(stderr).toContain("Cannot attach gone.txt: no such file.")
    expect(stderr).toContain("Attached: notes.txt\n")
    expect(stderr).toMatch(/Write \/attach FILE\.\n$/)
  })

  it("is interrupted by Ctrl-C for one answer: at the prompt the line is discarded, and the second one leaves", async () => {
    const slow = "- { when: Hello, text: One., delay: 600000 }\n- { when: Tell a joke., text: Two. }\n"
    const io = testIo({ files: { ...files, "script.yaml": slow }, terminals: ["stdin", "stderr"] })
    const running = superstep(
      ["chat", "helper.yaml", "--thread", "ada", "--model", "scripted:script.yaml"],
      io,
    )
    await io.seen("> ")
    io.stdin.write("half a line\x03")
    io.stdin.write("Hello\r")
    await io.listened()
    io.interrupt()
    await io.seen("cancelled")
    const [UP, CTRL_C] = ["\x1B[A", "\x03"]
    for (const key of [UP, CTRL_C, CTRL_C, CTRL_C]) io.stdin.write(key)
    const { code, stderr } = await running
    expect(code).toBe(0)
    expect(stderr.split("Hello")).toHaveLength(3)
    expect(stderr).toContain("Press Ctrl-C again, or type /exit, to leave.")
    expect(stderr).toContain("Continue this conversation with --thread ada")
  })

  it("refuses --strict, which is for single runs", async () => {
    const { code, stderr } = await superstep(["chat", "helper.yaml", "--strict", ...model], { files })
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining('Unknown option "--strict"'),
    })
  })

  it("has many runs, so none of them has an id; with an id it is a single run", async () => {
    const refused = await superstep(["chat", "helper.yaml", "--run-id", "r", ...model], { files })
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Unknown option "--run-id"') })
    const io = testIo({ files, terminals: ["stdin", "stderr"] })
    const running = superstep(["run", "helper.yaml", "--run-id", "r", ...model], io)
    await io.seen('Prompt for "helper":')
    io.stdin.write("Hello\r")
    expect(await running).toMatchObject({ code: 0, stdout: "One.\n" })
  })
})
