import { expect, it } from "vitest"
import { append, channel, node, type Run, workflow } from "../index.ts"
import { controlled } from "../testing/index.ts"
import type { RunEvent } from "./events.ts"
import { emptyView, foldEvents, openRequests, type RunView, taskOf, workflowAt } from "./index.ts"

async function viewOf(run: Run): Promise<RunView> {
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  return foldEvents(emptyView(), events)
}

it("a channel's first value is in the view, under what was written", async () => {
  const notes = channel("notes", append(["first"]))
  const unwritten = channel("unwritten", append(["here"]))
  const writes = node("writes", (n: number, ctx) => {
    ctx.state.write(notes, ["second"])
    return n
  })
  const run = workflow("w", { state: [notes, unwritten] })
    .start(writes)
    .build()
    .stream(1)
  const view = await viewOf(run)
  expect(view.state).toEqual((await run).state)
  expect(view.state).toEqual({ notes: ["first", "second"], unwritten: ["here"] })
})

it("two workflows that a task calls at the same time are kept apart", async () => {
  const inner = workflow("inner")
    .start(node("x", (n: number) => n * 10))
    .build()
  const calls = node("calls", async (n: number, ctx) => {
    const [a, b] = await Promise.all([ctx.call(inner, n), ctx.call(inner, n + 1)])
    return [...a, ...b]
  })
  const view = await viewOf(workflow("w").start(calls).build().stream(1))
  expect(taskOf(view, 1)?.calls.map(({ path, outputs }) => [path, outputs])).toEqual([
    [["calls#1"], [10]],
    [["calls#1.2"], [20]],
  ])
  expect(workflowAt(view, ["calls#1.2"])?.status).toBe("completed")
})

it("a workflow that its caller gave up on is over, and its question is withdrawn", async () => {
  const last = controlled<number, number>("last")
  const asks = workflow("asks")
    .start(node("ask", (_: number, ctx) => ctx.ask("?")))
    .build()
  const givesUp = node("givesUp", async (n: number, ctx) => {
    void ctx.call(asks, n)
    await ctx.step("look", () => n)
    return n
  })
  const run = workflow("w").chain(givesUp, last).build().stream(1)
  const events: RunEvent[] = []
  for await (const event of run) {
    events.push(event)
    if (event.type === "task.started" && event.node === "last") last.finish(1)
  }
  const atLast = events.findIndex((event) => event.type === "task.started" && event.node === "last")
  const view = foldEvents(emptyView(), events.slice(0, atLast + 1))
  expect(workflowAt(view, ["givesUp#1"])?.status).toBe("cancelled")
  expect(openRequests(view)).toEqual([])
  expect(view.status).toBe("running")
})
