/** Durable subscriptions of a runtime: at least once, in order, by one process at a time. */
import { describe, expect, test } from "vitest"
import { type EventHandler, memoryStore, type Store, type StoredEvent } from "../index.ts"
import { settled } from "../testing/index.ts"
import { ask, double, pass, processOn } from "./processes.test-support.ts"

/** A handler that is finished by hand, one event after another. */
function byHand() {
  const waiting: { readonly event: StoredEvent; finish(error?: Error): void }[] = []
  const seen: string[] = []
  const handler: EventHandler = (event, { attempt }) => {
    seen.push(`${event.runId} ${event.type} ${attempt}`)
    return new Promise<void>((resolve, reject) => {
      waiting.push({ event, finish: (error) => (error === undefined ? resolve() : reject(error)) })
    })
  }
  const finish = async (error?: Error) => {
    waiting.shift()?.finish(error)
    await settled()
  }
  return { handler, seen, finish }
}

async function endedRuns(store: Store, ...ids: string[]): Promise<void> {
  const { runtime } = processOn(store)
  for (const runId of ids) await runtime.start(double, 1, { runId })
  await runtime.close()
}

const lagOf = async (store: Store) => (await store.subscriptions.consumers()).map(({ lag }) => lag)

describe("runtime.on", () => {
  test("delivers the events of runs in order, each once, with what they report", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store)
    const seen: unknown[] = []
    await runtime.on(
      ["run.started", "request.opened", "request.closed", "run.ended"],
      { consumer: "c" },
      (event) => {
        seen.push(event)
      },
    )
    const run = runtime.start(ask, 1, { runId: "r" })
    const { requests } = await run
    await runtime.respond("r", requests[0]?.id as string, "yes", { by: "Ada" })
    await run.result
    await settled()
    const common = { runId: "r", workflow: "ask" }
    expect(seen).toMatchObject([
      { ...common, type: "run.started" },
      { ...common, type: "request.opened", request: requests[0]?.id },
      { ...common, type: "request.closed", outcome: "answered", by: "Ada" },
      { ...common, type: "run.ended", status: "completed" },
    ])
    expect(await lagOf(store)).toEqual([0])
    await runtime.close()
  })

  test("delivers only the types that were asked for", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store)
    const seen: string[] = []
    await runtime.on("run.ended", { consumer: "c" }, ({ runId, status }) => {
      seen.push(`${runId} ${status}`)
    })
    await runtime.start(double, 1, { runId: "a" })
    await runtime.start(double, 2, { runId: "b" })
    await settled()
    expect(seen).toEqual(["a completed", "b completed"])
    expect(await lagOf(store)).toEqual([0])
    await runtime.close()
  })

  test("begins now or at the beginning, and continues where it was after a restart", async () => {
    const store = memoryStore()
    await endedRuns(store, "before")
    const seen: string[] = []
    for (const runs of [["first"], ["second"]]) {
      const { runtime } = processOn(store)
      for (const [consumer, from] of [
        ["late", "now"],
        ["early", "beginning"],
      ] as const) {
        await runtime.on("run.ended", { consumer, from }, ({ runId }) => seen.push(`${consumer} ${runId}`))
      }
      await endedRuns(store, ...runs)
      await runtime.start(double, 1)
      await settled()
      await runtime.close()
    }
    const named = seen.filter((one) => /first|second|before/.test(one))
    expect(named.sort()).toEqual(["early before", "early first", "early second", "late first", "late second"])
  })

  test("tries an event again with growing pauses, and holds up those after it", async () => {
    const store = memoryStore()
    const problems: string[] = []
    const { runtime, clock } = processOn(store, {
      onProblem: ({ error, runId }) => problems.push(`${runId}: ${error.message}`),
    })
    const { handler, seen, finish } = byHand()
    await runtime.on("run.ended", { consumer: "c" }, handler)
    await runtime.start(double, 1, { runId: "a" })
    await runtime.start(double, 1, { runId: "b" })
    await settled()
    await finish(new Error("no"))
    await clock.advance(999)
    expect(seen).toEqual(["a run.ended 1"])
    expect(await runtime.consumers()).toMatchObject([
      { consumer: "c", lag: 3, failure: { message: "no", attempts: 1 } },
    ])
    await clock.advance(1)
    await finish(new Error("no"))
    await clock.advance(1_999)
    expect(seen).toHaveLength(2)
    await clock.advance(1)
    await finish()
    expect(seen).toEqual(["a run.ended 1", "a run.ended 2", "a run.ended 3", "b run.ended 1"])
    await finish()
    expect(await runtime.consumers()).toEqual([
      { consumer: "c", position: 4, lag: 0, missed: 0, holder: expect.any(String) },
    ])
    expect(problems[1]).toBe(
      'a: Consumer "c" failed to handle run.ended of run "a", attempt 2: no. It is tried again in 2 s.',
    )
    await runtime.close()
  })

  test("gives an event up after maxAttempts, and counts it", async () => {
    const store = memoryStore()
    const problems: unknown[] = []
    const { runtime, clock } = processOn(store, { onProblem: ({ error }) => problems.push(error) })
    const seen: string[] = []
    await runtime.on("run.ended", { consumer: "c", maxAttempts: 2 }, ({ runId }) => {
      seen.push(runId)
      if (runId === "poison") throw new Error("no")
    })
    await runtime.start(double, 1, { runId: "poison" })
    await runtime.start(double, 1, { runId: "good" })
    await clock.advance(1_000)
    expect(seen).toEqual(["poison", "poison", "good"])
    expect(await runtime.consumers()).toMatchObject([{ lag: 0, missed: 1 }])
    expect(problems.at(-1)).toMatchObject({
      code: "CONSUMER_FAILED",
      message: expect.stringMatching(/given up/),
    })
    await runtime.close()
  })

  test("is served by one process at a time, and by the other when that one dies", async () => {
    const store = memoryStore()
    const first = processOn(store)
    const second = processOn(store)
    const [a, b] = [byHand(), byHand()]
    await first.runtime.on("run.ended", { consumer: "c" }, a.handler)
    await second.runtime.on("run.ended", { consumer: "c" }, b.handler)
    await endedRuns(store, "one", "two")
    await pass(2_000, first.clock, second.clock)
    expect([a.seen, b.seen]).toEqual([["one run.ended 1"], []])
    // The first one's clock stands still from here on: it is dead for the second.
    await pass(30_000, second.clock)
    expect(b.seen).toEqual(["one run.ended 1"])
    await b.finish()
    // What the first one finishes now changes nothing any more.
    await a.finish()
    expect(a.seen).toHaveLength(1)
    await b.finish()
    expect(b.seen).toEqual(["one run.ended 1", "two run.ended 1"])
    expect(await lagOf(store)).toEqual([0])
    await Promise.all([first.runtime.close(), second.runtime.close()])
  })

  test("hands its consumer to another process when it is closed", async () => {
    const store = memoryStore()
    const [first, second] = [processOn(store), processOn(store)]
    const [a, b] = [byHand(), byHand()]
    const subscription = await first.runtime.on("run.ended", { consumer: "c" }, a.handler)
    await second.runtime.on("run.ended", { consumer: "c" }, b.handler)
    await endedRuns(store, "one", "two")
    await pass(1_000, first.clock, second.clock)
    const closed = subscription.close()
    await a.finish()
    await closed
    await pass(1_000, second.clock)
    expect([a.seen, b.seen]).toEqual([["one run.ended 1"], ["two run.ended 1"]])
    await Promise.all([first.runtime.close(), second.runtime.close()])
  })

  test("delivers an event again whose handler was left when the runtime closed; with a grace it is finished", async () => {
    for (const [grace, again] of [
      [0, ["r run.ended 1"]],
      [1_000, []],
    ] as const) {
      const store = memoryStore()
      const first = processOn(store)
      const left = byHand()
      await first.runtime.on("run.ended", { consumer: "c" }, left.handler)
      await first.runtime.start(double, 1, { runId: "r" })
      await settled()
      const closed = first.runtime.close({ grace })
      await settled()
      await left.finish()
      await closed
      const second = processOn(store)
      const next = byHand()
      await second.runtime.on("run.ended", { consumer: "c" }, next.handler)
      await settled()
      expect(next.seen).toEqual(again)
      await second.runtime.close()
    }
  })

  test("gets over a store that does not save its progress for a while", async () => {
    const store = memoryStore()
    const { subscriptions } = store
    let isAway = true
    const advance: typeof subscriptions.advance = (...args) => {
      if (isAway) throw new Error("away")
      return subscriptions.advance(...args)
    }
    const problems: string[] = []
    const { runtime, clock } = processOn(
      { ...store, subscriptions: { ...subscriptions, advance } },
      { onProblem: ({ error }) => problems.push(error.message) },
    )
    const seen: string[] = []
    await runtime.on("run.ended", { consumer: "c" }, ({ runId }) => seen.push(runId))
    await runtime.start(double, 1, { runId: "r" })
    await settled()
    expect(await lagOf(store)).toEqual([2])
    isAway = false
    await clock.advance(1_000)
    expect(seen).toEqual(["r"])
    expect(await lagOf(store)).toEqual([0])
    expect(problems).toContain("away")
    await runtime.close()
  })

  test("delivers 10,000 events with work in proportion to their number", async () => {
    const store = memoryStore()
    let read = 0
    const events: typeof store.subscriptions.events = async (after, limit) => {
      const page = await store.subscriptions.events(after, limit)
      read += page.length
      return page
    }
    const { runtime } = processOn({ ...store, subscriptions: { ...store.subscriptions, events } })
    const lease = (runId: string) => ({ runId, holder: "h", token: 1 })
    const created = { workflow: "w", graph: "g" }
    for (let i = 0; i < 10_000; i++) store.append(lease(`r ${i}`), 0, [], { created })
    const seen: string[] = []
    let isDone = () => {}
    const done = new Promise<void>((resolve) => {
      isDone = resolve
    })
    await runtime.on("run.started", { consumer: "c", from: "beginning" }, ({ runId }) => {
      if (seen.push(runId) === 10_000) isDone()
    })
    await done
    expect(seen).toEqual(Array.from({ length: 10_000 }, (_, i) => `r ${i}`))
    expect(read).toBe(10_000)
    await runtime.close()
  })

  test("is refused for unknown events and options, and for a consumer that is subscribed already", async () => {
    const { runtime } = processOn(memoryStore())
    const bad = (types: unknown, options: unknown, handler: unknown = () => undefined) =>
      expect(runtime.on(types as never, options as never, handler as never)).rejects.toMatchObject({
        code: "OPTION_INVALID",
      })
    await bad("run.finished", { consumer: "c" })
    await bad([], { consumer: "c" })
    await bad("run.ended", "c")
    await bad("run.ended", { consumer: "" })
    await bad("run.ended", { consumer: "c", form: "now" })
    await bad("run.ended", { consumer: "c", from: "then" })
    await bad("run.ended", { consumer: "c", maxAttempts: 0 })
    await bad("run.ended", { consumer: "c" }, "handler")
    await runtime.on("run.ended", { consumer: "c" }, () => undefined)
    await expect(runtime.on("run.ended", { consumer: "c" }, () => undefined)).rejects.toMatchObject({
      code: "CONSUMER_TAKEN",
    })
    await runtime.close()
    await expect(runtime.on("run.ended", { consumer: "d" }, () => undefined)).rejects.toMatchObject({
      code: "RUNTIME_CLOSED",
    })
  })
})

