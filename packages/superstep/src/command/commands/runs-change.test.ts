import { renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type Context, node, Runtime, workflow } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { z } from "zod"
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
  test("ends runs that no process holds, whether their file exists or not", async () => {
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

  test("ends a run that another process holds", async () => {
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

  test("refuses a finished or an unknown run", async () => {
    const io = await withRuns({ done: "x" })
    expect(await superstep(["runs", "cancel", "done"], io)).toMatchObject({
      code: 1,
      stderr: 'superstep: Run "done" has ended: completed.\n',
    })
    expect(await superstep(["runs", "cancel", "done", "nope"], io)).toMatchObject({ code: 2 })
  })
})

describe("runs pause", () => {
  test("pauses runs, which are listed and shown, and runs resume continues them", async () => {
    const io = await withRuns({ a: "ask", b: "ask" }, { labels: { file: "gone.yaml" } })
    const { code, stderr } = await superstep(["runs", "pause", "a", "--reason", "audit"], io)
    expect([code, stderr]).toEqual([0, "Paused a.\n"])
    expect((await rowsOf(io)).map(({ runId, status }) => [runId, status])).toEqual([
      ["b", "waiting"],
      ["a", "paused"],
    ])
    const listed = await superstep(["runs", "list", "--status", "paused", "--json"], io)
    expect(listed.stdout.trim().split("\n")).toHaveLength(1)
    expect((await superstep(["runs", "show", "a"], io)).stdout).toContain("Paused: audit")
    const resumed = await superstep(["runs", "resume", "a", "--file", FILE], io)
    expect(resumed.code, "it waits for a person").toBe(3)
    expect((await rowsOf(io)).find(({ runId }) => runId === "a")?.status).toBe("waiting")
  })
})

describe("commands on several runs", () => {
  test("report the runs that fail, and process the others; a run that is named twice counts once", async () => {
    const io = await withRuns({ done: "x", a: "ask", b: "ask" })
    expect(await superstep(["runs", "cancel", "done", "a", "a", "b", "--json"], io)).toEqual({
      code: 1,
      stdout: '{"runId":"a","status":"cancelled"}\n{"runId":"b","status":"cancelled"}\n',
      stderr: 'superstep: Run "done" has ended: completed.\n',
    })
  })

  test("do nothing if one of them is unknown", async () => {
    const io = await withRuns({ a: "ask", b: "x" })
    expect((await superstep(["runs", "cancel", "a", "nope"], io)).code).toBe(2)
    expect((await superstep(["runs", "rm", "b", "nope", "--yes"], io)).code).toBe(2)
    expect((await rowsOf(io)).map(({ runId, status }) => [runId, status])).toEqual([
      ["b", "completed"],
      ["a", "waiting"],
    ])
  })
})

describe("runs rm", () => {
  test("removes finished runs after a confirmation, and keeps unfinished ones", async () => {
    const io = await withRuns({ a: "x", b: "ask" })
    expect(await superstep(["runs", "rm", "a"], io)).toMatchObject({
      code: 2,
      stderr: "superstep: Remove run a permanently? Add --yes to confirm.\n",
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
    await io.seen("Remove run a permanently?")
    io.stdin.write(key)
    expect((await removing).code).toBe(code)
    expect((await rowsOf(io)).map(({ runId }) => runId)).toEqual(left)
  })
})

describe("a run continues", () => {
  test("resume: continues here, from its own file, to its next question", async () => {
    const io = await withRuns({ a: "ask" })
    const { code, stderr } = await superstep(["runs", "resume", "a"], io)
    expect(code).toBe(3)
    expect(stderr).toContain('Publish "ask"?')
    expect(stderr).toContain("superstep respond a r1")
  })

  test("resume: for a finished run lists the alternatives", async () => {
    const io = await withRuns({ bad: "fail", good: "x" })
    expect(await superstep(["runs", "resume", "bad"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("superstep runs retry bad"),
    })
    expect((await superstep(["runs", "resume", "good"], io)).stderr).toContain(
      "superstep runs fork good --at N",
    )
  })

  test("resume: for a run at a limit reports that it needs a higher one", async () => {
    const files = { "two.yaml": TWO_STEPS }
    const io = testIo({ files })
    const flags = ["--run-id", "short", "--budget", "tokens=1", "--quiet"]
    expect((await superstep(["run", "two.yaml", "go", ...flags], io)).code).toBe(4)
    const { code, stderr } = await superstep(["runs", "resume", "short"], io)
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([
      2,
      "superstep: Run short is stopped at a limit. Continue it with a higher --budget, --max-steps or --timeout: superstep runs retry short --budget usd=… ",
    ])
  })

  test("retry: with a larger budget a run continues where it stopped, and pays for nothing twice", async () => {
    const io = testIo({ files: { "two.yaml": TWO_STEPS } })
    const flags = ["--run-id", "short", "--budget", "tokens=20", "--quiet"]
    const stopped = await superstep(["run", "two.yaml", "go", ...flags], io)
    expect(stopped.code).toBe(4)
    expect(stopped.stderr).toContain("superstep runs retry short --budget")
    const { code, stdout } = await superstep(
      ["runs", "retry", "short", "--budget", "tokens=9000", "--json"],
      io,
    )
    expect(code).toBe(0)
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line))
    const nodes = events.filter(({ type }) => type === "task.started").map(({ node }) => node)
    expect(new Set(nodes).size).toBe(nodes.length)
    const calls = new Map<string, number>()
    for (const { runId } of await rowsOf(io)) {
      const shown = await superstep(["runs", "show", runId, "--json"], io)
      calls.set(runId, JSON.parse(shown.stdout).usage.modelCalls)
    }
    expect(calls.get("short")).toBe(1)
    expect([...calls.values()].sort()).toEqual([1, 2])
    const again = await superstep(["runs", "retry", "short"], io)
    expect(again.code).toBe(4)
  })

  test("retry: a graph with a higher step limit keeps it from then on", async () => {
    const graph = {
      id: "three",
      nodes: ["a", "b", "c"].map((id) => ({ id, type: "agent", agent_id: id })),
      edges: [
        { from_node: "a", to_node: "b" },
        { from_node: "b", to_node: "c" },
        { from_node: "c", to_node: null },
      ],
      agents: { a: { model: "offline" }, b: { model: "offline" }, c: { model: "offline" } },
    }
    const io = testIo({ files: { "three.json": JSON.stringify(graph) } })
    const first = ["run", "three.json", "go", "--run-id", "short", "--max-steps", "2"]
    const stopped = await superstep(first, io)
    expect(stopped.code).toBe(4)
    expect(stopped.stderr).toContain("superstep runs retry short --max-steps N")
    const { code, stderr } = await superstep(["runs", "retry", "short", "--max-steps", "9"], io)
    expect(stderr).toMatch(/✓ c/)
    expect(stderr).not.toMatch(/✓ a/)
    expect(code).toBe(0)
    const [made] = (await rowsOf(io)).filter(({ runId }) => runId !== "short")
    expect(made.labels.maxSteps).toBe("9")
  })

  test("resume: reports a missing file, and a file of another workflow", async () => {
    const io = await withRuns({ a: "ask" }, { labels: {} })
    expect(await superstep(["runs", "resume", "a"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("Add --file FILE."),
    })
  })

  test("resume: leaves a run to the live process that holds it, unless it is taken over", async () => {
    const io = await withRuns({})
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [review] })
    await runtime.start(review, "ask", { runId: "held", labels: { file: FILE } })
    const { code, stderr } = await superstep(["runs", "resume", "held"], io)
    expect(code).toBe(2)
    expect(stderr).toContain(`Run held is being executed by process ${process.pid} on `)
    expect(stderr).toContain("\n  superstep runs events held --follow\n")
    expect((await superstep(["runs", "resume", "held", "--take-over"], io)).code).toBe(3)
    await runtime.close()
    await store.close()
  })

  test("respond: the answer is delivered, and the run continues here to its end", async () => {
    const io = await withRuns({ a: "ask" })
    const { code, stdout } = await superstep(["respond", "a", "r1", "yes", "--by", "Ada"], io)
    expect([code, stdout]).toEqual([0, "published ask: yes\n"])
    expect((await superstep(["runs", "events", "a"], io)).stdout).toMatch(/request\.answered +r1 by Ada: yes/)
    expect(await superstep(["respond", "a", "r1", "no"], io)).toMatchObject({
      code: 2,
      stderr: "superstep: Run a is completed, and has no open question.\n",
    })
  })

  test("respond: an answer to a run that no process executes is checked and stored, and leaves no holder", async () => {
    const io = await withRuns({})
    const store = openFile(io)
    const asks = workflow("amount")
      .start(
        node("amount", (_: number, ctx: Context) => ctx.ask({ prompt: "How much?", schema: z.number() })),
      )
      .build()
    const runtime = new Runtime({ store, workflows: [asks] })
    await runtime.start(asks, 1, { runId: "left" })
    await runtime.close()
    const wrong = await superstep(["respond", "left", "r1", "many"], io)
    expect(wrong.code).not.toBe(0)
    expect(wrong.stderr).toContain('The answer to request "r1" of run "left" is not valid')
    expect((await superstep(["inbox"], io)).stdout).toContain("How much?")
    const { code, stderr } = await superstep(["respond", "left", "r1", "5"], io)
    expect(code).toBe(0)
    expect(stderr).toContain("The answer is stored. It is delivered when the run resumes.")
    expect((await superstep(["inbox"], io)).stdout).toBe("")
    expect(await store.holders()).toEqual([])
    const worker = new Runtime({ store, workflows: [asks] })
    await worker.recover()
    expect((await worker.get("left")).outputs).toEqual([5])
    await worker.close()
    await store.close()
  })

  test("respond: an answer to a run whose definition is missing is checked and stored", async () => {
    const files = {
      "flow.yaml": `agents: { clerk: { model: offline } }
workflow: [{ id: ok, type: human, prompt: "Publish?", choices: [publish, drop] }]
`,
    }
    const io = testIo({ files })
    expect((await superstep(["exec", "flow.yaml", "go", "--run-id", "left"], io)).code).toBe(3)
    renameSync(join(io.cwd, "flow.yaml"), join(io.cwd, "moved"))
    const wrong = await superstep(["respond", "left", "r1", "--json-answer", '"maybe"'], io)
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining("is not valid")])
    const { code, stderr } = await superstep(["respond", "left", "r1", "drop"], io)
    expect([code, stderr]).toEqual([0, expect.stringContaining("The answer is stored")])
    expect((await superstep(["inbox"], io)).stdout).toBe("")
    renameSync(join(io.cwd, "moved"), join(io.cwd, "flow.yaml"))
    expect(await superstep(["runs", "resume", "left", "--quiet"], io)).toMatchObject({
      code: 0,
      stdout: "drop\n",
    })
  })

  test("a command leaves no holder in the store", async () => {
    const io = await withRuns({ a: "ask", b: "ask" })
    const store = openFile(io)
    for (const args of [
      ["respond", "a", "yes"],
      ["runs", "cancel", "b"],
      ["runs", "events", "a"],
    ]) {
      expect((await superstep(args, io)).code).toBe(0)
      expect(await store.holders()).toEqual([])
    }
    await store.close()
  })

  test("respond: a run of another process continues there", async () => {
    const io = await withRuns({})
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [review] })
    const run = runtime.start(review, "ask", { runId: "held" })
    await run
    const { code, stderr } = await superstep(["respond", "held", "r1", "sure"], io)
    expect([code, stderr]).toEqual([0, "Answered. Run held continues in its process.\n"])
    expect((await run).outputs).toEqual(["published ask: sure"])
    await runtime.close()
    await store.close()
  })

  test("respond: the id of the only question is optional", async () => {
    const io = await withRuns({ a: "ask", b: "ask", c: "ask" })
    expect(await superstep(["respond", "a", "sure, why not", "--quiet"], io)).toMatchObject({
      code: 0,
      stdout: "published ask: sure, why not\n",
    })
    expect((await superstep(["respond", "b", "--json-answer", '"ok"', "--quiet"], io)).stdout).toBe(
      "published ask: ok\n",
    )
    // A word that looks like a request id is no answer.
    expect(await superstep(["respond", "c", "r2"], io)).toMatchObject({
      code: 2,
      stderr: 'superstep: Run c has no open question "r2". Open: r1.\n',
    })
  })

  test("respond: without an answer, and without a terminal, prints the expected answer", async () => {
    const io = await withRuns({ a: "ask" })
    expect(await superstep(["respond", "a"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("An answer is text."),
    })
    expect((await superstep(["respond", "a", "r9", "x"], io)).stderr).toContain(
      'Run a has no open question "r9". Open: r1.',
    )
    expect((await superstep(["respond", "a", "r1", "--json-answer", "{"], io)).stderr).toContain(
      "is not JSON",
    )
  })

  test("retry: repeats what failed, as a new run with the same history", async () => {
    const io = await withRuns({ bad: "fail" })
    const { code, stderr } = await superstep(["runs", "retry", "bad"], io)
    expect(code).toBe(1)
    expect(stderr).toMatch(/run \S+, which continues bad/)
    const [made] = await rowsOf(io)
    expect(made).toMatchObject({ status: "failed", forkOf: { runId: "bad" } })
    const { stdout } = await superstep(["runs", "events", made.runId], io)
    expect(stdout.match(/task\.started +draft#1/g)).toHaveLength(1)
    expect(stdout).toMatch(/run\.forked +from bad at record/)
    expect(stdout.match(/task\.failed +check#2/g)).toHaveLength(1)
  })

  test("retry: refuses a run that has not failed, unless --from is set", async () => {
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

  test("shows work that was active when the run was released, once it is done", async () => {
    const io = await withRuns({ a: "x" })
    const { stderr } = await superstep(["runs", "fork", "a", "--at", "1"], io)
    expect(stderr).toMatch(/^run \S+, a fork of a\n✓ check .*\n✓ publish .*\ncompleted in /)
    const { stdout } = await superstep(["runs", "fork", "a", "--at", "1", "--json"], io)
    const [made] = await rowsOf(io)
    const all = await superstep(["runs", "events", made.runId, "--json"], io)
    // The events are all those after the fork.
    expect(stdout).toBe(all.stdout.slice(all.stdout.indexOf("\n", all.stdout.indexOf("run.forked")) + 1))
  })

  test("fork: from a superstep, with a changed state", async () => {
    const io = await withRuns({ a: "x" })
    const flags = ["--at", "1", "--set-state", 'log=["mine"]']
    const { code, stdout } = await superstep(["runs", "fork", "a", ...flags], io)
    expect([code, stdout]).toEqual([0, "published x\n"])
    const [made] = await rowsOf(io)
    const state = await superstep(["runs", "state", made.runId], io)
    expect(JSON.parse(state.stdout)).toEqual({ log: ["mine", "published"] })
    const only = await superstep(["runs", "fork", "a", "--at", "2", "--no-run"], io)
    expect((await rowsOf(io))[0]).toMatchObject({ runId: only.stdout.trim(), status: "stopped" })
    expect((await superstep(["runs", "fork", "a", "--at", "7"], io)).code).toBe(2)
    expect((await superstep(["runs", "fork", "a", "--set-state", "nope=1"], io)).stderr).toContain(
      "not a channel of workflow",
    )
  })

  test("fork: with another answer, from where the question was open", async () => {
    const io = await withRuns({ a: "ask" })
    await superstep(["respond", "a", "yes"], io)
    const { code, stdout } = await superstep(["runs", "fork", "a", "--answer", "no=never"], io)
    expect([code, stdout]).toEqual([0, "published ask: no=never\n"])
    const named = await superstep(["runs", "fork", "a", "--answer", "r1=later"], io)
    expect(named.stdout).toBe("published ask: later\n")
    expect((await superstep(["runs", "show", "a"], io)).stdout).toContain("published ask: yes")
    const twice = await superstep(["runs", "fork", "a", "--answer", "r1=a", "--answer", "r1=b"], io)
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("twice")])
  })

  test("fork: refuses an answer to a run that never asked, and creates no run", async () => {
    const io = await withRuns({ a: "x" })
    const { code, stderr } = await superstep(["runs", "fork", "a", "--answer", "yes"], io)
    expect([code, stderr]).toEqual([2, expect.stringContaining("Run a asked no question.")])
    expect(await rowsOf(io)).toHaveLength(1)
  })

  test("fork: refuses an answer that does not match its question, and creates no run", async () => {
    const text = "workflow: [{ id: q, type: human, prompt: Ship it?, choices: [ship, hold] }]\n"
    const io = testIo({ files: { "ask.yaml": text } })
    await superstep(["run", "ask.yaml", "x", "--run-id", "a"], io)
    await superstep(["respond", "a", "ship"], io)
    const { code, stderr } = await superstep(["runs", "fork", "a", "--answer", "maybe"], io)
    expect([code, stderr]).toEqual([2, expect.stringContaining("question r1 is invalid: must be one of")])
    expect(await rowsOf(io)).toHaveLength(1)
    expect((await superstep(["runs", "fork", "a", "--answer", "hold"], io)).code).toBe(0)
  })

  test("fork: with another input, from the start", async () => {
    const io = await withRuns({ a: "x" })
    const { code, stdout } = await superstep(["runs", "fork", "a", "--input", "y"], io)
    expect([code, stdout]).toEqual([0, "published y\n"])
    const [made] = await rowsOf(io)
    expect(made).toMatchObject({ forkOf: { runId: "a" } })
    const both = await superstep(["runs", "fork", "a", "--input", "y", "--at", "1"], io)
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining("Remove --at")])
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

const TWO_STEPS = `agents:
  writer: { model: offline, instruction: Write. }
workflow:
  - { type: agent, name: writer }
  - { type: agent, name: writer }
`

describe("ids that a shell would not read as one word", () => {
  test("are quoted in suggested commands", async () => {
    const io = await withRuns({ "Ada's run": "ask", "two words": "fail" })
    expect((await superstep(["inbox"], io)).stdout).toContain(`superstep respond 'Ada'\\''s run' r1 "…"`)
    expect((await superstep(["runs", "show", "two words"], io)).stdout).toContain(
      "superstep runs retry 'two words'",
    )
    expect((await superstep(["runs", "resume", "two words"], io)).stderr).toContain(
      "superstep runs retry 'two words'",
    )
    expect((await superstep(["respond", "Ada's run", "yes", "--quiet"], io)).code).toBe(0)
  })
})

describe("inbox", () => {
  test("lists the open questions of all runs, the oldest first, with the commands to answer", async () => {
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
    for (const flag of ["--to", "--workflow"])
      expect(await superstep(["inbox", flag, "nobody"], io)).toEqual({
        code: 0,
        stdout: "",
        stderr: "No question matches.\n",
      })
    const more = await superstep(["inbox", "--limit", "1"], io)
    expect(more.stdout).not.toContain("ask two")
    expect(more.stderr).toBe("More results: --limit 5\n")
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

  test("stops the run, and lists the options", async () => {
    const io = await waiting()
    writeFileSync(join(io.cwd, "story.yaml"), story("other"))
    const refused = await superstep(["runs", "resume", "s"], io)
    expect(refused.code).toBe(2)
    expect(refused.stderr).toContain("with nodes matched by name, add --accept-changes.")
    expect(refused.stderr).toContain("superstep runs cancel s")
    const { code, stdout } = await superstep(["respond", "s", "r1", "yes", "--accept-changes", "--quiet"], io)
    expect(code).toBe(0)
    expect(stdout).not.toBe("")
  })

  test("is reported by a replay, with exit code 1", async () => {
    const io = await waiting()
    expect((await superstep(["respond", "s", "r1", "yes", "--quiet"], io)).code).toBe(0)
    expect((await superstep(["runs", "replay", "s"], io)).code).toBe(0)
    writeFileSync(join(io.cwd, "new.yaml"), `name: story\n${story("other")}`)
    const { code, stdout } = await superstep(["runs", "replay", "s", "--file", "new.yaml"], io)
    expect(code).toBe(1)
    expect(stdout).toContain("different")
  })

  test("leaves nothing of a refused attempt", async () => {
    const io = await waiting()
    expect((await superstep(["respond", "s", "r1", "yes", "--quiet"], io)).code).toBe(0)
    writeFileSync(join(io.cwd, "story.yaml"), story("other"))
    for (const [command, ...flags] of [
      ["fork", "--at", "0"],
      ["retry", "--from", "first"],
    ] as const) {
      const { code, stderr } = await superstep(["runs", command, "s", ...flags], io)
      expect(code).toBe(2)
      expect(stderr).toContain('Run "s" was started with another version')
      expect(stderr).toContain("--accept-changes.")
      expect(stderr).not.toContain("runs cancel")
    }
    expect((await rowsOf(io)).map(({ runId }) => runId)).toEqual(["s"])
  })

  test("in a file with another name is refused, with the advice to set its name", async () => {
    const io = await waiting()
    writeFileSync(join(io.cwd, "new.yaml"), story("first"))
    const { code, stderr } = await superstep(["runs", "resume", "s", "--file", "new.yaml", "--quiet"], io)
    expect([code, stderr.replace(/\s+/g, " ")]).toEqual([
      2,
      'superstep: Run s belongs to workflow "story", but new.yaml defines "new". Name another file with --file. If this is the right file, set its name: story ',
    ])
    writeFileSync(join(io.cwd, "new.yaml"), `name: story\n${story("first")}`)
    expect((await superstep(["respond", "s", "yes", "--file", "new.yaml", "--quiet"], io)).code).toBe(0)
  })

  test("that is missing is requested", async () => {
    const io = await waiting()
    rmSync(join(io.cwd, "story.yaml"))
    const { code, stderr } = await superstep(["runs", "resume", "s"], io)
    expect(code).toBe(2)
    expect(stderr).toContain("story.yaml")
    expect((await superstep(["runs", "cancel", "s"], io)).code).toBe(0)
  })
})
