/** Store suite: events about runs, and their consumers. */
import assert from "node:assert/strict"
import type { Store, StoredEvent } from "../../runtime/index.ts"
import {
  atOnce,
  end,
  fieldsOf,
  holder,
  leaseOf,
  plain,
  records,
  rejects,
  request,
  START,
  type StoreCases,
  start,
  startAndEnd,
  take,
  write,
} from "./steps.ts"

/** More than anything here writes. */
const ALL = 1_000

async function eventsOf(store: Store, after = 0): Promise<readonly StoredEvent[]> {
  return await store.subscriptions.events(after, ALL)
}

async function lastPosition(store: Store): Promise<number> {
  return (await eventsOf(store)).at(-1)?.position ?? 0
}

/** A consumer that a known holder serves. */
async function serve(store: Store, consumer: string, by: string) {
  await store.beat(holder(by))
  const claimed = await store.subscriptions.claim(consumer, by)
  assert.ok(claimed !== undefined, `${by} can claim consumer ${consumer}`)
  return claimed
}

export const subscriptionCases: StoreCases = {
  async "has an event for each change of a run that others wait for, and none for others"(store) {
    const lease = await start(store, "r", { workflow: "w", at: START })
    await write(store, lease, undefined, START + 1)
    await write(store, lease, { opened: [request("q", { to: "Ada" }), request("other")] }, START + 2)
    await write(store, lease, { status: "waiting", idle: {} }, START + 3)
    const closed = { id: "q", outcome: "answered", at: START + 4, by: "Ada" } as const
    await write(store, lease, { closed: [closed], status: "running", idle: false }, START + 5)
    await write(store, lease, { intent: true }, START + 6)
    const error = { code: "TIMEOUT", message: "secret", node: "n" }
    await write(store, lease, { status: "failed", error }, START + 7)
    const common = { runId: "r", workflow: "w" }
    const events = plain(await eventsOf(store)) as StoredEvent[]
    assert.deepEqual(
      events.map(({ position, ...event }) => event),
      [
        { ...common, type: "run.started", at: START },
        { ...common, type: "request.opened", at: START + 2, request: "q", to: "Ada" },
        { ...common, type: "request.opened", at: START + 2, request: "other" },
        { ...common, type: "request.closed", at: START + 4, request: "q", outcome: "answered", by: "Ada" },
        { ...common, type: "run.ended", at: START + 7, status: "failed", code: "TIMEOUT", node: "n" },
      ],
    )
    const positions = events.map(({ position }) => position)
    assert.deepEqual(
      positions,
      [...new Set(positions)].sort((a, b) => a - b),
    )
  },

  async "has the events of a run that is queued, claimed and parked"(store) {
    await store.beat(holder("holder"))
    const created = { workflow: "w", graph: "graph", queued: true } as const
    await store.append(leaseOf("r"), 0, records(1, 1, "value", START), { created, idle: {} })
    const query = { holder: "holder", workflows: ["w"], now: () => START + 5, limit: 5 }
    await store.queue.claimNext(query)
    await store.queue.claimNext(query)
    const again = await take(store, "r", "judge")
    await store.quarantine(again, START + 9)
    await store.quarantine(again, START + 10)
    assert.deepEqual(fieldsOf(await eventsOf(store), "type", "at", "runId", "workflow"), [
      ["run.queued", START, "r", "w"],
      ["run.started", START + 5, "r", "w"],
      ["run.quarantined", START + 9, "r", "w"],
    ])
  },

  async "has no event that a run started when it is claimed only to be ended"(store) {
    const created = { workflow: "w", graph: "graph", queued: true } as const
    await store.append(leaseOf("r"), 0, records(1, 1), { created, idle: {} })
    await end(store, await take(store, "r", "ender"), undefined, "cancelled")
    assert.deepEqual(fieldsOf(await eventsOf(store), "type"), ["run.queued", "run.ended"])
  },

  async "has no event of an append that is rejected"(store) {
    const lease = await start(store, "r", { key: "k" })
    const before = fieldsOf(await eventsOf(store), "type")
    await rejects(() => start(store, "r"), "RUN_EXISTS")
    await rejects(() => start(store, "other", { key: "k" }), "KEY_TAKEN")
    await rejects(() => store.append(leaseOf("r", 7), 1, records(2, 1), { status: "completed" }), "RUN_TAKEN")
    await rejects(() => store.append(lease, 3, records(4, 1), { status: "completed" }), "JOURNAL_CONFLICT")
    assert.deepEqual(fieldsOf(await eventsOf(store), "type"), before)
  },

  async "reads events in pages, in order"(store) {
    for (let i = 0; i < 7; i++) await start(store, `r ${i}`)
    const seen: StoredEvent[] = []
    for (;;) {
      const page = await store.subscriptions.events(seen.at(-1)?.position ?? 0, 3)
      seen.push(...page)
      if (page.length < 3) break
    }
    assert.deepEqual(
      fieldsOf(seen, "runId"),
      [0, 1, 2, 3, 4, 5, 6].map((i) => `r ${i}`),
    )
    assert.deepEqual(await eventsOf(store, seen.at(-1)?.position), [])
  },

  async "loses no event to a reader that follows many writers at once, and keeps each run's in order"(store) {
    const runs = Array.from({ length: 30 }, (_, i) => `r ${i}`)
    const seen: StoredEvent[] = []
    let isDone = false
    const written = Promise.all(
      runs.map(async (runId) => {
        const lease = await start(store, runId)
        await write(store, lease, { opened: [request("q")] })
        await end(store, lease)
      }),
    ).finally(() => {
      isDone = true
    })
    for (let isLast = false; !isLast; ) {
      isLast = isDone
      seen.push(...(await store.subscriptions.events(seen.at(-1)?.position ?? 0, 10)))
      if (isLast) seen.push(...(await eventsOf(store, seen.at(-1)?.position)))
      await new Promise((resume) => setImmediate(resume))
    }
    await written
    for (const runId of runs) {
      const own = seen.filter((event) => event.runId === runId)
      assert.deepEqual(fieldsOf(own, "type"), ["run.started", "request.opened", "run.ended"])
    }
    assert.equal(seen.length, 3 * runs.length)
  },

  async "begins a consumer now or at the oldest event, and only once"(store) {
    await start(store, "before")
    const before = await lastPosition(store)
    await store.subscriptions.add("late", "now")
    await store.subscriptions.add("early", "beginning")
    await start(store, "after")
    await store.subscriptions.add("late", "beginning")
    await store.subscriptions.add("early", "now")
    assert.deepEqual(plain(await store.subscriptions.consumers()), [
      { consumer: "early", position: 0, lag: 2, missed: 0 },
      { consumer: "late", position: before, lag: 1, missed: 0 },
    ])
    assert.deepEqual(fieldsOf(await eventsOf(store, before), "runId"), ["after"])
  },

  async "gives a consumer to one holder at a time, with its progress"(store) {
    await start(store, "r")
    const position = await lastPosition(store)
    await store.subscriptions.add("c", "beginning")
    const { lease, position: at } = await serve(store, "c", "first")
    assert.equal(at, 0)
    await store.beat(holder("second"))
    assert.equal(await store.subscriptions.claim("c", "second"), undefined)
    assert.equal(await store.subscriptions.claim("unknown", "second"), undefined)
    const failure = { message: "The \u0000 handler failed.", at: START, attempts: 2 }
    assert.equal(await store.subscriptions.advance(lease, { position, failure }), true)
    assert.deepEqual(plain(await store.subscriptions.consumers()), [
      { consumer: "c", position, failure, lag: 0, missed: 0, holder: "first" },
    ])
    await store.subscriptions.release(lease)
    const next = await serve(store, "c", "second")
    assert.deepEqual(plain(next), { lease: next.lease, position, failure })
    await end(store, leaseOf("r"))
    const last = await lastPosition(store)
    assert.equal(await store.subscriptions.advance(next.lease, { position: last }, 1), true)
    assert.deepEqual(plain(await store.subscriptions.consumers()), [
      { consumer: "c", position: last, lag: 0, missed: 1, holder: "second" },
    ])
  },

  async "gives the consumer of a dismissed holder to another, and saves nothing more for the first"(store) {
    await store.subscriptions.add("c", "beginning")
    const { lease } = await serve(store, "c", "first")
    await store.dismiss("first", { reason: "died" })
    assert.deepEqual(fieldsOf(await store.subscriptions.consumers(), "holder"), [undefined])
    const next = await serve(store, "c", "second")
    await store.beat(holder("first"))
    assert.equal(await store.subscriptions.claim("c", "first"), undefined)
    assert.equal(await store.subscriptions.advance(lease, { position: 99 }), false)
    await store.subscriptions.release(lease)
    assert.equal(await store.subscriptions.advance(next.lease, { position: 1 }), true)
    assert.deepEqual(fieldsOf(await store.subscriptions.consumers(), "position", "holder"), [[1, "second"]])
  },

  async "lets one of many claims at once have a consumer"(store) {
    await store.subscriptions.add("c", "now")
    const names = ["a", "b", "c", "d"]
    for (const name of names) await store.beat(holder(name))
    const claims = await Promise.all(names.map(async (name) => store.subscriptions.claim("c", name)))
    assert.equal(claims.filter((claimed) => claimed !== undefined).length, 1)
  },

  async "removes a consumer, whose lease is no longer valid"(store) {
    await store.subscriptions.add("c", "beginning")
    const { lease } = await serve(store, "c", "first")
    assert.equal(await store.subscriptions.remove("c"), true)
    assert.equal(await store.subscriptions.remove("c"), false)
    assert.equal(await store.subscriptions.advance(lease, { position: 1 }), false)
    assert.deepEqual(await store.subscriptions.consumers(), [])
  },

  async "deletes events that all consumers handled, and keeps the others"(store) {
    for (const runId of ["a", "b", "c"]) await start(store, runId)
    const [first, second] = (await eventsOf(store)) as [StoredEvent, StoredEvent]
    await store.subscriptions.trim(0)
    assert.equal((await eventsOf(store)).length, 3)
    for (const [name, position] of [
      ["fast", second.position],
      ["slow", first.position],
    ] as const) {
      await store.subscriptions.add(name, "beginning")
      await store.subscriptions.advance((await serve(store, name, "holder")).lease, { position })
    }
    await store.subscriptions.trim(0)
    assert.deepEqual(fieldsOf(await eventsOf(store), "runId"), ["b", "c"])
    assert.deepEqual(fieldsOf(await store.subscriptions.consumers(), "lag", "missed"), [
      [1, 0],
      [2, 0],
    ])
  },

  async "deletes events from before a time, and says who missed them"(store) {
    for (const [i, runId] of ["a", "b", "c"].entries()) await start(store, runId, { at: START + i })
    const [first] = (await eventsOf(store)) as [StoredEvent]
    await store.subscriptions.add("slow", "beginning")
    await store.subscriptions.advance((await serve(store, "slow", "holder")).lease, {
      position: first.position,
    })
    await store.subscriptions.trim(START + 2)
    assert.deepEqual(fieldsOf(await eventsOf(store), "runId"), ["c"])
    assert.deepEqual(fieldsOf(await store.subscriptions.consumers(), "lag", "missed"), [[1, 1]])
    await store.subscriptions.add("new", "beginning")
    assert.deepEqual(fieldsOf(await store.subscriptions.consumers(), "consumer", "lag", "missed"), [
      ["new", 1, 0],
      ["slow", 1, 1],
    ])
  },

  async "gives no position again after all events were deleted"(store) {
    await start(store, "a")
    const last = await lastPosition(store)
    await store.subscriptions.trim(START + ALL)
    assert.deepEqual(await eventsOf(store), [])
    await store.subscriptions.add("c", "now")
    await start(store, "b")
    const [event] = await eventsOf(store, last)
    assert.equal(event?.runId, "b")
    assert.deepEqual(fieldsOf(await store.subscriptions.consumers(), "position", "lag"), [[last, 1]])
  },

  async "keeps the events of a run that is removed"(store) {
    await startAndEnd(store, "r")
    assert.equal(await store.remove("r"), true)
    assert.deepEqual(fieldsOf(await eventsOf(store), "type", "runId"), [
      ["run.started", "r"],
      ["run.ended", "r"],
    ])
  },

  async "has one event for each run when many are created with the same key at once"(store) {
    await atOnce(
      Array.from({ length: 5 }, (_, i) => () => start(store, `r ${i}`, { key: "k" })),
      "KEY_TAKEN",
    )
    assert.deepEqual(fieldsOf(await eventsOf(store), "type"), ["run.started"])
  },
}
