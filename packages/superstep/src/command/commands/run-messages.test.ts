import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, onTestFinished, test, vi } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"

const HELPER = `
agents:
  root:
    model: openai/gpt-5
    commands: { joke: Tell a joke about }
  judge: { model: openai/gpt-5 }
`
const SCRIPT = `
- { when: "Hello", text: One. }
- { when: "Tell a joke about tea", text: Two. }
- { when: "Judge", text: Three. }
- { when: "The file", text: Four. }
`
const files = { "helper.yaml": HELPER, "script.yaml": SCRIPT }
const model = ["--model", "scripted:script.yaml"]

describe("a prompt", () => {
  const fixed = `
agents: { writer: { model: offline, instruction: Answer. } }
workflow: [{ type: agent, name: writer, prompt: "Text: It rains.\\nWhat is the weather?" }]
`

  it.each(["run", "exec"])("is optional for %s if nothing uses it", async (command) => {
    const { code, stdout } = await superstep([command, "fixed.yaml", "--quiet"], {
      files: { "fixed.yaml": fixed },
    })
    expect([code, stdout]).toEqual([0, expect.stringContaining("rains")])
  })

  it.each([
    ["{ type: agent, name: writer }", "an agent without a prompt of its own"],
    ['{ type: human, prompt: "About {{ $input }}?" }', "a template"],
  ])("is needed by %s", async (step) => {
    const text = `agents: { writer: { model: offline } }\nworkflow: [${step}]\n`
    const { code, stderr } = await superstep(["run", "uses.yaml", "--quiet"], {
      files: { "uses.yaml": text },
    })
    expect([code, stderr]).toEqual([2, expect.stringContaining("uses needs a prompt.")])
  })

  it("may be a command of the agent, in run and exec; a path is text", async () => {
    const only = { ...files, "script.yaml": '- { when: "Tell a joke about tea", text: Two. }\n' }
    for (const command of ["run", "exec"]) {
      const { stdout } = await superstep([command, "helper.yaml", "/joke tea", "--quiet", ...model], {
        files: only,
      })
      expect(stdout).toBe("Two.\n")
    }
    const script = '- { when: "tmp/x", text: Path. }\n'
    const { stdout } = await superstep(["run", "helper.yaml", "/tmp/x", "--quiet", ...model], {
      files: { ...files, "script.yaml": script },
    })
    expect(stdout).toBe("Path.\n")
  })
})

test("-a chooses the agent, and a resumed run has the same one", async () => {
  const io = testIo({ files })
  const { stdout } = await superstep(["run", "helper.yaml", "Judge", "-a", "judge", "--json", ...model], io)
  expect(stdout).toContain('"workflow":"judge"')
  const { runId } = JSON.parse(stdout.split("\n")[0] ?? "")
  const again = await superstep(["runs", "replay", runId], io)
  expect([again.code, again.stderr]).toEqual([0, expect.not.stringContaining("belongs to")])
  const unknown = await superstep(["run", "helper.yaml", "x", "--agent", "jugde", ...model], io)
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    expect.stringContaining('There is no agent "jugde" in agents; there are root, judge.'),
  ])
})

describe("several messages", () => {
  it("are one conversation, in order", async () => {
    const io = testIo({ files })
    const { code, stdout } = await superstep(
      ["run", "helper.yaml", "Hello", "/joke tea", "--quiet", ...model],
      io,
    )
    expect([code, stdout]).toEqual([0, "One.\nTwo.\n"])
    const runs = (await superstep(["runs", "list", "--json"], io)).stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    expect(new Set(runs.map(({ thread }) => thread)).size).toBe(1)
  })

  it("end at the first that fails", async () => {
    const { code, stdout } = await superstep(
      ["exec", "helper.yaml", "Hello", "Unknown", "Hello", "--quiet", ...model],
      { files },
    )
    expect([code, stdout]).toEqual([1, "One.\n"])
  })

  it("are refused for a workflow that keeps nothing", async () => {
    const steps = "agents: { a: { model: offline } }\nworkflow: [{ type: agent, name: a }]\n"
    const { code, stderr } = await superstep(["run", "s.yaml", "a", "b"], { files: { "s.yaml": steps } })
    expect([code, stderr]).toEqual([2, expect.stringContaining("s keeps nothing between runs.")])
  })
})

