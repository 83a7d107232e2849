import { expect, test } from "vitest"
import { type Context, memoryStore, node, pastEvents, workflow } from "../index.ts"
import { foldEvents } from "../protocol/fold-event.ts"
import { emptyView } from "../protocol/run-view.ts"

const ask = workflow("ask")
  .start(node("ask", async (n: number, ctx: Context) => `${n}: ${await ctx.ask<string>("Continue?")}`))
  .build()

test("the events of a waiting run are available at once", async () => {
  const store = memoryStore()
  const run = ask.stream(1, { store, runId: "r" })
  await run
  const events = await pastEvents(store, "r")
  expect(events.at(-1)).toMatchObject({ type: "run.waiting", seq: events.length })
  const view = foldEvents(emptyView(), events)
  expect(view).toMatchObject({ runId: "r", status: "waiting", requests: { r1: { status: "open" } } })
  expect(await pastEvents(store, "r", events.length - 1)).toEqual(events.slice(-1))
})

test("an unknown run has no past", async () => {
  await expect(pastEvents(memoryStore(), "nope")).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
})
