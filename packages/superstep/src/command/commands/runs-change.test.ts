import { rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Runtime } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"
import review from "./review-flow.test-support.ts"
import { FILE, openFile, withRuns } from "./stored-runs.test-support.ts"

async function rowsOf(io: TestIo) {
  const { stdout } = await superstep(["runs", "list", "--json"], io)
  return stdout
    .trim()
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

describe("runs cancel", () => {
  test("ends runs that nobody holds, whether their file is there or not", async () => {
    const io = await withRuns({ a: "ask", b: "ask", c: "ask" }, { labels: { file: "gone.yaml" } })
    const { code, stderr } = await superstep(["runs", "cancel", "a", "b", "--reason", "not needed"], io)
    expect([code, stderr]).toEqual([0, "Cancelled a.\nCancelled b.\n"])
    expect((await rowsOf(io)).map(({ runId, status }) => [runId, status])).toEqual([
      ["c", "waiting"],
      ["b", "cancelled"],
      ["a", "cancelled"],
    ])
    const { stdout } = await superstep(["runs", "show", "a"], io)
    expect(stdout).toContain("not needed")
  })

  test("ends a run that another process has", async () => {
    const io = await withRuns({})
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [review] })
    const run = runtime.start(review, "ask", { runId: "held" })
    await run
    expect((await superstep(["runs", "cancel", "held"], io)).code).toBe(0)
    expect((await run.result).status).toBe("cancelled")
    await runtime.close()
    await store.close()
  })

  test("of a run that is over, or of one that is not there, is refused", async () => {
    const io = await withRuns({ done: "x" })
    expect(await superstep(["runs", "cancel", "done"], io)).toMatchObject({
      code: 1,
      stderr: 'superstep: Run "done" is over: completed.\n',
    })
    expect(await superstep(["runs", "cancel", "done", "nope"], io)).toMatchObject({ code: 2 })
  })
})

describe("runs rm", () => {
  test("removes runs that are over, asks before, and leaves those in flight", async () => {
    const io = await withRuns({ a: "x", b: "ask" })
    expect(await superstep(["runs", "rm", "a"], io)).toMatchObject({
      code: 2,
      stderr: "superstep: Remove run a for good? Nobody is here to answer: add --yes.\n",
    })
    const { code, stderr } = await superstep(["runs", "rm", "a", "b", "--yes"], io)
    expect(code).toBe(1)
    expect(stderr).toContain("Removed a.")
    expect(stderr).toContain('Run "b" is waiting: cancel it first.')
    expect((await rowsOf(io)).map(({ runId }) => runId)).toEqual(["b"])
  })

  test.each([
    ["y", 0, []],
    ["n", 130, ["a"]],
  ])("asks at a terminal: %s", async (key, code, left) => {
    const io = await withRuns({ a: "x" }, { terminals: ["stdin", "stderr"] })
    Object.assign(io.stdin, { setRawMode: () => undefined })
    const removing = superstep(["runs", "rm", "a"], io)
    await io.seen("Remove run a for good?")
    io.stdin.write(key)
    expect((await removing).code).toBe(code)
    expect((await rowsOf(io)).map(({ runId }) => runId)).toEqual(left)
  })
})

