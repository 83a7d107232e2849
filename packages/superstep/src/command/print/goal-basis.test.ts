import { PassThrough } from "node:stream"
import { describe, expect, it } from "vitest"
import type { Cli } from "../cli.ts"
import { terminal } from "../terminal/terminal.ts"
import { printBasis } from "./ended.ts"

function printed(state: object, isBrief = false) {
  const [out, err] = [new PassThrough(), new PassThrough()]
  printBasis({ out: terminal(out), err: terminal(err) } as unknown as Cli, { state } as never, isBrief)
  return { stdout: String(out.read() ?? ""), stderr: String(err.read() ?? "") }
}

const source = (number: number, more: object = {}) => ({
  number,
  kind: "documents",
  source: "docs",
  location: `f${number}.md:1`,
  citedBy: ["a"],
  ...more,
})
const route = (more: object = {}) => ({
  target: "a",
  by: "vector",
  source: "docs",
  outcome: "found",
  ...more,
})

describe("the basis of an answer", () => {
  it("has the cited sources, the other ones, and the searches", () => {
    const shop = {
      kind: "database",
      location: "Shop (postgresql)",
      query: "SELECT 1",
      rows: [[1], [2]],
      isTruncated: true,
    }
    const { stdout, stderr } = printed({
      sources: [source(1, { score: 0.83123 }), source(2, shop), source(3, { citedBy: [] })],
      routes: [route({ by: "sql", source: "Hr", outcome: "nothing", reason: "no rows" }), route(), route()],
      uncited: ["b"],
    })
    expect(stdout).toBe(
      [
        "",
        "Sources:",
        "  [1] f1.md:1 (score 0.831)",
        "  [2] Shop (postgresql) (2 rows and more)",
        "      SELECT 1",
        "  Without a source: b",
        "  Found, not cited: [3] f3.md:1",
        "",
      ].join("\n"),
    )
    expect(stderr).toBe("Searched: Hr (nothing, no rows); docs (found)\n")
  })

  it("reports that an answer cites no source, or that nothing was found", () => {
    const none = printed({ sources: [source(1, { citedBy: [] })], routes: [route()], uncited: ["a"] })
    expect(none.stdout).toBe("\nSources:\n  The answer cites none of the results:\n  [1] f1.md:1\n")
    const nothing = { sources: [], routes: [route({ outcome: "unrelated" })], uncited: ["a"] }
    expect(printed(nothing)).toEqual({
      stdout: "",
      stderr: "The answer cites no source: nothing was found.\nSearched: docs (unrelated)\n",
    })
    expect(printed(nothing, true).stderr).toBe("The answer cites no source: nothing was found.\n")
  })

  it("cannot control the terminal", () => {
    const evil = "\u001b[2Jx\u0007\ny\u202E"
    const { stdout, stderr } = printed({
      sources: [source(1, { location: evil, query: evil }), source(2, { location: evil, citedBy: [] })],
      routes: [route({ source: evil, reason: evil }), route()],
      uncited: [evil],
    })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed.
    expect(stdout + stderr).not.toMatch(/[\u001b\u0007\u202E]/)
  })

  it.each([
    {},
    { sources: ["a.md"], routes: [], uncited: [] },
    { sources: [null], routes: [], uncited: [] },
    { sources: [source(1)] },
  ])("of another workflow is not printed: %j", (state) => {
    expect(printed(state)).toEqual({ stdout: "", stderr: "" })
  })
})
