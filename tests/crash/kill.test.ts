/** Kills a process for real at every write of a run, and between: what follows must be as if nothing had happened. */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { sqliteStore } from "@superstep/store-sqlite"
import { afterAll, beforeAll, expect, test } from "vitest"

const run = promisify(execFile)
const root = resolve(import.meta.dirname, "../..")
const FLAGS = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx")]
const CHILD = join(root, "tests", "crash", "child.ts")

let folder = ""
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "superstep-kill-"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Report {
  readonly ended?: unknown
  readonly survived?: unknown
  readonly signal: string | undefined
}

async function child(path: string, trail: string, ...args: string[]): Promise<Report> {
  const command = [...FLAGS, CHILD, path, trail, ...args]
  const { stdout, signal } = await run(process.execPath, command, { cwd: root }).then(
    ({ stdout }) => ({ stdout, signal: undefined }),
    (error: { stdout: string; stderr: string; signal?: string }) => {
      if (error.signal !== "SIGKILL") throw new Error(error.stderr, { cause: error })
      return { stdout: error.stdout, signal: error.signal }
    },
  )
  const said = (word: string) => {
    const line = stdout.split("\n").find((one) => one.startsWith(`${word} `))
    return line === undefined ? undefined : JSON.parse(line.slice(word.length + 1))
  }
  return { ended: said("ended"), survived: said("survived"), signal }
}

/** Tasks that the journal has as finished, by frame. */
async function finishedTasks(path: string, runId: string): Promise<Set<string>> {
  const store = sqliteStore({ path })
  const records = await store.read(runId, 0)
  await store.close()
  return new Set(
    records.flatMap(({ frame, entry }) =>
      entry.type === "task.finished" && frame === "" ? [`${entry.task}`] : [],
    ),
  )
}

const EXPECTED = {
  status: "completed",
  outputs: [{ text: "left(to+be+or)|right(to+be+or)|'to+be+or':yes!!", round: 3 }],
  state: { log: ["gathered", "round 1", "round 2"], total: 6 },
  usage: {},
}

/** Follows one moment over all writes; each process finishes the run of the one before it. */
async function killAtEveryWrite(moment: "before" | "after"): Promise<number> {
  const path = join(folder, `${moment}.db`)
  const trail = join(folder, `${moment}.log`)
  let killed = "-"
  let before = new Set<string>()
  for (let at = 1; ; at++) {
    const next = `run-${at}`
    const report = await child(path, trail, killed, next, String(at), moment)
    if (killed !== "-") {
      expect(report.ended, `killed ${moment} write ${at - 1}`).toEqual(EXPECTED)
      expect(repeated(trail, killed, before), `ran again after a kill ${moment} write ${at - 1}`).toEqual([])
    }
    if (report.signal === undefined) {
      expect(report.survived).toEqual(EXPECTED)
      return at - 1
    }
    killed = next
    before = await finishedTasks(path, killed)
  }
}

/** M1: tasks that were finished when the process died, and that another process ran. */
function repeated(trail: string, runId: string, finished: ReadonlySet<string>): string[] {
  const calls = readFileSync(trail, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { pid: number; runId: string; task: number; node: string })
    .filter((call) => call.runId === runId && !["quote", "confirm"].includes(call.node))
  const [first] = calls
  return calls
    .filter(({ pid, task }) => pid !== first?.pid && finished.has(String(task)))
    .map(({ node }) => node)
}

test("a process that is killed before any write, or after any, loses nothing and repeats nothing", {
  timeout: 600_000,
}, async () => {
  const [before, after] = await Promise.all([killAtEveryWrite("before"), killAtEveryWrite("after")])
  console.log(`${before + after} processes were killed`)
  expect(before).toBeGreaterThan(20)
  expect(after).toBeGreaterThan(20)
})