describe("a run goes on", () => {
  test("resume: here, from the file that it came from, to its next question", async () => {
    const io = await withRuns({ a: "ask" })
    const { code, stderr } = await superstep(["runs", "resume", "a"], io)
    expect(code).toBe(3)
    expect(stderr).toContain('Publish "ask"?')
    expect(stderr).toContain("superstep respond a r1")
  })

  test("resume: of a run that is over says what can be done instead", async () => {
    const io = await withRuns({ bad: "fail", good: "x" })
    expect(await superstep(["runs", "resume", "bad"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("superstep runs retry bad"),
    })
    expect((await superstep(["runs", "resume", "good"], io)).stderr).toContain(
      "superstep runs fork good --at N",
    )
  })

  test("resume: without a file, or with another workflow's, says so", async () => {
    const io = await withRuns({ a: "ask" }, { labels: {} })
    expect(await superstep(["runs", "resume", "a"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Add --file FILE."),
    })
  })

  test("resume: a run that a living process has is left there, unless it is taken over", async () => {
    const io = await withRuns({})
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [review] })
    await runtime.start(review, "ask", { runId: "held", labels: { file: FILE } })
    const { code, stderr } = await superstep(["runs", "resume", "held"], io)
    expect(code).toBe(2)
    expect(stderr).toContain(`Run held is at work in process ${process.pid} on `)
    expect(stderr).toContain("\n  superstep runs events held --follow\n")
    expect((await superstep(["runs", "resume", "held", "--take-over"], io)).code).toBe(3)
    await runtime.close()
    await store.close()
  })

  test("respond: the answer is taken, and the run goes on here to its end", async () => {
    const io = await withRuns({ a: "ask" })
    const { code, stdout } = await superstep(["respond", "a", "r1", "yes", "--by", "Ada"], io)
    expect([code, stdout]).toEqual([0, "published ask: yes\n"])
    expect((await superstep(["runs", "events", "a"], io)).stdout).toMatch(/request\.answered +r1 by Ada: yes/)
    expect(await superstep(["respond", "a", "r1", "no"], io)).toMatchObject({
      code: 2,
      stderr: "superstep: Run a is completed, and has no open question.\n",
    })
  })

  test("respond: a run of another process goes on there", async () => {
    const io = await withRuns({})
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [review] })
    const run = runtime.start(review, "ask", { runId: "held" })
    await run
    const { code, stderr } = await superstep(["respond", "held", "r1", "sure"], io)
    expect([code, stderr]).toEqual([0, "Answered. Run held goes on where it is at work.\n"])
    expect((await run).outputs).toEqual(["published ask: sure"])
    await runtime.close()
    await store.close()
  })

  test("respond: without an answer, and nobody to ask, says what fits", async () => {
    const io = await withRuns({ a: "ask" })
    expect(await superstep(["respond", "a"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("An answer is a text."),
    })
    expect((await superstep(["respond", "a", "r9", "x"], io)).stderr).toContain(
      'Run a has no open question "r9". Open: r1.',
    )
    expect((await superstep(["respond", "a", "r1", "--json-answer", "{"], io)).stderr).toContain("is no JSON")
  })

  test("retry: what failed runs again, as a new run with the same past", async () => {
    const io = await withRuns({ bad: "fail" })
    const { code, stderr } = await superstep(["runs", "retry", "bad"], io)
    expect(code).toBe(1)
    expect(stderr).toMatch(/run \S+, which goes on from bad/)
    const [made] = await rowsOf(io)
    expect(made).toMatchObject({ status: "failed", forkOf: { runId: "bad" } })
    const { stdout } = await superstep(["runs", "events", made.runId], io)
    expect(stdout.match(/task\.started +draft#1/g)).toHaveLength(1)
    expect(stdout).toMatch(/run\.forked +from bad at record/)
    expect(stdout.match(/task\.failed +check#2/g)).toHaveLength(1)
  })

  test("retry: of a run that has not failed is refused, unless it is told from where", async () => {
    const io = await withRuns({ a: "x" })
    expect(await superstep(["runs", "retry", "a"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--from NODE"),
    })
    expect(await superstep(["runs", "retry", "a", "--from", "publish"], io)).toMatchObject({
      code: 0,
      stdout: "published x\n",
    })
    expect((await superstep(["runs", "retry", "a", "--from", "nope"], io)).code).toBe(2)
  })

  test("fork: from a superstep, with another state", async () => {
    const io = await withRuns({ a: "x" })
    const flags = ["--at", "1", "--set-state", 'log=["mine"]']
    const { code, stdout } = await superstep(["runs", "fork", "a", ...flags], io)
    expect([code, stdout]).toEqual([0, "published x\n"])
    const [made] = await rowsOf(io)
    const state = await superstep(["runs", "state", made.runId], io)
    expect(JSON.parse(state.stdout)).toEqual({ log: ["mine", "published"] })
    const only = await superstep(["runs", "fork", "a", "--at", "2", "--no-run"], io)
    expect((await rowsOf(io))[0]).toMatchObject({ runId: only.stdout.trim(), status: "running" })
    expect((await superstep(["runs", "fork", "a", "--at", "7"], io)).code).toBe(2)
    expect((await superstep(["runs", "fork", "a", "--set-state", "nope=1"], io)).stderr).toContain(
      "no channel of workflow",
    )
  })

  test("replay: the same definition does the same", async () => {
    const io = await withRuns({ a: "x" })
    expect(await superstep(["runs", "replay", "a"], io)).toEqual({
      code: 0,
      stdout: 'Replay of run "a" of workflow "review": the same.\n',
      stderr: "",
    })
  })
})

describe("inbox", () => {
  test("has the open questions of all runs, the oldest first, and what to do", async () => {
    const io = await withRuns({ a: "ask one", b: "x", c: "ask two" })
    const { code, stdout } = await superstep(["inbox"], io)
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /review · check, to editor, \d+s old\n {4}Publish "ask one"\?[\s\S]*Publish "ask two"\?/,
    )
    expect(stdout).toContain('superstep respond a r1 "…"')
    const json = await superstep(["inbox", "--to", "editor", "--json"], io)
    expect(
      json.stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { runId: "a", id: "r1", to: "editor" },
      { runId: "c", id: "r1" },
    ])
    expect(await superstep(["inbox", "--to", "nobody"], io)).toMatchObject({ code: 0, stdout: "" })
  })
})

describe("a definition that has changed", () => {
  const story = (second: string) => `agents:
  writer: { model: offline, instruction: Write. }
workflow:
  - { id: ask, type: human, prompt: "Publish?" }
  - { id: ${second}, type: agent, name: writer }
`

  async function waiting(): Promise<TestIo> {
    const io = testIo({ files: { "story.yaml": story("first") } })
    const { code } = await superstep(["run", "story.yaml", "go", "--run-id", "s", "--quiet"], io)
    expect(code).toBe(3)
    return io
  }

  test("stops what is in flight, and says what can be done", async () => {
    const io = await waiting()
    writeFileSync(join(io.cwd, "story.yaml"), story("other"))
    const refused = await superstep(["runs", "resume", "s"], io)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("add\n  --accept-changes")
    expect(refused.stderr).toContain("superstep runs cancel s")
    const { code, stdout } = await superstep(["respond", "s", "r1", "yes", "--accept-changes", "--quiet"], io)
    expect(code).toBe(0)
    expect(stdout).not.toBe("")
  })

  test("is told by a replay, with exit code 1", async () => {
    const io = await waiting()
    expect((await superstep(["respond", "s", "r1", "yes", "--quiet"], io)).code).toBe(0)
    expect((await superstep(["runs", "replay", "s"], io)).code).toBe(0)
    writeFileSync(join(io.cwd, "new.yaml"), `name: story\n${story("other")}`)
    const { code, stdout } = await superstep(["runs", "replay", "s", "--file", "new.yaml"], io)
    expect(code).toBe(1)
    expect(stdout).toContain("it differs")
  })

  test("that is gone is asked for", async () => {
    const io = await waiting()
    rmSync(join(io.cwd, "story.yaml"))
    const { code, stderr } = await superstep(["runs", "resume", "s"], io)
    expect(code).toBe(2)
    expect(stderr).toContain("story.yaml")
    expect((await superstep(["runs", "cancel", "s"], io)).code).toBe(0)
  })
})
