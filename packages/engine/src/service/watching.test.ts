/** `runtime.get(id)` shows what the process that executes the run shows: in that process, and in any other. */
import { describe, expect, test } from "vitest"
import { agent } from "../agents/index.ts"
import {
  type Context,
  memoryStore,
  node,
  type Run,
  type RunEvent,
  Runtime,
  type Store,
  workflow,
} from "../index.ts"
import { scriptedModel } from "../models/index.ts"
import { controlled, settled } from "../testing/index.ts"
import { ask, pass, processOn } from "./processes.test-support.ts"

/** Collects in the background. */
function watch(events: AsyncIterable<RunEvent>) {
  const seen: RunEvent[] = []
  const ended = (async () => {
    for await (const event of events) seen.push(event)
  })()
  ended.catch(() => undefined)
  return { seen, ended }
}
const custom = (events: readonly RunEvent[]) =>
  events.flatMap((event) => (event.type === "custom" ? [event.name] : []))
const numbers = (events: readonly RunEvent[]) =>
  events.filter(({ type }) => type !== "custom" && type !== "log").map(({ seq }) => seq)
const upTo = (n: number) => Array.from({ length: n }, (_, i) => i + 1)

/** A handler that the test drives, on two processes that share a store. */
function held() {
  const hold = controlled<number, number>("hold")
  const flow = workflow("flow").start(hold).build()
  const store = memoryStore()
  const holder = processOn(store, { workflows: [flow] })
  const other = processOn(store, { workflows: [flow] })
  return { hold, flow, store, holder, other, ofHolder: holder.runtime, ofOther: other.runtime }
}

describe.each(["in the process that executes it", "in another process"])("watching a run %s", (where) => {
  const isOther = where === "in another process"

  test("shows live events at once, in order with the journaled ones", async () => {
    const { hold, flow, ofHolder, ofOther } = held()
    const { id } = ofHolder.start(flow, 1, { runId: "r" })
    const { ctx } = await hold.started()
    const watcher = watch((isOther ? ofOther : ofHolder).get(id).events({ after: 0 }))
    await settled()
    expect(numbers(watcher.seen)).toEqual(upTo(3))
    ctx.emit("one")
    ctx.log("info", "two")
    await settled()
    expect(watcher.seen.map(({ type }) => type).slice(-3)).toEqual(["task.started", "custom", "log"])
    hold.finish(5)
    await watcher.ended
    expect(watcher.seen.at(-1)?.type).toBe("run.finished")
    expect(numbers(watcher.seen)).toEqual(upTo(numbers(watcher.seen).length))
  })

  test("shows live events of the moment before somebody watched to those who want every event", async () => {
    const { hold, flow, ofHolder, ofOther } = held()
    const { id } = ofHolder.start(flow, 1)
    const { ctx } = await hold.started()
    ctx.emit("early")
    const runtime = isOther ? ofOther : ofHolder
    const [all, fromNow] = [watch(runtime.get(id).events({ after: 0 })), watch(runtime.get(id).events())]
    await settled()
    ctx.emit("late")
    hold.finish(1)
    await Promise.all([all.ended, fromNow.ended])
    expect(custom(all.seen)).toEqual(["early", "late"])
    expect(all.seen[3]).toMatchObject({ type: "custom", seq: 3 })
    expect(custom(fromNow.seen)).toEqual(["late"])
    expect(fromNow.seen.at(-1)?.type).toBe("run.finished")
  })

  test("shows what a model says, though nobody watched when the call began", async () => {
    const store = memoryStore()
    const clerk = agent({
      name: "clerk",
      instructions: "Help.",
      model: scriptedModel(["Hello, Ada, how are you?"]),
    })
    const asked = controlled<string, string>("asked")
    const flow = workflow("flow").chain(clerk.asNode(), asked).build()
    const [holder, other] = [0, 1].map(() => processOn(store, { workflows: [flow] }).runtime) as [
      Runtime,
      Runtime,
    ]
    const { id } = holder.start(flow, "Hi")
    await asked.started()
    const watcher = watch((isOther ? other : holder).get(id).events({ after: 0 }))
    await settled()
    asked.finish("done")
    await watcher.ended
    const said = watcher.seen.map((event) => (event.type === "model.delta" ? event.text : "")).join("")
    expect(said).toBe("Hello, Ada, how are you?")
  })

  test("many watchers see the same; one that leaves does not disturb the others", async () => {
    const { hold, flow, ofHolder, ofOther } = held()
    const { id } = ofHolder.start(flow, 1)
    const { ctx } = await hold.started()
    const runtime = isOther ? ofOther : ofHolder
    const watchers = upTo(20).map(() => watch(runtime.get(id).events({ after: 0 })))
    for await (const event of runtime.get(id).events({ after: 0 })) if (event.type === "task.started") break
    await settled()
    for (let i = 0; i < 10; i++) ctx.emit(`${i}`)
    hold.finish(1)
    await Promise.all(watchers.map(({ ended }) => ended))
    for (const { seen } of watchers) expect(seen).toEqual(watchers[0]?.seen)
    expect(custom(watchers[0]?.seen ?? [])).toEqual(upTo(10).map((n) => `${n - 1}`))
  })

  test("a watcher that comes after the end gets every journaled event, and ends", async () => {
    const { hold, flow, ofHolder, ofOther } = held()
    const run: Run = ofHolder.start(flow, 1)
    await hold.started()
    hold.finish(1)
    await run
    const watcher = watch((isOther ? ofOther : ofHolder).get(run.id).events({ after: 0 }))
    await watcher.ended
    expect(numbers(watcher.seen)).toEqual(upTo(7))
  })

  test("rejoining at a number repeats nothing and leaves nothing out", async () => {
    const { hold, flow, ofHolder, ofOther } = held()
    const { id } = ofHolder.start(flow, 1)
    const { ctx } = await hold.started()
    ctx.emit("before")
    const runtime = isOther ? ofOther : ofHolder
    const watchers = upTo(9).map((after) => watch(runtime.get(id).events({ after })))
    await settled()
    ctx.emit("after")
    hold.finish(1)
    for (const [i, { seen, ended }] of watchers.entries()) {
      await ended
      expect(numbers(seen)).toEqual(upTo(7).filter((seq) => seq > i + 1))
    }
    expect(custom(watchers[2]?.seen ?? [])).toEqual(["after"])
    expect(custom(watchers[3]?.seen ?? [])).toEqual([])
  })
})

