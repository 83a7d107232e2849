/**
 * Store suite: an append is atomic. No reader sees a part of it while it is in progress, and nothing of it remains if a part
 * cannot be stored.
 */
import assert from "node:assert/strict"
import { type Json, SuperstepError } from "../../core/index.ts"
import type { Lease, RunChange, Store } from "../../runtime/index.ts"
import { settled } from "../manual-clock.ts"
import {
  leaseOf,
  mailTo,
  record,
  records,
  rejects,
  request,
  type StoreCases,
  set,
  start,
  startAndEnd,
} from "./steps.ts"

/** The `n`-th append to the run: one record, and one of everything that can be written with it. */
async function appendOneOfEach(store: Store, lease: Lease, n: number): Promise<void> {
  const change: RunChange = {
    opened: [request(`question ${n}`)],
    thread: [set(`key ${n}`, n)],
    ...(n === 1 ? { created: { workflow: "workflow", graph: "graph", thread: "thread" } } : {}),
  }
  await store.append(lease, n - 1, records(n, 1), change)
}

/** How many appends are visible, for every part that an append writes. */
const SEEN: { readonly [part: string]: (store: Store, runId: string) => number | Promise<number> } = {
  journal: (store, runId) => then(store.read(runId, 0), (list) => list.length),
  row: (store, runId) => then(store.run(runId), (run) => run?.seq ?? 0),
  questions: (store, runId) => then(store.requests({ runId }), (list) => list.length),
  thread: (store) => then(store.thread("thread"), ({ version }) => version),
}

/** In one turn if the store is synchronous, so that nothing happens between two reads. */
function then<T, R>(value: T | Promise<T>, next: (value: T) => R): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}

/** The number of visible appends, which must be equal in every part. */
async function wholeAppends(store: Store, runId: string): Promise<number> {
  const counts: { [part: string]: number } = {}
  for (const [part, count] of Object.entries(SEEN)) counts[part] = await count(store, runId)
  const [first = 0, ...others] = Object.values(counts)
  assert.ok(
    others.every((count) => count === first),
    `an append is visible in all its parts or in none; appends by part: ${JSON.stringify(counts)}`,
  )
  return first
}

/** A later read sees at least what an earlier read saw, for any two parts. */
async function look(store: Store, runId: string): Promise<void> {
  for (const [one, countOne] of Object.entries(SEEN)) {
    for (const [other, countOther] of Object.entries(SEEN)) {
      if (one === other) continue
      const seen = countOne(store, runId)
      const before = seen instanceof Promise ? await seen : seen
      const seenThen = countOther(store, runId)
      const after = seenThen instanceof Promise ? await seenThen : seenThen
      assert.ok(
        after >= before,
        `the ${one} has append ${before}, but the ${other}, read after it, only ${after}: a partial append is visible`,
      )
    }
  }
}

const APPENDS = 20
/** Reads between two turns of the event loop, in which a store may answer. */
const LOOKS = 8

async function lookUntil(done: () => boolean, store: Store, runId: string): Promise<void> {
  while (!done()) {
    for (let i = 0; i < LOOKS && !done(); i++) {
      await look(store, runId)
      // One turn of the microtask queue: a store may make its second write in the next one.
      await undefined
    }
    await settled()
  }
}

/** Appends while others read, through this store or another one on the same data. */
async function appendWatched(store: Store, onlookers: Store): Promise<void> {
  const lease = leaseOf("r")
  for (let n = 1; n <= APPENDS; n++) {
    let isDone = false
    const appended = appendOneOfEach(store, lease, n).finally(() => {
      isDone = true
    })
    const looking = lookUntil(() => isDone, onlookers, "r")
    await Promise.all([appended, looking])
  }
  assert.equal(await wholeAppends(onlookers, "r"), APPENDS)
}

/** Data that cannot be serialized. Memory can hold it. */
function unwritable(): Json {
  const toJSON = () => {
    throw new TypeError("The store suite made this value impossible to serialize.")
  }
  return { toJSON } as unknown as Json
}

/** Changes of which one part cannot be serialized. */
const UNWRITABLE: { readonly [part: string]: () => RunChange } = {
  "a question": () => ({ opened: [request("question 2", { data: unwritable() })] }),
  "a thread write": () => ({ thread: [set("key 2", unwritable())] }),
  "a graph": () => ({ graphs: [{ hash: "new", graph: unwritable() }] }),
}

