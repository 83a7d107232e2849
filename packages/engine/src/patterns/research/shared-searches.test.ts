import { expect, test } from "vitest"
import type { Context } from "../../runtime/index.ts"
import type { ToolFinding } from "./research-tools.ts"
import { SharedSearches } from "./shared-searches.ts"

/** A section's task, which records by calling. */
function task(id: string, known = {}): Context {
  const ctx = {
    idempotencyKey: id,
    state: { get: () => known },
    scope: () => ctx,
    step: async (_: string, run: (step: never) => unknown) => await run(undefined as never),
    signal: new AbortController().signal,
    clock: { now: () => 0, setTimer: () => () => undefined },
  }
  return ctx as never
}

/** A tool that the test answers for. */
function byHand() {
  const calls: {
    signal: AbortSignal
    answer: (finding: ToolFinding) => void
    fail: (error: Error) => void
  }[] = []
  const run = (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise<ToolFinding>((answer, fail) => calls.push({ signal, answer, fail }))
  return { calls, tool: { name: "web", description: "", run } }
}

function asking(tool: ReturnType<typeof byHand>["tool"], query = "tea", failures = 0) {
  const stop = new AbortController()
  return { stop, search: { tool, task: { agent: "web", query }, failures, signal: stop.signal } }
}

const TEA: ToolFinding = { output: "found", sources: [{ url: "https://t.example", text: "Tea." }] }
const turn = () => new Promise((resolve) => setImmediate(resolve))

test("a section whose time is up leaves its search to the others that wait for it (Q3)", async () => {
  const shared = new SharedSearches()
  const { tool, calls } = byHand()
  const [a, b] = [task("a"), task("b")]
  const [first, second] = [asking(tool), asking(tool)]
  for (const ctx of [a, b]) shared.join("room", ctx)
  const early = shared.searchOf("a")(first.search, a)
  const late = shared.searchOf("b")(second.search, b)
  await turn()
  first.stop.abort(new Error("The time is up."))
  expect(await early).toMatchObject({ isFailed: true, output: "web failed: The time is up." })
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false])
  calls[0]?.answer(TEA)
  expect(await late).toMatchObject({ isFailed: false, evidence: [{ text: "Tea." }] })
  expect(calls).toHaveLength(1)
})

test("a search that no section waits for is stopped, and runs again for a later request", async () => {
  const shared = new SharedSearches()
  const { tool, calls } = byHand()
  const a = task("a")
  shared.join("room", a)
  const { stop, search } = asking(tool)
  const asked = shared.searchOf("a")(search, a)
  await turn()
  stop.abort(new Error("The time is up."))
  await asked
  expect(calls[0]?.signal.aborted).toBe(true)
  const again = shared.searchOf("a")(asking(tool).search, a)
  await turn()
  calls[1]?.answer(TEA)
  expect(await again).toMatchObject({ isFailed: false })
})

test("a failed search runs again for the sections it failed for, once for all of them (Q1)", async () => {
  const shared = new SharedSearches()
  const { tool, calls } = byHand()
  const [a, b] = [task("a"), task("b")]
  for (const ctx of [a, b]) shared.join("room", ctx)
  const first = shared.searchOf("a")(asking(tool).search, a)
  await turn()
  calls[0]?.fail(new Error("out of order"))
  expect(await first).toMatchObject({ isFailed: true })
  // The other section learns of the failure, and both request it again.
  expect(await shared.searchOf("b")(asking(tool).search, b)).toMatchObject({ isFailed: true })
  const again = [a, b].map((ctx) => shared.searchOf(ctx.idempotencyKey)(asking(tool, "tea", 1).search, ctx))
  await turn()
  calls[1]?.answer(TEA)
  expect(await Promise.all(again)).toMatchObject([{ isFailed: false }, { isFailed: false }])
  expect(calls).toHaveLength(2)
})

test("a section leaves its recorded results to those that start later", async () => {
  const shared = new SharedSearches()
  const { tool, calls } = byHand()
  const a = task("a")
  const member = shared.join("room", a)
  const asked = shared.searchOf("a")(asking(tool).search, a)
  await turn()
  calls[0]?.answer(TEA)
  await asked
  const left = await member.leave()
  const c = task("c", left)
  shared.join("room", c)
  expect(await shared.searchOf("c")(asking(tool, " TEA").search, c)).toMatchObject({ output: "found" })
  expect(calls).toHaveLength(1)
})

test("a section that restarts, of a stopped run, sees only recorded results (Q2)", async () => {
  const shared = new SharedSearches()
  const { tool, calls } = byHand()
  const before = task("a")
  shared.join("room", before)
  void shared.searchOf("a")(asking(tool).search, before)
  await turn()
  const after = task("a")
  shared.join("room", after)
  const again = shared.searchOf("a")(asking(tool).search, after)
  await turn()
  calls[0]?.answer({ output: "late", sources: [] })
  calls[1]?.answer(TEA)
  expect(await again).toMatchObject({ output: "found" })
})