test("a watcher that does not read does not stop the run, and finds a gap with the number of what it missed", async () => {
  const { hold, flow, ofHolder, ofOther } = held()
  const run = ofHolder.start(flow, 1)
  const { ctx } = await hold.started()
  const events = ofOther.get(run.id).events({ after: 0 })
  await events.next()
  for (let i = 0; i < 10_500; i++) ctx.emit(`${i}`)
  hold.finish(1)
  expect((await run).status).toBe("completed")
  const seen: RunEvent[] = []
  for await (const event of events) seen.push(event)
  const gap = seen.findIndex(({ type }) => type === "live.gap")
  expect(custom(seen)).toEqual(upTo(10_000).map((n) => `${n - 1}`))
  expect(seen[gap]).toMatchObject({ type: "live.gap", lost: 500, seq: 3 })
  expect(seen[gap + 1]?.type).toBe("task.finished")
})

test.each([
  ["in another process", "get", 0],
  ["in the process that executes it", "run", 0],
  ["in another process, and rejoins", "get", 2],
  ["in the process that executes it, and rejoins", "run", 2],
] as const)("a watcher that comes late %s finds a gap where live events are gone", async (_, how, after) => {
  const { hold, flow, ofHolder, ofOther } = held()
  const run = ofHolder.start(flow, 1)
  const { ctx } = await hold.started()
  for (let i = 0; i < 1_000; i++) ctx.emit(`${i}`)
  const { seen, ended } = watch((how === "run" ? run : ofOther.get(run.id)).events({ after }))
  await settled()
  hold.finish(1)
  await ended
  const gaps = seen.filter((event) => event.type === "live.gap")
  const shown = custom(seen)
  expect(shown.length).toBeLessThan(1_000)
  expect(shown.at(-1)).toBe("999")
  expect(gaps).toEqual([expect.objectContaining({ seq: Math.max(1, after) })])
  // Whoever rejoins has seen some of them.
  expect(gaps[0]?.lost).toBe(after === 0 ? 1_000 - shown.length : undefined)
  expect(seen.findIndex(({ type }) => type === "live.gap")).toBeLessThan(
    seen.findIndex(({ type }) => type === "custom"),
  )
})

/** A run that waits in a process which is closed, so that another one continues it; and somebody who watches all along. */
async function handedOver(next: (answer: string, ctx: Context) => Promise<string> | string) {
  const store = memoryStore()
  const asks = node("asks", async (_: number, ctx: Context) => next(await ctx.ask<string>("?"), ctx))
  const talks = workflow("talks").start(asks).build()
  const [first, second] = [processOn(store, { workflows: [talks] }), processOn(store, { workflows: [talks] })]
  const watching = processOn(store, { workflows: [] })
  const run = first.runtime.start(talks, 1)
  await run
  const watcher = watch(watching.runtime.get(run.id).events({ after: 0 }))
  await settled()
  await first.runtime.close()
  await second.runtime.respond(run.id, "r1", "yes")
  return { ...watcher, look: () => pass(2_000, watching.clock) }
}

