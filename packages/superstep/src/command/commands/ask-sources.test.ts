/** `ask` over sources that flags name, without a file. */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { makeSqlite } from "../../../../retrieval/src/sql/sqlite-file.test-support.ts"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

const RETURNS = "# Returns\n\nLamps can be returned within 30 days.\n"
const LAMPS = "colour,pieces\nred,3\nblue,4\n"
const SCRIPT = `triage: ["not JSON"]
sql: ["SELECT sum(pieces) AS n FROM lamps"]
assistant: ["Seven [1]."]
reviewer: [{ json: { decision: accept }, repeat: true }]
`
const QUESTION = "How many pieces of lamps are there?"

function shop(options: { readonly terminals?: ("stdin" | "stdout" | "stderr")[] } = {}): TestIo {
  const io = testIo({ ...options, files: { "lamps.csv": LAMPS, "script.yaml": SCRIPT } })
  mkdirSync(join(io.cwd, "docs"))
  writeFileSync(join(io.cwd, "docs", "returns.md"), RETURNS)
  mkdirSync(join(io.cwd, "data"))
  writeFileSync(join(io.cwd, "data", "lamps.csv"), LAMPS)
  makeSqlite(
    join(io.cwd, "shop.db"),
    "CREATE TABLE lamps (colour, pieces); INSERT INTO lamps VALUES ('red', 3), ('blue', 4)",
  )
  return { ...io, env: { ...io.env, SUPERSTEP_CACHE: join(io.cwd, "cache") } }
}

const scripted = ["--model", "scripted:script.yaml", "--store", "memory:"]

describe("superstep ask with flags instead of a file", () => {
  it.each([
    ["a folder of tables", ["--csv", "data"], "data (csv)"],
    ["a file of tables", ["--csv", "lamps.csv"], "files (csv)"],
    ["a SQLite file", ["--db", "shop.db"], "shop (sqlite)"],
    ["tables and documents", ["--docs", "docs", "--csv", "data"], "data (csv)"],
  ])("answers from %s", async (_, sources, cited) => {
    const { code, stdout } = await superstep(["ask", QUESTION, ...sources, ...scripted], shop())
    expect(code).toBe(0)
    expect(stdout).toMatch(/^Seven \[1\]\./)
    expect(stdout).toContain(cited)
    expect(stdout).toContain("SELECT sum(pieces) AS n FROM lamps")
  })

  it("answers from documents without a key or a network", async () => {
    const args = ["ask", "When can lamps be returned?", "--docs", "docs", "--model", "offline"]
    const { code, stdout } = await superstep(args, shop())
    expect(code).toBe(0)
    expect(stdout).toContain("within 30 days")
    expect(stdout).toContain("docs/returns.md")
  })

  it("caches loaded tables for the next question, and reports what it loaded", async () => {
    const io = shop()
    const args = ["ask", QUESTION, "--csv", "data", ...scripted]
    expect((await superstep(args, io)).stderr).toMatch(/^Loaded 1 file \(\d+ B\) in /m)
    expect(readdirSync(join(io.cwd, "cache", "tables"))).toHaveLength(1)
    expect((await superstep(args, io)).stderr).not.toContain("Loaded")
    expect((await superstep([...args, "--cache", "other", "--quiet"], io)).stderr).toBe("")
    expect(existsSync(join(io.cwd, "other", "tables"))).toBe(true)
  })

  it("asks which model to use if no key is set", async () => {
    const { code, stderr } = await superstep(["ask", QUESTION, "--csv", "data"], shop())
    expect(code).toBe(2)
    expect(stderr.replace(/\s+/g, " ")).toContain("need a key. Set OPENAI_API_KEY.")
    expect(stderr).toContain("--model offline")
  })

  it("accepts the arguments in either order, and the question from stdin", async () => {
    const io = testIo({
      files: { "goal.yaml": "assistants: [a]", "script.yaml": SCRIPT },
      stdin: `${QUESTION}\n`,
    })
    const swapped = await superstep(["ask", QUESTION, "goal.yaml"], io)
    expect(swapped.stderr).toContain("goal.yaml")
    writeFileSync(join(io.cwd, "lamps.csv"), LAMPS)
    const { code, stdout } = await superstep(["ask", "-", "--csv", "lamps.csv", ...scripted], io)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining("Seven [1].") })
  })

  it.each([
    [["how?"], "No data source is set. Add one"],
    [[], "No data source is set. Add one"],
    [["--csv", "data"], "Write a question"],
    [["--csv", "data", ""], "Write a question"],
    [["how?", "--csv", "no"], "Cannot read --csv no: no such file or folder."],
    [["how?", "--docs", "no"], "Cannot read --docs no: no such file or folder."],
    [["how?", "--db", "no.db"], "Cannot read --db no.db: no such file."],
    [["how?", "--db", "oracle://a/b"], "Unknown database oracle:// in --db."],
    [["how?", "--db", "$NO_SUCH"], "The environment variable NO_SUCH of --db is not set."],
    [["how?", "--db", "postgresql://a b:s3cret@"], "--db is not a valid URL."],
    [["how many?", "lamps", "--csv", "data"], "Put the question in quotes"],
    [["script.yaml", "how?", "--csv", "data"], "script.yaml defines its own data sources."],
    [["how?", "--csv", "data", "--untrusted"], "--untrusted works only with a file."],
    [["script.yaml", "how?", "--embeddings", "offline"], "--embeddings works only with --docs."],
  ])("%j is refused before anything is read", async (words, message) => {
    const { code, stdout, stderr } = await superstep(["ask", ...words], shop())
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr.replace(/\s+/g, " ")).toContain(message)
    expect(stderr).not.toContain("s3cret")
  })

  it("stores no password, and asks for it again when the run is resumed", async () => {
    const io = shop()
    const url = "postgresql://reader:s3cret@127.0.0.1:1/shop"
    writeFileSync(
      join(io.cwd, "script.yaml"),
      SCRIPT.replace('["Seven [1]."]', "[{ error: { code: 400, message: no } }]"),
    )
    const args = ["ask", QUESTION, "--db", url, "--model", "scripted:script.yaml", "--run-id", "lamps"]
    const failed = await superstep(args, io)
    expect(failed.code).toBe(1)
    const shown = await superstep(["runs", "show", "lamps", "--json"], io)
    expect(failed.stderr + failed.stdout + shown.stdout).not.toContain("s3cret")
    const again = await superstep(["runs", "retry", "lamps"], io)
    expect(again.code).toBe(2)
    expect(again.stderr.replace(/\s+/g, " ")).toContain("--set-secret DB_1=VALUE")
    writeFileSync(
      join(io.cwd, "script.yaml"),
      SCRIPT.replace(`["Seven [1]."]`, `[{ text: "Seven.", repeat: true }]`),
    )
    const retried = await superstep(["runs", "retry", "lamps", "--set-secret", `DB_1=${url}`], io)
    expect(retried).toMatchObject({ code: 0 })
  })

  it("shows the progress of loading at a terminal", async () => {
    const io = shop({ terminals: ["stderr"] })
    const { stderr } = await superstep(["ask", QUESTION, "--csv", "data", ...scripted], io)
    expect(stderr).toContain("Loading 1/1 · lamps.csv")
  })
})
