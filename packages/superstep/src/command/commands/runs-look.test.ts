import { hostname } from "node:os"
import { type Holder, node, Runtime, workflow } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { superstep, testIo } from "../test-io.test-support.ts"
import review from "./review-flow.test-support.ts"
import { openFile, withRuns } from "./stored-runs.test-support.ts"

const UUID = "019a8b7c-0000-7000-8000-0123456789ab"

/** This process, as a runtime registers it. */
async function thisHolder(): Promise<Holder> {
  const io = await withRuns({})
  const store = openFile(io)
  const runtime = new Runtime({ store, workflows: [review] })
  const run = runtime.start(review, "ask me")
  await run
  const [holder] = await store.holders()
  await runtime.close()
  await store.close()
  return holder as Holder
}

function fits(text: string): void {
  for (const line of text.split("\n")) expect(line.length).toBeLessThanOrEqual(80)
}

/** Lets the writes of the store happen. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

test("runs show says what a run waits for", async () => {
  const io = await withRuns({})
  const store = openFile(io)
  let resolve: () => void = () => undefined
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  const limited = workflow("limited")
    .start(
      node({
        id: "fetch",
        flow: { concurrency: { max: 1, key: (tenant: string) => tenant } },
        run: async () => {
          await promise
          return "done"
        },
      }),
    )
    .build()
  const runtime = new Runtime({ store, workflows: [limited] })
  const first = runtime.start(limited, "acme", { runId: "first" })
  while (!(await store.slots.ofRun("first")).some(({ taken }) => taken)) await turn()
  const second = runtime.start(limited, "acme", { runId: "second" })
  while ((await store.slots.ofRun("second")).length === 0) await turn()
  const { stdout } = await superstep(["runs", "show", "second"], io)
  expect(stdout.replace(/\s+/g, " ")).toContain(
    "waits for a slot of limited/fetch (concurrency acme) for node fetch, next in line",
  )
  const json = JSON.parse((await superstep(["runs", "show", "second", "--json"], io)).stdout)
  expect(json.slots).toEqual([
    { node: "fetch", pool: "limited/fetch", lanes: ["concurrency acme"], taken: false, ahead: 0 },
  ])
  resolve()
  await Promise.all([first, second])
  await runtime.close()
  await store.close()
})

describe("runs list", () => {
  test("shows the newest runs first, with short ids, in 80 columns", async () => {
    const io = await withRuns({ [UUID]: "one", second: "fail", third: "ask me" })
    const { code, stdout, stderr } = await superstep(["runs"], io)
    expect([code, stderr]).toEqual([0, ""])
    const rows = stdout
      .trim()
      .split("\n")
      .map((line) => line.split(/ {2,}/))
    expect(rows.map(([id, workflow, status]) => [id, workflow, status])).toEqual([
      ["ID", "WORKFLOW", "STATUS"],
      ["third", "review", "waiting"],
      ["second", "review", "failed"],
      ["456789ab", "review", "completed"],
    ])
    expect(stdout).toMatch(/456789ab +review +completed +\d+s +3 +1\.2k +\$0\.0042/)
    fits(stdout)
  })

  test("filters by the time of creation", async () => {
    const io = await withRuns({ a: "one", b: "one" })
    const listed = async (...flags: string[]) => {
      const { stdout } = await superstep(["runs", "list", "--json", ...flags], io)
      return stdout
        .trim()
        .split("\n")
        .filter((line) => line !== "").length
    }
    const tomorrow = new Date(Date.now() + 86_400_000).toISOString()
    expect(await listed("--since", "1h")).toBe(2)
    expect(await listed("--since", "2001-02-03", "--until", tomorrow)).toBe(2)
    expect(await listed("--since", tomorrow)).toBe(0)
    const before = await superstep(["runs", "list", "--until", "2001-02-03"], io)
    expect(before).toMatchObject({ code: 0, stdout: "", stderr: "No run matches.\n" })
    expect(await superstep(["runs", "list", "--since", "yesterday"], io)).toMatchObject({ code: 2 })
  })

  test("filters by status and workflow, limits the number, and prints JSON", async () => {
    const io = await withRuns({ a: "one", b: "fail", c: "ask" })
    const { stdout } = await superstep(["runs", "list", "--status", "waiting,failed", "--json"], io)
    const runs = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object)
    expect(runs).toMatchObject([
      { runId: "c", status: "waiting", steps: 2, usage: { inputTokens: 1_200, usd: 0.0042 } },
      { runId: "b", status: "failed", steps: 2 },
    ])
    const none = await superstep(["runs", "list", "--workflow", "other"], io)
    expect(none).toMatchObject({ code: 0, stdout: "", stderr: "No run matches.\n" })
    const limited = await superstep(["runs", "list", "--limit", "1"], io)
    expect(limited.stdout.trim().split("\n")).toHaveLength(2)
    expect(limited.stderr).toBe("More results: --before c, or --limit 5\n")
    expect(await superstep(["runs", "list", "--status", "done"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Write\s+one\s+of\s+queued,\s+running,\s+waiting/),
    })
  })

  test("pages through all runs, without duplicates and gaps", async () => {
    const names = ["a", "b", "c", "d", "e"]
    const io = await withRuns(Object.fromEntries(names.map((name) => [name, "x"])))
    const seen: string[] = []
    for (let before: readonly string[] = []; ; ) {
      const { stdout } = await superstep(["runs", "list", "--limit", "2", "--json", ...before], io)
      const page = stdout.split("\n").filter(Boolean)
      if (page.length === 0) break
      seen.push(...page.map((line) => JSON.parse(line).runId))
      before = ["--before", seen.at(-1) ?? ""]
    }
    expect(seen).toEqual(["e", "d", "c", "b", "a"])
    expect(await superstep(["runs", "--before", "a"], io)).toMatchObject({
      code: 0,
      stderr: "No run matches.\n",
    })
    expect((await superstep(["runs", "--before", "nope"], io)).code).toBe(2)
  })

  test("reports a missing store, and creates none", async () => {
    const io = testIo()
    const { code, stdout, stderr } = await superstep(["runs", "list"], io)
    expect([code, stdout]).toEqual([0, ""])
    expect(stderr).toContain("There is no store at sqlite:.superstep/superstep.db yet")
    const { existsSync } = await import("node:fs")
    expect(existsSync(`${io.cwd}/.superstep`)).toBe(false)
  })
})

describe("runs show", () => {
  test("shows the status of a run, its nodes, its usage, its questions", async () => {
    const io = await withRuns({ [UUID]: "ask" })
    const { code, stdout } = await superstep(["runs", "show", "456789ab"], io)
    expect(code).toBe(0)
    expect(stdout).toContain(`Run ${UUID}: waiting`)
    expect(stdout).toMatch(/workflow +review/)
    expect(stdout).toMatch(/used +1,234 tokens, \$0\.0042, 1 model call/)
    expect(stdout).toMatch(/draft +1 +finished +\S+ \S+ +1\.2k +\$0\.0042/)
    expect(stdout).toMatch(/check +1 +parked/)
    expect(stdout).toContain('Publish "ask"?')
    expect(stdout).toContain('superstep respond 456789ab r1 "…"')
    fits(stdout)
  })

  test("shows why a run failed and how to continue, with control characters escaped", async () => {
    const io = await withRuns({ bad: "fail" })
    const { stdout } = await superstep(["runs", "show", "bad"], io)
    expect(stdout).toContain('ERROR: the check found ␛[31mred␛[0m (at node "check")')
    expect(stdout).toContain("superstep runs retry bad")
    expect(stdout).not.toContain("\u001b")
  })

  test("shows its input, on a few lines", async () => {
    const io = await withRuns({ one: `text\nof ${"many ".repeat(100)}words` })
    const { stdout } = await superstep(["runs", "show", "one"], io)
    expect(stdout).toMatch(/^ {2}input {5}text of many many .*$/m)
    expect(stdout.match(/^ {12}many many/gm)?.length).toBe(2)
    fits(stdout)
  })

  test("reports that no process executes a run, and how to resume it", async () => {
    const io = await withRuns({ a: "ask" })
    await superstep(["runs", "fork", "a", "--at", "1", "--no-run"], io)
    const store = openFile(io)
    const [run] = await store.runs({ limit: 1 })
    const { runId = "", token = 0 } = run ?? {}
    const look = () => superstep(["runs", "show", runId], io)
    const gone = /process +none\n[\s\S]*\nResume it: superstep runs resume \S+\n$/
    expect((await look()).stdout).toMatch(gone)
    // The id of a killed process: no process has it.
    const here = await thisHolder()
    await store.beat({ ...here, id: "killed", pid: 99_999_999 })
    await store.claim(runId, token, "killed")
    expect((await look()).stdout).toMatch(gone)
    await store.beat({ ...here, id: "alive" })
    await store.claim(runId, token + 1, "alive")
    const { stdout } = await look()
    expect(stdout).toContain(`process   ${process.pid} on ${hostname()}`)
    expect(stdout).not.toContain("Resume it")
    await store.close()
  })

  test("prints everything as JSON", async () => {
    const io = await withRuns({ one: "text" })
    const { stdout } = await superstep(["runs", "show", "one", "--json"], io)
    expect(JSON.parse(stdout)).toMatchObject({
      runId: "one",
      status: "completed",
      steps: 3,
      outputs: ["published text"],
      state: { log: ["draft of text", "published"] },
      nodes: [{ name: "draft", times: 1 }, { name: "check" }, { name: "publish" }],
    })
  })

  test("refuses an unknown run, and an ambiguous id", async () => {
    const io = await withRuns({ "run-a": "x", "run-b": "x" })
    expect(await superstep(["runs", "show", "nope"], io)).toEqual({
      code: 2,
      stdout: "",
      stderr: 'superstep: No run matches "nope". List the runs:\n  superstep runs list\n',
    })
    expect((await superstep(["runs", "show", "run"], io)).stderr).toContain(
      'Several runs match "run": run-b, run-a',
    )
    const other = await superstep(["runs", "show", "x", "--store", "postgres:x"], io)
    expect(other).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Unknown store "postgres:x"'),
    })
  })
})

describe("runs events", () => {
  test("are lines that fit, or the protocol's JSON", async () => {
    const io = await withRuns({ one: "t".repeat(200) })
    const { stdout } = await superstep(["runs", "events", "one"], io)
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} +1 {2}run\.started +review with t+…$/m)
    fits(stdout)
    const { parseEvent } = await import("@superstep/engine/protocol")
    const json = await superstep(["runs", "events", "one", "--json"], io)
    const events = json.stdout
      .trim()
      .split("\n")
      .map((line) => parseEvent(JSON.parse(line)))
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i + 1))
    expect(events.at(-1)).toMatchObject({ type: "run.finished", status: "completed" })
    const late = await superstep(
      ["runs", "events", "one", "--json", "--after", String(events.length - 1)],
      io,
    )
    expect(JSON.parse(late.stdout)).toEqual(events.at(-1))
    expect(
      (await superstep(["runs", "events", "one", "--after", "x"], io)).stderr.replace(/\s+/g, " "),
    ).toContain("Write a whole number of at least 0.")
  })

  test("of a run in another process are followed until it ends", async () => {
    const io = await withRuns({ one: "ask" })
    const following = superstep(["runs", "events", "one", "--follow", "--json"], io)
    await io.seen("run.waiting")
    const store = openFile(io)
    const runtime = new Runtime({ store, workflows: [review] })
    await runtime.respond("one", "r1", "yes")
    const { code, stdout } = await following
    expect(code).toBe(0)
    expect(JSON.parse(stdout.trim().split("\n").at(-1) ?? "")).toMatchObject({ type: "run.finished" })
    await runtime.close()
    await store.close()
  })

  test("are followed until Ctrl-C", async () => {
    const io = await withRuns({ one: "ask" })
    const following = superstep(["runs", "events", "one", "--follow"], io)
    await io.seen("run.waiting")
    io.interrupt()
    expect((await following).code).toBe(130)
  })
})

describe("runs state", () => {
  test("is the current one, or the one after any superstep", async () => {
    const io = await withRuns({ one: "text" })
    const now = await superstep(["runs", "state", "one"], io)
    expect(JSON.parse(now.stdout)).toEqual({ log: ["draft of text", "published"] })
    expect(now.stderr).toBe("superstep 3, completed\n")
    const then = await superstep(["runs", "state", "one", "--at", "1", "--json"], io)
    expect(JSON.parse(then.stdout)).toMatchObject({
      superstep: 2,
      status: "running",
      state: { log: ["draft of text"] },
      tasks: [{ node: "check", input: "text" }],
    })
    expect(await superstep(["runs", "state", "one", "--at", "9"], io)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/no checkpoint of superstep 9; it has checkpoints of 0\s+to 3/),
    })
  })
})