test("a watcher follows the run from a holder that let go of it to the next one", async () => {
  let finish: (value: string) => void = () => undefined
  const { seen, ended, look } = await handedOver((answer, ctx) => {
    for (let i = 0; i < 100; i++) ctx.emit(`${answer} ${i}`)
    return new Promise<string>((resolve) => {
      finish = resolve
    })
  })
  await look()
  finish("done")
  await ended
  expect(custom(seen)).toEqual(upTo(100).map((n) => `yes ${n - 1}`))
  expect(seen.some(({ type }) => type === "live.gap")).toBe(false)
  expect(numbers(seen)).toEqual(upTo(numbers(seen).length))
})

test("what the next holder said long before the watcher found it is a gap with its number", async () => {
  let finish: (value: string) => void = () => undefined
  const { seen, ended, look } = await handedOver((answer, ctx) => {
    for (let i = 0; i < 1_000; i++) ctx.emit(`${answer} ${i}`)
    return new Promise<string>((resolve) => {
      finish = resolve
    })
  })
  await look()
  finish("done")
  await ended
  const gaps = seen.flatMap((event) => (event.type === "live.gap" ? [event.lost ?? 0] : []))
  expect(gaps).toHaveLength(1)
  expect(custom(seen).length + (gaps[0] ?? 0)).toBe(1_000)
  expect(custom(seen).at(-1)).toBe("yes 999")
})

test("a run that another process ended between two looks is shown with a gap of unknown size", async () => {
  const { seen, ended, look } = await handedOver((answer, ctx) => {
    ctx.emit("unseen")
    return answer
  })
  await look()
  await ended
  const gap = seen.findIndex(({ type }) => type === "live.gap")
  expect(seen[gap]).not.toHaveProperty("lost")
  expect(seen[gap - 1]?.type).toBe("run.waiting")
  expect(seen.at(-1)?.type).toBe("run.finished")
})

test("a holder that cannot be reached at once is tried again, and what it sent meanwhile is shown", async () => {
  const { hold, flow, store, ofHolder } = held()
  const { live } = store
  let attempts = 0
  const unreliable: Store = {
    ...store,
    live: live && {
      serve: live.serve,
      subscribe(...given) {
        if (++attempts > 2) return live.subscribe(...given)
        given[2]({ type: "closed", reason: "lost" })
        return { leave: () => undefined }
      },
    },
  }
  const { runtime, clock } = processOn(unreliable, { workflows: [] })
  const { id } = ofHolder.start(flow, 1)
  const { ctx } = await hold.started()
  ctx.emit("one")
  const watcher = watch(runtime.get(id).events({ after: 0 }))
  await pass(2_000, clock)
  ctx.emit("two")
  await settled()
  expect(attempts).toBe(3)
  expect(custom(watcher.seen)).toEqual(["one", "two"])
  expect(watcher.seen.some(({ type }) => type === "live.gap")).toBe(false)
  hold.finish(1)
  await watcher.ended
})

test("a store without a channel shows journaled events only, and no gaps", async () => {
  const { hold, flow, store, ofHolder } = held()
  const { runtime, clock } = processOn({ ...store, live: undefined }, { workflows: [] })
  const { id } = ofHolder.start(flow, 1)
  const { ctx } = await hold.started()
  const watcher = watch(runtime.get(id).events({ after: 0 }))
  await settled()
  ctx.emit("unseen")
  hold.finish(1)
  await pass(1_000, clock)
  await watcher.ended
  expect(numbers(watcher.seen)).toEqual(upTo(7))
  expect(watcher.seen).toHaveLength(7)
})

test("a run that waits is unloaded though somebody follows it", async () => {
  const store = memoryStore()
  const { runtime, clock } = processOn(store, { evictAfter: 1_000 })
  const run = runtime.start(ask, 1)
  await run
  const watcher = watch(runtime.get(run.id).events({ after: 0 }))
  await pass(5_000, clock)
  expect((await store.run(run.id))?.holder).toBeUndefined()
  const answered = runtime.respond(run.id, "r1", "yes")
  await pass(1_000, clock)
  await answered
  await pass(1_000, clock)
  await watcher.ended
  expect(watcher.seen.at(-1)?.type).toBe("run.finished")
})

test("an unknown run is reported to its watcher", async () => {
  const watcher = watch(
    new Runtime({ store: memoryStore(), workflows: [] }).get("nobody").events({ after: 0 }),
  )
  await expect(watcher.ended).rejects.toMatchObject({ code: "RUN_UNKNOWN" })
})
