import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

const SCRIPT = `thinker: [{ text: hmm, repeat: true }]
gap: [{ json: { research_complete: false, outstanding_gaps: [what is tea?] }, repeat: true }]
selector: [{ json: { tasks: [{ agent: documents, query: tea }] }, repeat: true }]
judge: [{ json: { sufficient: true }, repeat: true }]
writer: [{ text: "# Tea\\n\\nTea is a drink [1].", repeat: true }]
planner: [{ json: { background_context: "", report_title: All of tea, report_outline: [
  { title: Green, key_question: "green?" }, { title: Black, key_question: "black?" }] } }]
synthesizer: [Both are tea.]
mode: [{ json: { mode: deep } }]
`

function withDocuments(script = SCRIPT): TestIo {
  const io = testIo({ files: { "script.yaml": script } })
  mkdirSync(join(io.cwd, "docs"))
  writeFileSync(join(io.cwd, "docs", "tea.md"), "# Tea\n\nTea is a drink made of leaves.\n")
  writeFileSync(join(io.cwd, "docs", "rye.md"), "# Rye\n\nRye is a grain.\n")
  return io
}

const asking = ["research", "What is tea?", "--docs", "docs", "--model", "scripted:script.yaml"]
const REPORT = "# Tea\n\nTea is a drink [1].\n\n## Sources\n\n1. Tea (docs/tea.md:3)\n"

describe("superstep research", () => {
  it("has the report on stdout, and what it is at on stderr", async () => {
    const { code, stdout, stderr } = await superstep(asking, withDocuments())
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${REPORT}\n` })
    expect(stderr.replace(/in \d.*/s, "")).toBe(`2 documents to search.
· Research on: What is tea?
· pass 1: Searching: documents "tea"
✓ pass 1: 1 new source
✓ pass 1: The evidence suffices
· pass 1: Writing the report
completed `)
  })

  it("writes the report to a file", async () => {
    const io = withDocuments()
    const { code, stdout, stderr } = await superstep([...asking, "--out", "report.md"], io)
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" })
    expect(readFileSync(join(io.cwd, "report.md"), "utf8")).toBe(REPORT)
    expect(stderr).toContain("The report is in report.md.")
    const nowhere = await superstep([...asking, "--out", "no/report.md"], withDocuments())
    expect(nowhere).toMatchObject({ code: 2, stdout: "" })
    expect(nowhere.stderr).toContain("Cannot write no/report.md: there is no such folder.")
  })

  it("shows a deep one section by section", async () => {
    const { stdout, stderr } = await superstep([...asking, "--deep"], withDocuments())
    expect(stdout).toContain("# All of tea\n\nBoth are tea.\n\n# Green\n\nTea is a drink [1].\n\n# Black\n\n")
    expect(stderr).toContain('· [1/2 Green] pass 1: Searching: documents "tea"')
    expect(stderr).toContain("✓ [2/2 Black] pass 1: The evidence suffices")
    expect(stderr).toContain("· Putting the report together")
  })

  it("lets the model choose with --auto", async () => {
    const { stderr, stdout } = await superstep([...asking, "--auto"], withDocuments())
    expect(stderr).toContain("The research is deep.")
    expect(stdout).toContain("# All of tea")
  })

  it("keeps to its budget, says so, and writes all the same", async () => {
    const script = SCRIPT.replace("sufficient: true", "sufficient: false")
    const { code, stdout, stderr } = await superstep(
      [...asking, "--budget", "iterations=2"],
      withDocuments(script),
    )
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${REPORT}\n` })
    expect(stderr).toContain("↻ Pass 2")
    expect(stderr).toContain("! Budget exceeded: iterations")
    expect((await superstep([...asking, "--budget", "passes=2"], withDocuments())).code).toBe(2)
  })

  it("gives the run's events with --json, and nothing but the report with --quiet", async () => {
    const { stdout, stderr } = await superstep([...asking, "--json"], withDocuments())
    const types = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).type)
    expect([types[0], types.at(-1)]).toEqual(["run.started", "run.finished"])
    expect(stderr).not.toContain("Research on")
    expect(await superstep([...asking, "--quiet"], withDocuments())).toEqual({
      code: 0,
      stdout: `${REPORT}\n`,
      stderr: "",
    })
  })

  it("says what to do where there is nothing to search, or what is named is not there", async () => {
    const none = await superstep(["research", "What is tea?", "--model", "offline"])
    expect(none.code).toBe(2)
    expect(none.stderr.replace(/\s+/g, " ")).toContain("Give documents with --docs PATH, or set SEARXNG_URL")
    const gone = await superstep(["research", "What is tea?", "--docs", "gone", "--model", "offline"])
    expect(gone.code).toBe(2)
    expect(gone.stderr).toContain("Cannot read gone: there is no such file or folder.")
  })

  it("goes on with a run that failed, by runs retry", async () => {
    const io = withDocuments(
      SCRIPT.replace('writer: [{ text: "# Tea', 'writer: [{ error: { code: 400 } }, { text: "# Tea'),
    )
    const failed = await superstep([...asking, "--run-id", "tea"], io)
    expect(failed.code).toBe(1)
    writeFileSync(join(io.cwd, "script.yaml"), SCRIPT)
    const again = await superstep(["runs", "retry", "tea"], io)
    expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: `${REPORT}\n` })
  })

  it("searches the web with the engine of the environment", async () => {
    const server = createServer((_, response) => {
      response.setHeader("content-type", "application/json")
      response.end(
        JSON.stringify({ results: [{ title: "Tea", url: "https://t.invalid/", content: "A drink." }] }),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const script = SCRIPT.replace("agent: documents", "agent: web_search")
    const { stdout } = await superstep(["research", "What is tea?", "--model", "scripted:script.yaml"], {
      files: { "script.yaml": script },
      env: { SEARXNG_URL: `http://127.0.0.1:${port}` },
    })
    expect(stdout).toContain("1. [Tea](<https://t.invalid/>)")
  })

  it("answers from the documents with the offline model, with sources that exist", async () => {
    const io = withDocuments()
    const { code, stdout } = await superstep(["research", "What is tea made of?", "--docs", "docs"], io)
    expect(code).toBe(0)
    expect(stdout).toContain("Tea is a drink made of leaves. [1]")
    expect(stdout).toContain("1. Tea (docs/tea.md:3)")
  })
})
