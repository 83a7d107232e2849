import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"
import { withRuns } from "./stored-runs.test-support.ts"

describe("storage report", () => {
  test("shows the number of runs and their size", async () => {
    const io = await withRuns({ a: "x", b: "fail", c: "ask" })
    const { code, stdout } = await superstep(["storage"], io)
    expect(code).toBe(0)
    expect(stdout).toMatch(/runs +3 runs, 1 waiting, 1 completed, 1 failed\n/)
    expect(stdout).toMatch(/on disk +\S+ KB/)
    expect(stdout).toMatch(/review +3 +\S+ (?:B|KB)/)
    const json = await superstep(["storage", "report", "--json"], io)
    expect(JSON.parse(json.stdout)).toMatchObject({
      runs: { completed: 1, failed: 1, waiting: 1 },
      workflows: [{ workflow: "review", runs: 3 }],
    })
  })

  test("fits 80 columns, with runs of every status", async () => {
    const io = await withRuns({ a: "x", b: "fail", c: "ask", d: "ask", e: "x" })
    await superstep(["runs", "cancel", "d"], io)
    await superstep(["runs", "fork", "e", "--at", "1", "--no-run"], io)
    const two =
      "agents: { w: { model: offline } }\nworkflow: [{ type: agent, name: w }, { type: agent, name: w }]\n"
    writeFileSync(join(io.cwd, "two.yaml"), two)
    expect((await superstep(["run", "two.yaml", "go", "--budget", "tokens=1", "--quiet"], io)).code).toBe(4)
    const { stdout } = await superstep(["storage"], io)
    expect(stdout.replace(/\n +/g, " ")).toContain(
      "7 runs, 1 running, 1 waiting, 2 completed, 1 failed, 1 cancelled, 1 limit",
    )
    expect(stdout.split("\n").filter((line) => line.length > 80)).toEqual([])
  })

  test("of a missing store is empty, and creates none", async () => {
    const io = testIo()
    const { code, stdout, stderr } = await superstep(["storage", "report"], io)
    expect(code).toBe(0)
    expect(stdout).toContain("0 runs")
    expect(stderr).toContain("There is no store")
  })

  test("of a file that is not a store is an error", async () => {
    const io = testIo({ files: { "notes.db": "these are notes, and no database at all".repeat(100) } })
    const { code, stderr } = await superstep(["storage", "report", "--store", "sqlite:notes.db"], io)
    expect(code).toBe(2)
    expect(stderr).toMatch(/^superstep: .*notes\.db/s)
    expect(stderr).not.toContain("    at ")
  })
})

describe("storage prune", () => {
  test("lists what would be removed, and removes it after a confirmation", async () => {
    const io = await withRuns({ a: "x", b: "fail", c: "ask", d: "y" })
    const dry = await superstep(["storage", "prune", "--keep", "1", "--dry-run"], io)
    expect(dry).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Would remove 2 runs, /) })
    expect(await superstep(["storage", "prune", "--keep", "1"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Add --yes"),
    })
    const gone = await superstep(["storage", "prune", "--keep", "1", "--yes", "--json"], io)
    expect(JSON.parse(gone.stdout)).toMatchObject({ count: 2 })
    const left = await superstep(["runs", "list", "--json"], io)
    expect(
      left.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).runId),
    ).toEqual(["d", "c"])
    const nothing = await superstep(["storage", "prune", "--older", "30d"], io)
    expect(nothing).toMatchObject({ code: 0, stdout: "Removed 0 runs, 0 B.\n" })
  })

  test("requires a policy", async () => {
    const io = await withRuns({})
    expect(await superstep(["storage", "prune", "--yes"], io)).toMatchObject({
      code: 2,
      stderr: "superstep: Choose what to remove: --older 30d, --keep 1000, or both.\n",
    })
    expect((await superstep(["storage", "prune", "--older", "soon"], io)).code).toBe(2)
    expect((await superstep(["storage", "prune", "--keep", "-1"], io)).code).toBe(2)
  })
})

describe("storage retention", () => {
  test("stores a policy after a confirmation, shows it, and removes it", async () => {
    const io = await withRuns({ a: "x", b: "fail", c: "ask", d: "y" })
    const none = "No policy is stored. Servers and workers follow their own, if they have one.\n"
    expect(await superstep(["storage", "retention"], io)).toMatchObject({ code: 0, stdout: none })
    const unsure = await superstep(["storage", "retention", "--keep", "1"], io)
    expect(unsure).toMatchObject({ code: 2, stderr: expect.stringContaining("it deletes 2 runs, ") })
    const both = ["storage", "retention", "--keep", "1", "--older", "30d", "--yes"]
    const words = "runs that ended more than 30d ago, and all but the newest 1 of each workflow"
    expect(await superstep(both, io)).toMatchObject({
      code: 0,
      stdout: `Servers and workers delete ${words}.\n`,
    })
    const shown = await superstep(["storage", "retention", "--json"], io)
    expect(JSON.parse(shown.stdout)).toMatchObject({ keep: 1, maxAge: 30 * 86_400_000 })
    // Nothing is deleted by the command itself.
    expect((await superstep(["storage"], io)).stdout).toContain("4 runs")
    expect((await superstep(["storage", "retention", "--none", "--keep", "1"], io)).code).toBe(2)
    expect(await superstep(["storage", "retention", "--none"], io)).toMatchObject({ code: 0, stdout: none })
  })
})
