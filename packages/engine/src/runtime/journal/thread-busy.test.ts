/** What becomes of a run whose thread has another run in flight. */
import { describe, expect, test } from "vitest"
import { memoryStore, Runtime, type Store, workflow } from "../../index.ts"
import { controlled, manualClock, settled } from "../../testing/index.ts"
import { asking, chat, messages } from "./thread.test-support.ts"

function busyThread(store: Store) {
  const work = controlled<string, string>("work")
  const flow = workflow("work", { state: [messages] })
    .start(work)
    .build()
  const clock = manualClock()
  const runtime = new Runtime({ store, workflows: [flow, asking, chat], clock })
  return { work, flow, clock, runtime }
}

describe("a run whose thread has another run in flight", () => {
  test("is refused by default, and by name", async () => {
    const { work, flow, runtime } = busyThread(memoryStore())
    const first = runtime.start(flow, "one", { thread: "t" })
    await work.started()
    for (const onBusy of [undefined, "reject"] as const) {
      await expect(runtime.start(flow, "two", { thread: "t", onBusy })).rejects.toMatchObject({
        code: "THREAD_BUSY",
      })
    }
    work.finish("done")
    await first
    await runtime.close()
  })

  test("queues, and starts in order with what the thread has by then", async () => {
    const store = memoryStore()
    const { clock, runtime } = busyThread(store)
    const first = runtime.start(asking, "one", { thread: "t", runId: "first" })
    await first
    const [second, third] = ["two", "three"].map((text) =>
      runtime.start(chat, text, { thread: "t", onBusy: "queue" }),
    )
    await clock.advance(2_000)
    expect(await runtime.runs({ thread: "t" })).toHaveLength(1)
    await first.respond("r1", "yes")
    await first
    await clock.advance(2_000)
    expect((await second)?.outputs).toEqual([["one"]])
    expect((await third)?.outputs).toEqual([["one", "two"]])
    await runtime.close()
  })

  test("interrupts the other one, wherever it is", async () => {
    const store = memoryStore()
    const { work, flow, clock, runtime } = busyThread(store)
    const first = runtime.start(flow, "one", { thread: "t" })
    await work.started()
    const second = runtime.start(chat, "two", { thread: "t", onBusy: "interrupt" })
    await clock.advance(500)
    expect((await second).status).toBe("completed")
    expect(await first.result).toMatchObject({
      status: "cancelled",
      error: { message: 'interrupted by another message of thread "t"' },
    })
    // One that waits in the store, and that no process holds.
    await runtime.start(asking, "three", { thread: "t", runId: "left" })
    await runtime.close()
    const next = busyThread(store)
    expect((await next.runtime.start(chat, "four", { thread: "t", onBusy: "interrupt" })).status).toBe(
      "completed",
    )
    expect(await store.run("left")).toMatchObject({ status: "cancelled" })
    await next.runtime.close()
  })

  test("is joined, not waited for, when it is the same run", async () => {
    const store = memoryStore()
    const { work, flow, runtime } = busyThread(store)
    const options = { thread: "t", key: "message 1", onBusy: "queue" } as const
    const first = runtime.start(flow, "one", options)
    await work.started()
    const again = runtime.start(flow, "one", options)
    await settled()
    work.finish("done")
    expect((await first).status).toBe("completed")
    expect((await again).runId).toBe(first.id)
    await runtime.close()
  })

  test("says what is wrong with the option", async () => {
    const { flow, runtime } = busyThread(memoryStore())
    await expect(runtime.start(flow, "one", { thread: "t", onBusy: "wait" as never })).rejects.toThrow(
      /onBusy must be/,
    )
    await expect(runtime.start(flow, "one", { onBusy: "queue" })).rejects.toThrow(/onBusy needs a thread/)
    await runtime.close()
  })

  test("waits no longer once its runtime is closed", async () => {
    const { work, flow, clock, runtime } = busyThread(memoryStore())
    const first = runtime.start(flow, "one", { thread: "t" }).result.catch((error) => error)
    await work.started()
    const second = runtime.start(flow, "two", { thread: "t", onBusy: "queue" }).result
    const refused = expect(second).rejects.toMatchObject({ code: "RUNTIME_CLOSED" })
    await settled()
    await runtime.close()
    await clock.advance(1_000)
    await refused
    expect(await first).toMatchObject({ code: "RUNTIME_CLOSED" })
  })
})
