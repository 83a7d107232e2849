import { expect, test } from "vitest"
import { append, channel, node, replace, workflow } from "../../index.ts"
import { manualClock } from "../../testing/index.ts"

let ran = 0
const list = channel("list", append<number>())
const any = channel("any", replace<unknown>())
const count = node("count", () => ++ran)
const built = workflow("w", { state: [list, any] })
  .start(count)
  .build()

test.each<[string, object]>([
  ["a limit of 0", { limits: { supersteps: 0 } }],
  ["a limit below 0", { limits: { visits: -1 } }],
  ["a limit that is NaN", { limits: { loops: Number.NaN } }],
  ["a limit that is no whole number", { limits: { concurrency: 1.5 } }],
  ["a limit that JSON cannot hold", { limits: { supersteps: Number.POSITIVE_INFINITY } }],
  ["a limit in text", { limits: { supersteps: "5" } }],
  ["a limit that does not exist", { limits: { steps: 5 } }],
  ["a timeout below 0", { timeout: -1 }],
  ["a timeout that is NaN", { timeout: Number.NaN }],
  ["a timeout that JSON cannot hold", { timeout: Number.POSITIVE_INFINITY }],
  ["a budget below 0", { budget: { tokens: -1 } }],
  ["a budget that is NaN", { budget: { usd: Number.NaN } }],
  ["a budget in text", { budget: { usd: "1" } }],
  ["a budget of something unknown", { budget: { token: 5 } }],
  ["state of a channel that does not exist", { state: { nobody: 1 } }],
  ["state that JSON cannot hold", { state: { any: 1n } }],
  ["state that is undefined", { state: { any: undefined } }],
  ["state that its reducer cannot continue from", { state: { list: 5 } }],
  ["an empty run id", { runId: "" }],
  ["a run id that is not a string", { runId: 5 }],
  ["labels that are a list", { labels: ["a"] }],
  ["a label that is not a string", { labels: { a: 1 } }],
  ["a label without a name", { labels: { "": "a" } }],
  ["a label that is too long", { labels: { a: "x".repeat(1_001) } }],
  ["a label with a name that is too long", { labels: { ["x".repeat(1_001)]: "a" } }],
  ["too many labels", { labels: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`l${i}`, "a"])) }],
])("%s is refused before anything runs", async (_, options) => {
  ran = 0
  const run = built.run(1, { clock: manualClock(), ...options })
  await expect(run).rejects.toMatchObject({ code: "OPTION_INVALID" })
  expect(ran).toBe(0)
})

test("the error names the option and its value", async () => {
  await expect(built.run(1, { limits: { supersteps: 0 } })).rejects.toThrow(/limits\.supersteps.*0/)
  await expect(built.run(1, { timeout: -7 })).rejects.toThrow(/timeout.*-7/)
  await expect(built.run(1, { state: { nobody: 1 } })).rejects.toThrow(/"nobody".*"w"/)
})

test("options that are undefined are as if they were not there", async () => {
  const { status } = await built.run(1, {
    runId: undefined,
    signal: undefined,
    limits: { supersteps: undefined },
    timeout: undefined,
    budget: { usd: undefined },
    state: undefined,
    store: undefined,
    clock: undefined,
  })
  expect(status).toBe("completed")
})