export const atomicCases: StoreCases = {
  async "shows concurrent readers all parts of an append or none"(store) {
    await appendWatched(store, store)
  },

  async "keeps nothing of an append if a part cannot be stored"(store) {
    for (const [part, change] of Object.entries(UNWRITABLE)) {
      const runId = `run with ${part}`
      await keepsAllOrNothing(store, runId, () => store.append(leaseOf(runId), 1, records(2, 2), change()))
    }
  },

  async "keeps nothing of an append if a record cannot be stored"(store) {
    const added = [record(2, "good"), record(3, unwritable())]
    const change = (): RunChange => ({
      status: "waiting",
      opened: [request("question 2")],
      thread: [set("key 2", 2)],
    })
    await keepsAllOrNothing(store, "r", () => store.append(leaseOf("r"), 1, added, change()))
  },

  async "creates no part of a run that cannot be stored"(store) {
    for (const part of ["a record", ...Object.keys(UNWRITABLE)]) {
      const runId = `run with ${part}`
      const created = { workflow: "workflow", graph: "graph", key: runId }
      const added = part === "a record" ? [record(1, "good"), record(2, unwritable())] : records(1, 2)
      const isStored = await succeeds(() =>
        store.append(leaseOf(runId), 0, added, { created, ...UNWRITABLE[part]?.() }),
      )
      const run = await store.run(runId)
      assert.equal(run?.seq ?? 0, isStored ? 2 : 0, `the row of a ${runId}`)
      assert.equal((await store.read(runId, 0)).length, isStored ? 2 : 0, `the journal of a ${runId}`)
      // A run that does not exist does not occupy its key.
      if (!isStored) await start(store, runId, { key: runId })
    }
  },

  async "keeps no record of an append that is rejected for its row, key or thread"(store) {
    await startAndEnd(store, "over", { key: "key", thread: "thread" })
    await start(store, "busy", { thread: "thread" })
    const created = { workflow: "workflow", graph: "graph" }
    const add = (more: object) => () =>
      store.append(leaseOf("other"), 0, records(1, 2), { created: { ...created, ...more } })
    await rejects(add({ key: "key" }), "KEY_TAKEN", "over")
    await rejects(add({ thread: "thread" }), "THREAD_BUSY", "busy")
    await rejects(
      () => store.append(leaseOf("over"), 1, records(2, 2), { status: "running" }),
      "THREAD_BUSY",
      "busy",
    )
    for (const [runId, length] of [
      ["other", 0],
      ["over", 1],
    ] as const) {
      assert.equal((await store.read(runId, 0)).length, length, `the journal of run "${runId}"`)
      assert.equal((await store.run(runId))?.seq ?? 0, length, `the row of run "${runId}"`)
    }
    assert.equal((await store.run("over"))?.status, "completed")
  },

  async "settles mail with the append that carries its id, or not at all"(store) {
    const lease = await start(store, "r")
    await store.post(mailTo("r", "mail"))
    await rejects(() => store.append(lease, 0, records(1, 1), { mail: ["mail"] }), "JOURNAL_CONFLICT")
    assert.equal((await store.mail("holder")).length, 1, "mail of a refused append is still there")
    await store.append(lease, 1, records(2, 1), { mail: ["mail"] })
    assert.deepEqual(await store.mail("holder"), [])
    assert.deepEqual(await store.mailOutcome("mail"), { ok: true })
  },
}

/** The run has one earlier append. The other one is visible in all its parts, or rejected and in none. */
async function keepsAllOrNothing(store: Store, runId: string, append: () => unknown): Promise<void> {
  const thread = `thread of ${runId}`
  await start(store, runId, {
    thread,
    change: { opened: [request("question 1")], thread: [set("key 1", 1)] },
  })
  const before = await standing(store, runId, thread)
  const isStored = await succeeds(append)
  const after = await standing(store, runId, thread)
  if (isStored) {
    assert.deepEqual([after.seq, after.records], [3, 3])
    return
  }
  assert.deepEqual(after, before, "a refused append has changed nothing")
  await store.append(leaseOf(runId), 1, records(2, 1))
  assert.equal((await store.read(runId, 0)).length, 2, "the run can be written to afterwards")
}