describe("consumers", () => {
  test("are removed with their position", async () => {
    const store = memoryStore()
    const { runtime } = processOn(store)
    const subscription = await runtime.on("run.ended", { consumer: "c" }, () => undefined)
    await subscription.close()
    await runtime.removeConsumer("c")
    expect(await runtime.consumers()).toEqual([])
    await expect(runtime.removeConsumer("c")).rejects.toMatchObject({ code: "CONSUMER_UNKNOWN" })
    await runtime.close()
  })

  test("know how much they missed when events are older than retention.eventMaxAge", async () => {
    const store = memoryStore()
    await store.subscriptions.add("gone", "beginning")
    const { runtime, clock } = processOn(store, { retention: { eventMaxAge: 60_000 } })
    await runtime.start(double, 1)
    await clock.advance(3_600_000 + 60_000)
    expect(await runtime.consumers()).toMatchObject([{ consumer: "gone", lag: 0, missed: 2 }])
    await runtime.close()
  })

  test("that have handled everything leave nothing behind, without a policy for retention", async () => {
    const store = memoryStore()
    const { runtime, clock } = processOn(store)
    await runtime.on("run.ended", { consumer: "c" }, () => undefined)
    await runtime.start(double, 1)
    await clock.advance(3_600_000 + 1_000)
    expect(store.subscriptions.events(0, 10)).toEqual([])
    expect(await runtime.consumers()).toMatchObject([{ lag: 0, missed: 0 }])
    await runtime.close()
  })
})
