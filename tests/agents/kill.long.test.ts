/** A process that runs an agent is killed after every write: what was paid for is not paid for again. */
import { execFile } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bundled } from "../bundled.ts"

const run = promisify(execFile)

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-agents-"))
  program = await bundled(join(import.meta.dirname, "child.ts"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** What the process printed; undefined when it was killed. */
async function child(path: string, trail: string, at: number): Promise<string | undefined> {
  return await run(process.execPath, [program, path, trail, "r", String(at)]).then(
    ({ stdout }) => stdout,
    (error: { signal?: string; stderr: string }) => {
      if (error.signal !== "SIGKILL") throw new Error(error.stderr, { cause: error })
      return undefined
    },
  )
}

const CALLS = ["look_up price", "look_up stock", "model", "model", "model", "model", "write_down 42"]

test("after a kill behind any write no model call and no tool call is made again", {
  timeout: 300_000,
}, async () => {
  let kills = 0
  let counted = 0
  for (let at = 1; ; at++) {
    const [path, trail] = [join(folder, `${at}.db`), join(folder, `${at}.trail`)]
    const first = await child(path, trail, at)
    if (first === undefined) kills++
    const printed = first ?? (await child(path, trail, 0))
    const { usage, ...end } = JSON.parse(printed ?? "{}")
    expect(end, `killed after write ${at}`).toEqual({
      status: "completed",
      outputs: ["It costs 42, and there are 7."],
    })
    // A call that was recorded but not made yet counts: its outcome is unknown.
    const inFlight = usage.modelCalls - 4 + (usage.toolCalls - 3)
    expect([0, 1], `killed after write ${at}`).toContain(inFlight)
    if (inFlight === 0) expect(usage).toMatchObject({ inputTokens: 75, outputTokens: 20 })
    counted += inFlight
    const calls = readFileSync(trail, "utf8").trim().split("\n").toSorted()
    expect(calls, `killed after write ${at}`).toEqual(CALLS)
    if (first !== undefined) break
  }
  // The start, and of four model calls and three tool calls the start and the result.
  expect(kills).toBeGreaterThanOrEqual(15)
  expect(counted).toBe(7)
})