async function standing(store: Store, runId: string, thread: string) {
  const run = await store.run(runId)
  return {
    seq: run?.seq,
    status: run?.status,
    updatedAt: run?.updatedAt,
    records: (await store.read(runId, 0)).length,
    questions: (await store.requests({ runId })).length,
    thread: (await store.thread(thread)).version,
    graph: (await store.graph("new")) !== undefined,
  }
}

async function succeeds(append: () => unknown): Promise<boolean> {
  try {
    await append()
    return true
  } catch {
    return false
  }
}

/** How the suite lets a store's process die in the middle of an append. */
export interface Interruption<S extends Store> {
  /**
   * From now on only this many more writes of the store reach its medium (statements, requests, file writes). Every later
   * write, including a rollback, throws and has no effect, as after the death of the process.
   */
  after(store: S, writes: number): void
  /** Releases the dead store, and opens its data as the next process would. The suite closes the returned store. */
  reopen(store: S): S | Promise<S>
}

/** Several stores on the same data, at the same time and one after the death of the other. */
export const reopenedCases: {
  readonly [name: string]: (store: Store, other: Store) => Promise<void>
} = {
  async "show all parts of an append or none of them to each other"(store, other) {
    await closing(other, () => appendWatched(store, other))
  },

  async "see the writes of the other store at once, whatever they have read before"(store, other) {
    await closing(other, async () => {
      const lease = await start(store, "r")
      for (let seq = 1; seq <= 10; seq++) {
        const [writer, reader] = seq % 2 === 0 ? [store, other] : [other, store]
        assert.equal((await reader.run("r"))?.seq, seq)
        await writer.append(lease, seq, records(seq + 1, 1))
        assert.equal((await reader.run("r"))?.seq, seq + 1)
        assert.deepEqual(await reader.read("r", seq), records(seq + 1, 1))
      }
      await rejects(() => store.append(lease, 10, records(11, 1)), "JOURNAL_CONFLICT")
      await rejects(() => other.append(leaseOf("r", 2), 11, records(12, 1)), "RUN_TAKEN")
    })
  },
}

type WithStore<S> = (check: (store: S) => Promise<void>) => Promise<void>

/** No append takes more writes than this. */
const MAX_WRITES = 1_000

export const interruptedCases: {
  readonly [name: string]: <S extends Store>(with_: WithStore<S>, by: Interruption<S>) => Promise<void>
} = {
  "leave all of the append that creates a run, or none of it": (withStore, by) =>
    atEveryWrite(withStore, by, 1),

  "leave all of a later append, or none of it": (withStore, by) => atEveryWrite(withStore, by, 2),
}

/** Interrupts the `n`-th append at its first write, its second, and so on, until it succeeds. */
async function atEveryWrite<S extends Store>(
  withStore: WithStore<S>,
  by: Interruption<S>,
  n: number,
): Promise<void> {
  let isMade = false
  for (let writes = 0; !isMade; writes++) {
    assert.ok(writes < MAX_WRITES, `an append is made after ${MAX_WRITES} writes`)
    await withStore(async (store) => {
      const lease = leaseOf("r")
      for (let before = 1; before < n; before++) await appendOneOfEach(store, lease, before)
      by.after(store, writes)
      try {
        await appendOneOfEach(store, lease, n)
        isMade = true
      } catch {
        // The process died during the append.
      }
      const next = await by.reopen(store)
      await closing(next, async () => {
        const found = await wholeAppends(next, "r").catch((cause) => {
          throw interrupted(writes, cause)
        })
        assert.ok(found === n || found === n - 1, `${found} of ${n} appends exist`)
        assert.ok(found === n || !isMade, "an acknowledged append exists after the process has died")
        if (found === n - 1) await appendOneOfEach(next, lease, n)
        assert.equal(await wholeAppends(next, "r"), n)
      })
    })
  }
}

function interrupted(writes: number, cause: Error): SuperstepError {
  const text = `The process died after ${writes} write${writes === 1 ? "" : "s"} of an append: ${cause.message}`
  return new SuperstepError("STORE_NOT_ATOMIC", text, { cause })
}

async function closing(store: Store, check: () => Promise<void>): Promise<void> {
  try {
    await check()
  } finally {
    await store.close()
  }
}
