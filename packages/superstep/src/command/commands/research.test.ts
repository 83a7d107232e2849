import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
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

/** A program that prints like a browser, found as `chromium`. */
function withBrowser(io: TestIo, script: string): void {
  mkdirSync(join(io.cwd, "bin"))
  const path = join(io.cwd, "bin", "chromium")
  writeFileSync(path, `#!${process.execPath}\n${script}\n`)
  chmodSync(path, 0o755)
}

const PRINTS = `const fs = require("node:fs")
const [target] = process.argv.filter((one) => one.startsWith("--print-to-pdf=")).map((one) => one.slice(15))
fs.writeFileSync(target, "%PDF-1.7 " + fs.readFileSync(new URL(process.argv.at(-1)), "utf8"))`

describe("superstep research --format", () => {
  const withPath = () => {
    const io = withDocuments()
    return { ...io, env: { ...io.env, PATH: join(io.cwd, "bin") } }
  }

  it("prints the report as data", async () => {
    const { code, stdout } = await superstep([...asking, "--format", "json"], withDocuments())
    expect(code).toBe(0)
    const report = JSON.parse(stdout)
    expect(report).toMatchObject({
      question: "What is tea?",
      title: "Tea",
      sections: [{ text: "Tea is a drink [1].", claims: [{ text: "Tea is a drink.", sources: [1] }] }],
      sources: [{ number: 1, title: "Tea", url: "docs/tea.md:3", cited: 1 }],
      alsoRead: [],
      statements: { total: 1, withoutSource: 0 },
      incomplete: [],
      usage: { modelCalls: 5, toolCalls: 1 },
    })
    expect(report.run).toMatch(/^[0-9a-f-]{36}$/)
  })

  it("writes a page, also if only the file name requests it", async () => {
    for (const flags of [
      ["--format", "html", "--out", "report"],
      ["--out", "report.html"],
    ]) {
      const io = withDocuments()
      const { code, stdout } = await superstep([...asking, ...flags], io)
      expect({ code, stdout }).toEqual({ code: 0, stdout: "" })
      const page = readFileSync(join(io.cwd, flags.at(-1) ?? ""), "utf8")
      expect(page).toMatch(/^<!doctype html>/)
      expect(page).toContain('<p>Tea is a drink <a href="#source-1">[1]</a>.</p>')
    }
    const { stdout } = await superstep([...asking, "--format", "html"], withDocuments())
    expect(stdout).toContain("<h1>Tea</h1>")
  })

  it("writes a PDF with the browser on the PATH", async () => {
    const io = withPath()
    withBrowser(io, PRINTS)
    const { code, stderr } = await superstep([...asking, "--out", "report.pdf"], io)
    expect(stderr).toContain("Wrote the report to report.pdf.")
    expect(code).toBe(0)
    expect(readFileSync(join(io.cwd, "report.pdf"), "utf8")).toMatch(/^%PDF-1\.7 <!doctype html>/)
  })

  it("prints advice if there is no browser or no file for a PDF, before anything is paid for", async () => {
    const io = withPath()
    const none = await superstep([...asking, "--format", "pdf", "--out", "report.pdf"], io)
    expect(none).toMatchObject({ code: 2, stdout: "" })
    expect(none.stderr.replace(/\s+/g, " ")).toContain("PDF needs Chromium, Chrome or Edge")
    expect(none.stderr).not.toContain("Research on")
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
    const nowhere = await superstep([...asking, "--format", "pdf"], withDocuments())
    expect(nowhere).toMatchObject({ code: 2, stdout: "" })
    expect(nowhere.stderr).toContain("--format pdf needs a file: add --out report.pdf.")
  })

  it("prints the report, which is paid for, if the browser fails", async () => {
    const io = withPath()
    withBrowser(io, 'console.error("no display")\nprocess.exit(4)')
    const { code, stdout, stderr } = await superstep([...asking, "--out", "report.pdf"], io)
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${REPORT}\n` })
    expect(stderr.replace(/\s+/g, " ")).toContain("it exited with code 4: no display.")
    expect(existsSync(join(io.cwd, "report.pdf"))).toBe(false)
  })

  it("writes a stored run in another format, without calling a model", async () => {
    const io = withDocuments()
    expect((await superstep([...asking, "--run-id", "tea"], io)).code).toBe(0)
    // The script is used up: a call would fail.
    writeFileSync(join(io.cwd, "script.yaml"), "writer: []\n")
    const { code, stdout } = await superstep([...asking, "--run-id", "tea", "--format", "json"], io)
    expect({ code, run: JSON.parse(stdout).run }).toEqual({ code: 0, run: "tea" })
  })

  it("refuses to mix the run's events with a report on stdout", async () => {
    const { code, stderr } = await superstep([...asking, "--json", "--format", "html"], withDocuments())
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain("write the report to a file with --out report.html.")
  })
})

describe("superstep research", () => {
  it("prints the report on stdout, and its progress on stderr", async () => {
    const { code, stdout, stderr } = await superstep(asking, withDocuments())
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${REPORT}\n` })
    expect(stderr.replace(/in \d.*/s, "")).toBe(`2 documents to search.
· Research on: What is tea?
· pass 1: Searching: documents "tea"
✓ pass 1: 1 new source
✓ pass 1: The evidence is sufficient
· pass 1: Writing the report
completed `)
  })

  it("writes the report to a file", async () => {
    const io = withDocuments()
    const { code, stdout, stderr } = await superstep([...asking, "--out", "report.md"], io)
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" })
    expect(readFileSync(join(io.cwd, "report.md"), "utf8")).toBe(REPORT)
    expect(stderr).toContain("Wrote the report to report.md.")
    const nowhere = await superstep([...asking, "--out", "no/report.md"], withDocuments())
    expect(nowhere).toMatchObject({ code: 2, stdout: "" })
    expect(nowhere.stderr).toContain("Cannot write no/report.md: no such folder.")
  })

  it("shows the progress of deep research by section", async () => {
    const { stdout, stderr } = await superstep([...asking, "--deep"], withDocuments())
    expect(stdout).toContain(
      "# All of tea\n\n## Summary\n\nBoth are tea. *(no source)*\n\n## Contents\n\n1. [Green](#green)\n2. [Black](#black)\n\n## Green\n\nTea is a drink [1].\n\n## Black\n\n",
    )
    expect(stderr).toContain('· [1/2 Green] pass 1: Searching: documents "tea"')
    expect(stderr).toContain("✓ [2/2 Black] pass 1: The evidence is sufficient")
    expect(stderr).toContain("· Assembling the report")
  })

  it("lets the model choose the mode with --auto", async () => {
    const { stderr, stdout } = await superstep([...asking, "--auto"], withDocuments())
    expect(stderr).toContain("Research mode: deep.")
    expect(stdout).toContain("# All of tea")
  })

  it("stops at its budget, reports it, and writes the report anyway", async () => {
    const script = SCRIPT.replace("sufficient: true", "sufficient: false")
    const { code, stdout, stderr } = await superstep(
      [...asking, "--budget", "iterations=2"],
      withDocuments(script),
    )
    const line = "Incomplete: research: Budget exceeded: iterations"
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${line}\n\n${REPORT}\n` })
    expect(stderr).toContain("↻ Pass 2")
    expect(stderr).toContain("! Budget exceeded: iterations")
    expect((await superstep([...asking, "--budget", "passes=2"], withDocuments())).code).toBe(2)
    const unpriced = [...asking, "--budget", "iterations=2,usd=1,allowUnpriced"]
    expect((await superstep(unpriced, withDocuments())).code).toBe(0)
  })

  it("exits with 1 under --strict only if the report is incomplete", async () => {
    const script = SCRIPT.replace("sufficient: true", "sufficient: false")
    const cut = await superstep([...asking, "--strict", "--budget", "iterations=2"], withDocuments(script))
    expect(cut.code).toBe(1)
    expect(cut.stdout).toContain(REPORT)
    const whole = await superstep([...asking, "--strict"], withDocuments())
    expect({ code: whole.code, stdout: whole.stdout }).toEqual({ code: 0, stdout: `${REPORT}\n` })
  })

  it("lists unreadable documents in the report, and exits with 1 under --strict", async () => {
    const io = withDocuments()
    writeFileSync(join(io.cwd, "docs", "broken.pdf"), "no PDF at all")
    const { code, stdout } = await superstep([...asking, "--strict"], io)
    expect(code).toBe(1)
    expect(stdout).toMatch(/^Incomplete: docs\/broken\.pdf: skipped: /)
  })

  it("prints the run's events with --json, and only the report with --quiet", async () => {
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

  it("prints advice if there is nothing to search, or a document is missing", async () => {
    const none = await superstep(["research", "What is tea?", "--model", "offline"])
    expect(none.code).toBe(2)
    expect(none.stderr.replace(/\s+/g, " ")).toContain("Name documents with --docs PATH, or set SEARXNG_URL")
    const gone = await superstep(["research", "What is tea?", "--docs", "gone", "--model", "offline"])
    expect(gone.code).toBe(2)
    expect(gone.stderr).toContain("Cannot read gone: no such file or folder.")
  })

  it("continues a failed run with runs retry", async () => {
    const io = withDocuments(
      SCRIPT.replace('writer: [{ text: "# Tea', 'writer: [{ error: { code: 400 } }, { text: "# Tea'),
    )
    const failed = await superstep([...asking, "--run-id", "tea"], io)
    expect(failed.code).toBe(1)
    writeFileSync(join(io.cwd, "script.yaml"), SCRIPT)
    const again = await superstep(["runs", "retry", "tea"], io)
    expect({ code: again.code, stdout: again.stdout }).toEqual({ code: 0, stdout: `${REPORT}\n` })
  })

  it("resumes a deep research, and still shows its sections and passes", async () => {
    const io = withDocuments(SCRIPT.replace("sufficient: true }", "sufficient: true }, delay: 3600000"))
    const stopped = superstep([...asking, "--deep", "--run-id", "tea"], io)
    await io.seen("✓ [1/2 Green] pass 1: 1 new source")
    await io.seen("✓ [2/2 Black] pass 1: 1 new source")
    io.interrupt()
    expect((await stopped).stderr).toContain("superstep runs resume tea")
    writeFileSync(join(io.cwd, "script.yaml"), SCRIPT)
    const { code, stdout, stderr } = await superstep(["runs", "resume", "tea"], io)
    expect(code).toBe(0)
    expect(stdout).toContain("## Green\n\nTea is a drink [1].")
    expect(stderr).toContain("✓ [1/2 Green] pass 1: The evidence is sufficient")
    expect(stderr).toContain('· [2/2 Black] pass 1: Writing the section "Black"')
    expect(stderr).not.toContain("Searching")
  })

  it("resumes a run over many documents", async () => {
    const io = withDocuments(
      SCRIPT.replace('writer: [{ text: "# Tea', 'writer: [{ error: { code: 400 } }, { text: "# Tea'),
    )
    const names = Array.from({ length: 30 }, (_, i) => join("docs", `${"🍵".repeat(20)} ${i}.md`))
    for (const name of names) writeFileSync(join(io.cwd, name), "# Tea\n\nA drink.\n")
    const docs = names.flatMap((name) => ["--docs", name])
    expect((await superstep([...asking, ...docs, "--run-id", "tea"], io)).code).toBe(1)
    writeFileSync(join(io.cwd, "script.yaml"), SCRIPT)
    expect((await superstep(["runs", "retry", "tea"], io)).code).toBe(0)
  })

  it("requires a question and a valid output before anything is read or paid for", async () => {
    const words = ["research", "--docs", "docs", "--model", "offline"]
    for (const argv of [words, ["research", " ", ...words.slice(1)]]) {
      const none = await superstep(argv, withDocuments())
      expect(none.code).toBe(2)
      expect(none.stderr.replace(/\s+/g, " ")).toBe(
        'superstep: Write a question: superstep research "…", or - to read it from stdin. ',
      )
    }
    const folder = await superstep([...asking, "--out", "docs"], withDocuments())
    expect(folder).toMatchObject({ code: 2, stdout: "" })
    expect(folder.stderr).toBe("superstep: Cannot write docs: it is a folder. Name a file in it.\n")
  })

  it("prints a report that cannot be written", async () => {
    const io = withDocuments()
    const long = `${"x".repeat(300)}.md`
    const { code, stdout, stderr } = await superstep([...asking, "--out", long], io)
    expect({ code, stdout }).toEqual({ code: 2, stdout: `${REPORT}\n` })
    expect(stderr).toContain("superstep: Cannot write")
  })

  it("names the key that the engine of --search needs", async () => {
    const { code, stderr } = await superstep([...asking, "--search", "brave"], withDocuments())
    expect(code).toBe(2)
    expect(stderr).toContain("superstep: --search brave needs the environment variable BRAVE_API_KEY.")
  })

  it("reads the question from stdin", async () => {
    const io = testIo({ files: { "script.yaml": SCRIPT }, stdin: "What is tea?\n" })
    mkdirSync(join(io.cwd, "docs"))
    writeFileSync(join(io.cwd, "docs", "tea.md"), "# Tea\n\nTea is a drink made of leaves.\n")
    const { stdout, stderr } = await superstep(["research", "-", ...asking.slice(2)], io)
    expect(stdout).toBe(`${REPORT}\n`)
    expect(stderr).toContain("· Research on: What is tea?\n")
  })

  it("shows the current work on a terminal, in lines that fit, without control sequences", async () => {
    const script = SCRIPT.replace("query: tea }", `query: "tea \\e[31m ${"and tea ".repeat(20)}" }`)
    const io = testIo({ files: { "script.yaml": script }, terminals: ["stderr"] })
    mkdirSync(join(io.cwd, "docs"))
    writeFileSync(join(io.cwd, "docs", "tea.md"), "# Tea\n\nTea is a drink made of leaves.\n")
    const { stderr } = await superstep([...asking, "--deep"], io)
    const line = stderr.split("\n").find((text) => text.includes("[1/2 Green] pass 1: Searching")) ?? ""
    expect(line).toContain('documents "tea ␛[31m and tea')
    expect(line.endsWith("…")).toBe(true)
    expect(stderr).toContain("\x1B[32m✓\x1B[0m [2/2 Black] pass 1: The evidence is sufficient\n")
  })

  it("searches the web with the engine in the environment", async () => {
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

  it("reports once why searches fail, with advice", async () => {
    const server = createServer((_, response) => response.end("<html>Search"))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const script = SCRIPT.replace("agent: documents", "agent: web_search").replace(
      "sufficient: true",
      "sufficient: false",
    )
    const { code, stderr } = await superstep(
      ["research", "What is tea?", "--model", "scripted:script.yaml", "--budget", "iterations=2"],
      { files: { "script.yaml": script }, env: { SEARXNG_URL: `http://127.0.0.1:${port}` } },
    )
    expect(code).toBe(0)
    expect(stderr).toContain(`✓ pass 1: 0 new sources, 1 search failed
! web_search failed: SearXNG answered with a web page instead of JSON. Its
  settings.yml must have json among search.formats.
`)
    expect(stderr.match(/settings\.yml/g)).toHaveLength(1)
  })

  it("answers from the documents with the offline model, with sources that exist", async () => {
    const io = withDocuments()
    const { code, stdout } = await superstep(
      ["research", "What is tea made of?", "--docs", "docs", "--model", "offline"],
      io,
    )
    expect(code).toBe(0)
    expect(stdout).toContain("Tea is a drink made of leaves. [1]")
    expect(stdout).toContain("1. Tea (docs/tea.md:3)")
  })
})
