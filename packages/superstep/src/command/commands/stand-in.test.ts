/** No model silently stands in for another: a call without a key reports what to set, unless a person sees the output. */
import { describe, expect, it } from "vitest"
import { moduleFile } from "../modules/index.test-support.ts"
import { superstep, type TestIoOptions } from "../test-io.test-support.ts"

const ASKING = `agents: { clerk: { model: openai/gpt-5, instruction: Answer. } }
workflow: [{ type: agent, name: clerk }]
`
const files = { "f.yaml": ASKING }
const terminal: TestIoOptions["terminals"] = ["stdin", "stdout", "stderr"]
const flat = (text: string) => text.replace(/\n */g, " ")

describe("without a key", () => {
  it.each([
    ["exec", ["exec", "f.yaml", "Is the payment approved?"], terminal],
    ["--quiet", ["run", "f.yaml", "Is the payment approved?", "--quiet"], terminal],
    ["--json", ["run", "f.yaml", "Is the payment approved?", "--json"], terminal],
    ["a run without a terminal", ["run", "f.yaml", "Is the payment approved?"], []],
    [
      "a run whose answer goes to a file",
      ["run", "f.yaml", "Is the payment approved?"],
      ["stdin", "stderr"] as const,
    ],
    ["a research without a terminal", ["research", "Is it approved?", "--docs", "."], []],
  ])("%s exits with 2 and names the variable to set", async (_, argv, terminals) => {
    const { code, stdout, stderr } = await superstep(argv, { files, terminals })
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(flat(stderr)).toContain("Set OPENAI_API_KEY")
    expect(flat(stderr)).toContain("--model offline")
  })

  it("a module's agent makes the CLI exit with 2 as well", async () => {
    const { code, stdout, stderr } = await superstep(["exec", moduleFile("agent"), "Hello", "--quiet"])
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(flat(stderr)).toContain("Set OPENAI_API_KEY")
  })

  it("at a terminal the stand-in is announced before anything else", async () => {
    const { code, stderr } = await superstep(["run", "f.yaml", "Hello", "--no-color"], {
      files,
      terminals: terminal,
    })
    expect(code).toBe(0)
    expect(flat(stderr)).toMatch(/^No key is set \(OPENAI_API_KEY\)\. Using the offline model/)
  })

  it("--model offline answers everywhere", async () => {
    const argv = ["exec", "f.yaml", "Is the payment approved?", "--model", "offline"]
    expect(await superstep(argv, { files })).toMatchObject({ code: 0 })
  })
})

describe("an agent that names no model", () => {
  const unnamed = { "f.yaml": ASKING.replace("model: openai/gpt-5, ", "") }

  it("is refused in a script", async () => {
    const { code, stderr } = await superstep(["exec", "f.yaml", "x"], { files: unnamed })
    expect(code).toBe(2)
    expect(flat(stderr)).toContain('Agent "clerk" needs a model')
  })

  it("is refused in a script, also if a module loads the definition", async () => {
    const argv = ["exec", moduleFile("unnamed"), "x", "--quiet"]
    const { code, stdout, stderr } = await superstep(argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(flat(stderr)).toContain("has no model")
    const script = { "script.yaml": "- Hello.\n" }
    const chosen = await superstep([...argv, "--model", "scripted:script.yaml"], { files: script })
    expect(chosen).toMatchObject({ code: 0, stdout: "Hello.\n" })
  })

  it("is answered by the offline model at a terminal, announced first", async () => {
    const argv = ["run", "f.yaml", "x", "--no-color"]
    const { code, stderr } = await superstep(argv, { files: unnamed, terminals: terminal })
    expect(code).toBe(0)
    expect(stderr).toMatch(/^Using the offline model/)
  })
})

it("an agent that no step uses needs no key, and announces nothing", async () => {
  const text = ASKING.replace("agents: {", "agents: { other: { model: offline },").replace(
    "name: clerk",
    "name: other",
  )
  const argv = ["run", "f.yaml", "Hello", "--model", "other=scripted:script.yaml"]
  const others = { "f.yaml": text, "script.yaml": "- Hello.\n" }
  const { code, stdout, stderr } = await superstep(argv, { files: others })
  expect({ code, stdout }).toEqual({ code: 0, stdout: "Hello.\n" })
  expect(stderr).not.toContain("offline")
})