describe("--session", () => {
  it("-1 continues the last conversation, -2 the one before, an id that one", async () => {
    const io = testIo({ files })
    for (const thread of ["ada", "bob"])
      await superstep(["run", "helper.yaml", "Hello", "--thread", thread, "--quiet", ...model], io)
    const threadOf = async (session: string) => {
      const argv = ["run", "helper.yaml", "/joke tea", "--session", session, "--json", ...model]
      const { stdout, stderr } = await superstep(argv, io)
      const id = JSON.parse(stdout.split("\n")[0] || "{}").runId
      const listed = (await superstep(["runs", "list", "--json"], io)).stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line))
      return listed.find(({ runId }) => runId === id)?.thread ?? stderr
    }
    expect(await threadOf("-2")).toBe("ada")
    // That was the last one.
    expect(await threadOf("-1")).toBe("ada")
    expect(await threadOf("bob")).toBe("bob")
    expect(await threadOf("-9")).toContain("There is no session -9")
  })
})

describe("--attach", () => {
  const image = Buffer.from(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==",
    "base64",
  )

  it("sends text with its name, and an image as a file", async () => {
    const io = testIo({ files: { ...files, "notes.txt": "It rains." } })
    writeFileSync(join(io.cwd, "cat.png"), image)
    const argv = [
      "run",
      "helper.yaml",
      "Look",
      "--attach",
      "notes.txt",
      "--attach",
      "cat.png",
      "--json",
      ...model,
    ]
    const { stdout } = await superstep(argv, io)
    const { input } = JSON.parse(stdout.split("\n")[0] ?? "")
    expect(input.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "text", text: "The file notes.txt:\n\nIt rains." },
          { type: "file", mediaType: "image/png", data: image.toString("base64"), filename: "cat.png" },
        ],
      },
    ])
  })

  it("is checked against what the model takes, before the run", async () => {
    const io = testIo({ files: { "helper.yaml": HELPER }, env: { ANTHROPIC_API_KEY: "x" } })
    vi.stubEnv("ANTHROPIC_API_KEY", "x")
    onTestFinished(() => void vi.unstubAllEnvs())
    writeFileSync(join(io.cwd, "song.mp3"), Buffer.from([0xff, 0xfb, 0x90, 0x00, 0x00]))
    const argv = [
      "run",
      "helper.yaml",
      "Listen",
      "--attach",
      "song.mp3",
      "--model",
      "anthropic/claude-sonnet-4-5",
    ]
    const { code, stderr } = await superstep(argv, io)
    expect(code).not.toBe(0)
    expect(stderr).toContain("audio/mpeg")
  })

  it.each([
    ["gone.txt", "Cannot attach gone.txt: no such file."],
    ["blob.bin", "Cannot attach blob.bin: its type is unknown."],
    [".", "Cannot attach .: it is not a file."],
  ])("refuses %s", async (path, message) => {
    const io = testIo({ files })
    writeFileSync(join(io.cwd, "blob.bin"), Buffer.from([0, 1, 2, 255]))
    const { code, stderr } = await superstep(["run", "helper.yaml", "x", "--attach", path, ...model], io)
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([2, expect.stringContaining(message)])
  })

  it("is for agents", async () => {
    const steps = "agents: { a: { model: offline } }\nworkflow: [{ type: agent, name: a }]\n"
    const { stderr } = await superstep(["run", "s.yaml", "a", "--attach", "s.yaml"], {
      files: { "s.yaml": steps },
    })
    expect(stderr).toContain("s takes text only.")
  })
})
