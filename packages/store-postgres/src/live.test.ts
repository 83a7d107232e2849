/** The live channel and the hints of a PostgreSQL store: between stores on one server, as between processes. */
import type { LiveListener, LiveQuery, LiveSignal, RunEvent } from "@superstep/engine"
import { expect, test } from "vitest"
import type { PostgresStore } from "./postgres-store.ts"
import { breakingProxy } from "./proxy.test-support.ts"
import { start } from "./records.test-support.ts"
import { channelOf } from "./signals.ts"
import { freshStore, pool, url } from "./stores.test-support.ts"

const live = (name: string, data = ""): RunEvent => ({
  runId: "r",
  seq: 1,
  at: 0,
  path: [],
  type: "custom",
  task: 1,
  node: "n",
  name,
  data,
})

/** A holder whose run the test plays. */
function holding(store: PostgresStore, holder = "holder") {
  const listeners = new Set<LiveListener>()
  const queries: LiveQuery[] = []
  const service = store.live.serve(holder, (query, listener) => {
    queries.push(query)
    listeners.add(listener)
    listener({ type: "opened", missed: 0 })
    return { leave: () => listeners.delete(listener) }
  })
  return {
    queries,
    listeners,
    service,
    send(signal: LiveSignal) {
      for (const listener of listeners) listener(signal)
    },
  }
}

function watching(store: PostgresStore, holder = "holder", query: LiveQuery = { runId: "r" }) {
  const signals: LiveSignal[] = []
  let changed: () => void = () => undefined
  const subscription = store.live.subscribe(holder, query, (signal) => {
    signals.push(signal)
    changed()
  })
  return {
    signals,
    subscription,
    async until(isIt: (signals: readonly LiveSignal[]) => boolean): Promise<void> {
      while (!isIt(signals)) {
        await new Promise<void>((resolve) => {
          changed = resolve
        })
      }
    },
  }
}

/** Watches again until the holder answers: on a busy machine it may listen after a subscription has given up. */
async function opened(store: PostgresStore, query?: LiveQuery): Promise<ReturnType<typeof watching>> {
  for (;;) {
    const watcher = watching(store, "holder", query)
    await watcher.until((signals) => signals.length > 0)
    if (watcher.signals[0]?.type === "opened") return watcher
  }
}

const has = (type: LiveSignal["type"]) => (signals: readonly LiveSignal[]) =>
  signals.some((signal) => signal.type === type)

/** Two stores on one schema, as two processes have them. */
function pair() {
  const first = freshStore()
  return [first, freshStore({ schema: first.schema })] as const
}

test("signals reach a watcher elsewhere, in order, also those that are too large for a notification", async () => {
  const [one, other] = pair()
  const holder = holding(one)
  const watcher = await opened(other, { runId: "r", from: 7 })
  expect(holder.queries).toContainEqual({ runId: "r", from: 7 })
  const names = Array.from({ length: 200 }, (_, i) => `event ${i}`)
  for (const [i, name] of names.entries()) {
    holder.send({ type: "event", event: live(name, i % 50 === 0 ? "é".repeat(20_000) : "small") })
  }
  holder.send({ type: "reached", seq: 9 })
  await watcher.until(has("reached"))
  holder.send({ type: "closed", reason: "over" })
  await watcher.until(has("closed"))
  const events = watcher.signals.flatMap((signal) => (signal.type === "event" ? [signal.event] : []))
  expect(events.map((event) => (event as { name?: string }).name)).toEqual(names)
  expect((events[50] as { data?: string }).data).toHaveLength(20_000)
  expect(watcher.signals.at(-1)).toEqual({ type: "closed", reason: "over" })
})

test('a watcher that leaves is released, and one of an unknown holder gets "lost"', async () => {
  const [one, other] = pair()
  const holder = holding(one)
  const watcher = await opened(other)
  watcher.subscription.leave()
  while (holder.listeners.size > 0) await new Promise((resolve) => setImmediate(resolve))
  const lost = watching(other, "nobody")
  await lost.until(has("closed"))
  expect(lost.signals).toEqual([{ type: "closed", reason: "lost" }])
})

test("a watcher that reads too slowly is sent what fits, and how much it lost", async () => {
  const [one, other] = pair()
  const holder = holding(one)
  const watcher = await opened(other)
  for (let i = 0; i < 30; i++) holder.send({ type: "event", event: live(`${i}`, "x".repeat(100_000)) })
  holder.send({ type: "reached", seq: 2 })
  await watcher.until(has("reached"))
  const events = watcher.signals.flatMap((signal) => (signal.type === "event" ? [signal.event] : []))
  const gap = events.at(-1) as { type: string; lost?: number }
  expect(gap.type).toBe("live.gap")
  expect(events.length - 1 + (gap.lost ?? 0)).toBe(30)
})

test('a watcher whose listening connection breaks gets "lost", and can subscribe again', async () => {
  const proxy = await breakingProxy(url)
  const one = freshStore()
  const other = freshStore({ schema: one.schema, listenUrl: proxy.url })
  holding(one)
  const watcher = await opened(other)
  proxy.shut()
  await watcher.until(has("closed"))
  proxy.open()
  await opened(other)
})

test("mail is a hint to the holder of its run, and a run that is free to everybody", async () => {
  const [one, other] = pair()
  const lease = await start(one, "r")
  const hints: string[] = []
  let hinted: () => void = () => undefined
  for (const name of ["holder", "somebody"]) {
    one.live.hints(name, () => {
      hints.push(name)
      hinted()
    })
  }
  const next = () =>
    new Promise<void>((resolve) => {
      hinted = resolve
    })
  const arrived = next()
  // Until it listens.
  while (hints.length === 0) {
    await other.post({ id: `mail ${Math.random()}`, runId: "r", at: 1, command: { type: "cancel" } })
    await Promise.race([arrived, new Promise((resolve) => setTimeout(resolve, 100))])
  }
  expect(new Set(hints)).toEqual(new Set(["holder"]))
  await other.release(lease, 0)
  while (!hints.includes("somebody")) await next()
})

test("a notification that is no message of a store is ignored", async () => {
  const [one, other] = pair()
  const holder = holding(one)
  const watcher = await opened(other)
  const channel = channelOf(one.schema, "holder holder")
  for (const payload of [
    "",
    "{",
    "null",
    "[]",
    '{"from":1}',
    '{"from":"x","n":1,"messages":[null,1,{"id":1}]}',
  ]) {
    await pool.query("SELECT pg_notify($1, $2)", [channel, payload])
  }
  holder.send({ type: "reached", seq: 3 })
  await watcher.until(has("reached"))
})

test("a message reaches who listens at its address elsewhere, until they stop; hints and watchers have other addresses", async () => {
  const [first, second] = pair()
  const received: unknown[] = []
  const sendUntil = async (isDone: () => boolean, ...addresses: string[]) => {
    while (!isDone()) {
      for (const address of addresses) second.live.send(address, { to: address })
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const stop = first.live.listen("here", (message) => received.push(message))
  // Listening begins at some time: what was sent before is lost.
  await sendUntil(() => received.length > 0, "holder here", "hints", "here")
  expect(received[0]).toEqual({ to: "here" })
  expect(received.every((message) => JSON.stringify(message) === '{"to":"here"}')).toBe(true)

  stop.close()
  const others: unknown[] = []
  first.live.listen("there", (message) => others.push(message))
  const before = received.length
  await sendUntil(() => others.length > 0, "here", "there")
  expect(received.length).toBe(before)
})
