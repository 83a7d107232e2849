/** A process that runs an agent is killed after every write: what was paid for is not paid for again. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { bundledTogether } from "../bundled.ts"
import { printedBy } from "../crash/deadly-store.ts"

let folder = ""
let program = ""
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "superstep-agents-"))
  const file = join(import.meta.dirname, "child.ts")
  program = bundledTogether([file])(file)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

export interface AgentKillOptions {
  /** Every so many writes the process is killed. */
  readonly stride: number
  /** The store of the run with this name, in a folder of its own. */
  addressOf(folder: string, name: string): string
}

const CALLS = ["look_up price", "look_up stock", "model", "model", "model", "model", "write_down 42"]

export function agentKillTest(options: AgentKillOptions): void {
  test(
    "after a kill behind any write no model call and no tool call is made again",
    {
      timeout: 300_000,
    },
    () => paysOnce(options),
  )
}

async function paysOnce({ stride, addressOf }: AgentKillOptions): Promise<void> {
  let kills = 0
  let counted = 0
  for (let at = 1; ; at += stride) {
    const [address, trail] = [addressOf(folder, `run ${at}`), join(folder, `${at}.trail`)]
    const child = (death: number) => printedBy(program, address, trail, `run ${at}`, String(death))
    const first = await child(at)
    if (first === undefined) kills++
    const printed = first ?? (await child(0))
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
  expect(kills).toBeGreaterThanOrEqual(Math.floor(15 / stride))
  if (stride === 1) expect(counted).toBe(7)
}
