/** A process that runs a magentic team is killed behind writes all along: the answer is the same, nothing is paid twice. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bundled } from "../bundled.ts"
import { printedBy } from "../crash/deadly-store.ts"

/** Every write is tried by the simulator, beside the code; here, some for real. */
const EVERY = 5

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-teams-"))
  program = bundled(join(import.meta.dirname, "child.ts"))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function child(path: string, trail: string, at: number): Promise<string | undefined> {
  return printedBy(program, path, trail, "r", String(at))
}

test("after a kill the team continues where it was, and no model call is repeated", {
  timeout: 300_000,
}, async () => {
  let kills = 0
  for (let at = 3; ; at += EVERY) {
    const [path, trail] = [join(folder, `${at}.db`), join(folder, `${at}.trail`)]
    const first = await child(path, trail, at)
    if (first === undefined) kills++
    const printed = first ?? (await child(path, trail, 0))
    expect(JSON.parse(printed ?? "{}"), `killed after write ${at}`).toMatchObject({
      status: "completed",
      outputs: ["There are 7."],
      // One more if a call was recorded but not made yet: its outcome is unknown.
      modelCalls: expect.toBeOneOf([11, 12]),
      team: { round: 4, resets: 1, ended: "answered" },
    })
    const calls = readFileSync(trail, "utf8").trim().split("\n").toSorted()
    expect(calls, `killed after write ${at}`).toEqual(["counter", "finder", ...Array(9).fill("manager")])
    if (first !== undefined) break
  }
  expect(kills).toBeGreaterThanOrEqual(4)
})
