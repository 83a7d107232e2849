/** Signals in the past of a run: forks keep them, replays give them again. */
import { expect, test } from "vitest"
import { type Context, memoryStore, node, Runtime, workflow } from "../index.ts"
import { manualClock } from "../testing/index.ts"
import { recordingOf, replay } from "./index.ts"

const below = workflow("below")
  .start(node("below", async (n: number, ctx: Context) => [n, await ctx.waitFor("go")]))
  .build()
const gathers = (name: string) =>
  workflow("w")
    .start(
      node("gathers", async (n: number, ctx: Context) => {
        const first = await ctx.waitFor(name)
        const [second] = await ctx.call(below, n)
        const update = await ctx.waitForUpdate<number>("add")
        await update.reply(update.value + 1)
        return [first, second, await ctx.waitFor("never", { timeout: 60_000, default: "late" })]
      }),
    )
    .build()

async function played() {
  const store = memoryStore()
  const clock = manualClock(0)
  const run = gathers("go").run(1, { store, runId: "r", clock })
  await run
  await run.signal("go", "early", { id: "a" })
  await run.signal("go", "late", { id: "b" })
  expect(await run.update("add", 1)).toBe(2)
  await run
  await clock.advance(60_000)
  expect((await run).outputs).toEqual([["early", [1, "late"], "late"]])
  return { store }
}

test("a replay gives the recorded signals, and is the same", async () => {
  const { store } = await played()
  const recording = await recordingOf(store, "r")
  expect(await replay(recording, gathers("go"))).toMatchObject({ same: true })
  const changed = await replay(recording, gathers("other"))
  expect(changed).toMatchObject({ same: false, status: { before: "completed", after: "waiting" } })
})

test("a fork has the signals that were buffered at its point", async () => {
  const store = memoryStore()
  const begin = node("begin", async (n: number, ctx: Context) => [n, await ctx.waitFor("begin")])
  const end = node("end", async (seen: unknown[], ctx: Context) => [
    ...seen,
    await ctx.waitFor("go"),
    await ctx.waitFor("kept"),
  ])
  const built = workflow("w").chain(begin, end).build()
  const runtime = new Runtime({ store, workflows: [built], clock: manualClock(0) })
  const run = runtime.start(built, 1, { runId: "r" })
  await run
  await runtime.signal("r", "kept", "kept", { id: "k" })
  await runtime.signal("r", "begin", 2)
  const fork = await runtime.fork("r")
  expect(await runtime.state(fork)).toMatchObject({ signals: [{ id: "k", name: "kept" }] })
  expect(await runtime.signal(fork, "kept", "again", { id: "k" })).toBe("taken")
  await runtime.signal(fork, "go", 3)
  expect((await runtime.get(fork)).outputs).toEqual([[1, 2, 3, "kept"]])
  expect((await run.result).waits).toMatchObject([{ name: "go" }])
  await runtime.close()
})
