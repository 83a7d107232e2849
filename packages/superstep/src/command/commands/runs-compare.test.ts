import { describe, expect, test } from "vitest"
import { superstep } from "../test-io.test-support.ts"
import { withRuns } from "./stored-runs.test-support.ts"

const differences = (stdout: string) =>
  JSON.parse(stdout).differences as { what: string; a?: unknown; b?: unknown }[]

describe("runs diff", () => {
  test("two equal runs, whatever their ids: exit code 0", async () => {
    const io = await withRuns({ a: "x", b: "x" })
    expect(await superstep(["runs", "diff", "a", "b"], io)).toEqual({
      code: 0,
      stdout: "",
      stderr: "Runs a and b show no differences.\n",
    })
    const { stdout } = await superstep(["runs", "diff", "a", "b", "--json"], io)
    expect(JSON.parse(stdout)).toEqual({ a: "a", b: "b", same: true, differences: [] })
  })

  test("shows input, nodes, state and outputs that differ: exit code 1", async () => {
    const io = await withRuns({ a: "x", b: "y" })
    const { code, stdout } = await superstep(["runs", "diff", "a", "b", "--json"], io)
    expect(code).toBe(1)
    expect(differences(stdout)).toEqual([
      { what: "input", a: "x", b: "y" },
      { what: "node draft", a: { sent: ["x"] }, b: { sent: ["y"] } },
      { what: "node check", a: { sent: ["x"] }, b: { sent: ["y"] } },
      expect.objectContaining({ what: "node publish" }),
      { what: "state.log", a: ["draft of x", "published"], b: ["draft of y", "published"] },
      { what: "output 1", a: "published x", b: "published y" },
    ])
    const text = await superstep(["runs", "diff", "a", "b"], io)
    expect(text.code).toBe(1)
    expect(text.stdout).toContain('input\n  - "x"\n  + "y"\n')
  })

  test("shows parts that only one of them has: a failure, a question", async () => {
    const io = await withRuns({ good: "x", bad: "fail", asks: "ask" })
    const failed = differences((await superstep(["runs", "diff", "good", "bad", "--json"], io)).stdout)
    expect(failed).toContainEqual({ what: "status", a: "completed", b: "failed" })
    expect(failed).toContainEqual({ what: "output 1", a: "published x" })
    expect(failed.find(({ what }) => what === "error")?.b).toMatchObject({ message: expect.any(String) })
    const asked = differences((await superstep(["runs", "diff", "good", "asks", "--json"], io)).stdout)
    expect(asked).toContainEqual({ what: "answer r1", b: { outcome: "open" } })
    const { stdout } = await superstep(["runs", "diff", "good", "bad"], io)
    expect(stdout).not.toContain("\u001b")
  })

  test("names the unknown run", async () => {
    const io = await withRuns({ a: "x" })
    const { code, stderr } = await superstep(["runs", "diff", "a", "nope"], io)
    expect([code, stderr]).toEqual([2, expect.stringContaining('No run matches "nope"')])
  })
})
