import { existsSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

function withDocuments(more: Parameters<typeof testIo>[0] = {}): TestIo {
  const io = testIo(more)
  mkdirSync(join(io.cwd, "docs"))
  writeFileSync(join(io.cwd, "docs", "guide.md"), "# Guide\n\n## Install\n\nRun the installer.\n")
  writeFileSync(join(io.cwd, "docs", "people.csv"), "name,city\nAda,London\n")
  writeFileSync(join(io.cwd, "docs", "cat.png"), "\x89PNG")
  return io
}

const lines = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line))

describe("superstep index", () => {
  it("adds a folder, searches it, lists it and removes it", async () => {
    const io = withDocuments()
    const added = await superstep(["index", "add", "docs"], io)
    expect(added).toMatchObject({ code: 0, stdout: "" })
    expect(added.stderr).toBe("2 documents added: 2 new chunks. 1 file of other types skipped.\n")
    const found = await superstep(["index", "search", "the", "installer"], io)
    expect(found.stdout).toBe("docs/guide.md:5  Guide › Install\n  Run the installer.\n")
    const listed = await superstep(["index", "list"], io)
    expect(listed.stdout).toMatch(/docs\/guide\.md +1 +\d+ B +\d+s\ndocs\/people\.csv/)
    expect(listed.stderr).toMatch(/^2 documents, 2 chunks, .*, searched by words\.\n$/)
    expect((await superstep(["index", "rm", "docs/guide.md"], io)).stderr).toBe("Removed 1 document.\n")
    expect((await superstep(["index", "search", "installer"], io)).stderr).toBe("Nothing matches.\n")
    expect((await superstep(["index", "rm", "docs/guide.md"], io)).code).toBe(2)
  })

  it("prints only data with --json", async () => {
    const io = withDocuments()
    const { stdout, stderr } = await superstep(["index", "add", "docs", "--json"], io)
    expect(stderr).toBe("")
    expect(lines(stdout)).toMatchObject([{ added: 2, unchanged: 0, problems: [] }])
    expect(lines((await superstep(["index", "search", "ada", "--json"], io)).stdout)).toEqual([
      {
        text: "name: Ada; city: London",
        score: expect.any(Number),
        relevance: expect.any(Number),
        source: "docs/people.csv:2",
      },
    ])
    expect(lines((await superstep(["index", "list", "--json"], io)).stdout)).toMatchObject([
      { source: "docs/guide.md", chunks: 1 },
      { source: "docs/people.csv", chunks: 1 },
    ])
    expect(lines((await superstep(["index", "rm", "docs", "--json"], io)).stdout)).toEqual([{ removed: 2 }])
  })

  it("reads only changes, and with --prune removes missing documents", async () => {
    const io = withDocuments()
    await superstep(["index", "add", "docs"], io)
    writeFileSync(join(io.cwd, "docs", "guide.md"), "Another guide.\n")
    unlinkSync(join(io.cwd, "docs", "people.csv"))
    expect((await superstep(["index", "add", "docs", "--prune"], io)).stderr).toMatch(
      /^0 documents added, 1 changed, 1 removed: 1 new chunk\./,
    )
  })

  it("shows its progress at a terminal", async () => {
    const { stderr } = await superstep(["index", "add", "docs"], withDocuments({ terminals: ["stderr"] }))
    expect(stderr).toMatch(/░{20} {3}0% {2}0\/2 · 0 chunks · docs\/guide\.md/)
    expect(stderr).toContain("\r\x1B[2K2 documents added")
  })

  it("reports the problem of a file, and fails if it is the only one", async () => {
    const io = withDocuments()
    writeFileSync(join(io.cwd, "broken.pdf"), "%PDF-1.4")
    const { code, stderr } = await superstep(["index", "add", "broken.pdf"], io)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^Skipped broken\.pdf: it is not a readable PDF/)
  })

  it("creates no index for a missing path", async () => {
    const io = withDocuments()
    expect(await superstep(["index", "add", "docs", "nowhere"], io)).toMatchObject({
      code: 2,
      stderr: "superstep: Cannot add nowhere: no such file or folder.\n",
    })
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
  })

  it("removes the named documents, and reports unknown ones; a folder may be the root", async () => {
    const io = withDocuments()
    await superstep(["index", "add", "docs"], io)
    expect(await superstep(["index", "rm", "no.md", "docs/guide.md", "", "--json"], io)).toMatchObject({
      code: 2,
      stdout: '{"removed":1}\n',
      stderr: 'superstep: The index has no document "no.md", "". See superstep index list.\n',
    })
    expect((await superstep(["index", "rm", "."], io)).stderr).toBe("Removed 1 document.\n")
  })

  it("leaves only one file", async () => {
    const io = withDocuments()
    await superstep(["index", "add", "docs"], io)
    await superstep(["index", "search", "installer"], io)
    expect(readdirSync(join(io.cwd, ".superstep")).sort()).toEqual([".gitignore", "index.db"])
  })

  it("needs an intact index for all commands except add", async () => {
    const io = withDocuments()
    expect(await superstep(["index", "search", "x"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("superstep index add PATH"),
    })
    writeFileSync(join(io.cwd, "junk.db"), "junk".repeat(500))
    expect(await superstep(["index", "list", "--file", "junk.db"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is not a SQLite\s+database/),
    })
  })

  it("embeds a new index with the configured or installed model, unless it is none", async () => {
    const env = { SUPERSTEP_EMBEDDINGS: "" }
    const list = async (...flags: string[]) => {
      const io = { ...withDocuments(), env }
      await superstep(["index", "add", "docs", ...flags], io)
      return (await superstep(["index", "list"], io)).stderr
    }
    expect(await list()).toContain("by words and by meaning")
    expect(await list("--embeddings", "none")).toMatch(/by words(?! and)/)
  })

  it("searches by meaning with embeddings, and keeps the first ones", async () => {
    const io = withDocuments()
    expect((await superstep(["index", "add", "docs", "--embeddings", "offline"], io)).code).toBe(0)
    const { stdout } = await superstep(
      ["index", "search", "set up the program", "--mode", "vector", "--limit", "1"],
      io,
    )
    expect(stdout).toContain("docs/guide.md:5")
    expect((await superstep(["index", "list"], io)).stderr).toContain("by words and by meaning")
    const env = { OPENAI_API_KEY: "none" }
    const other = await superstep(["index", "add", "docs", "--embeddings", "openai/x"], { ...io, env })
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining("cannot be mixed") })
    expect((await superstep(["index", "add", "docs", "--embeddings", "nobody"], io)).code).toBe(2)
  })
})
