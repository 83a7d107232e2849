/** A definition with a research step, from the command line: its documents, and models for its agents. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

const STEP = `workflow:
  - { type: research, model: openai/gpt-5, tools: [{ type: documents, paths: [notes] }] }
`
const SCRIPT = "- '# Tea'\n"

/** The file is in its own folder, with its documents beside it. */
function withNotes(env?: Record<string, string>): TestIo {
  const io = testIo({ env, files: { "script.yaml": SCRIPT } })
  mkdirSync(join(io.cwd, "flows", "notes"), { recursive: true })
  writeFileSync(join(io.cwd, "flows", "tea.yaml"), STEP)
  writeFileSync(join(io.cwd, "flows", "notes", "tea.md"), "# Tea\n\nTea is a drink made of leaves.\n")
  return io
}

const asking = ["run", "flows/tea.yaml", "What is tea made of?"]

it("searches the documents beside the file", async () => {
  const { code, stdout, stderr } = await superstep([...asking, "--model", "offline"], withNotes())
  expect({ code, stdout }).toEqual({
    code: 0,
    stdout: "Tea is a drink made of leaves. [1]\n\n## Sources\n\n1. Tea (flows/notes/tea.md:3)\n\n",
  })
  expect(stderr).not.toContain("No key is set")
})

it("overrides the model of one of the research's agents", async () => {
  const model = ["--model", "offline", "--model", "writer=scripted:script.yaml"]
  const { code, stdout } = await superstep([...asking, ...model], withNotes())
  expect({ code, stdout }).toEqual({
    code: 0,
    // It cites nothing, so the results are listed as read.
    stdout: "# Tea\n\n## Also read\n\n- Tea (flows/notes/tea.md:3)\n\n",
  })
  const unknown = await superstep([...asking, "--model", "riter=offline"], withNotes())
  expect(unknown.code).toBe(2)
  expect(unknown.stderr).toContain('there is no agent "riter"')
  expect(unknown.stderr.replace(/\s+/g, " ")).toContain("thinker, gap, selector, judge, writer")
})

it("reports missing documents before anything runs", async () => {
  const io = testIo({ files: { "tea.yaml": STEP } })
  const { code, stderr } = await superstep(["validate", "tea.yaml"], io)
  expect(code).toBe(2)
  expect(stderr).toContain("Cannot read notes: no such file or folder.")
})
