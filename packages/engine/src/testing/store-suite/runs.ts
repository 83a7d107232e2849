/** Store suite: a run's row. What creates it, what changes it, and what is rejected. */

import assert from "node:assert/strict"
import type { RunStatus } from "../../core/index.ts"
import type { RunQuery, Store, StoredRun } from "../../runtime/index.ts"
import {
  atOnce,
  end,
  FINAL,
  fieldsOf,
  holds,
  leaseOf,
  plain,
  records,
  rejects,
  request,
  runOf,
  START,
  type StoreCases,
  set,
  stands,
  start,
  startAndEnd,
  take,
  write,
} from "./steps.ts"

const CREATED = { workflow: "workflow", graph: "graph" }

export const runCases: StoreCases = {
  async "does not know a run that was not created"(store) {
    await start(store, "r")
    assert.equal(await store.run("other"), undefined)
  },

  async "creates a run with its first records, held by the lease"(store) {
    const created = { workflow: "w", graph: "g", key: "k", thread: "t", labels: { file: "f", model: "" } }
    const lease = leaseOf("r", 1, "me")
    await store.append(lease, 0, records(1, 3), { created })
    const { bytes, ...run } = await runOf(store, "r")
    assert.ok(bytes > 0)
    assert.deepEqual(plain(run), {
      ...created,
      runId: "r",
      status: "running",
      createdAt: START + 1,
      updatedAt: START + 3,
      seq: 3,
      token: 1,
      holder: "me",
      executing: true,
      takeovers: 0,
      blamed: false,
      trials: 0,
      pinned: false,
    })
    await holds(store, "r", records(1, 3))
  },

  async "creates a run in the status of the change"(store) {
    for (const status of ["running", "waiting"] as const) {
      await start(store, status, { change: { status } })
      await stands(store, status, { status, holder: "holder" })
    }
    for (const status of FINAL) {
      await start(store, status, { change: { status } })
      await stands(store, status, { status, holder: undefined, wakeAt: undefined, token: 1 })
    }
  },

  async "keeps the error of a run that did not complete, until the run is resumed"(store) {
    const error = { code: "NO_LUCK", message: "It did not work: 日本.", node: "try" }
    const lease = await start(store, "r")
    const { seq } = await runOf(store, "r")
    assert.equal((await runOf(store, "r")).error, undefined)
    await store.append(lease, seq, records(seq + 1, 1), { status: "failed", error })
    assert.deepEqual(plain((await runOf(store, "r")).error), error)
    const [listed] = await store.runs({ status: ["failed"] })
    assert.deepEqual(plain(listed?.error), error)
    await store.append(lease, seq + 1, records(seq + 2, 1), { status: "running" })
    assert.equal((await runOf(store, "r")).error, undefined)
  },

  async "updates the end, the time and the size of a run with every append"(store) {
    const lease = await start(store, "r")
    const before = await runOf(store, "r")
    await store.append(lease, 1, records(2, 4))
    await stands(store, "r", {
      seq: 5,
      createdAt: START + 1,
      updatedAt: START + 5,
      status: "running",
      token: 1,
    })
    assert.ok((await runOf(store, "r")).bytes > before.bytes)
    assert.equal(before.seq, 1, "what was read before stays as it was")
  },

  async "changes the status and the graph of a run with an append"(store) {
    const lease = await start(store, "r", { graph: "old" })
    await write(store, lease, { status: "waiting" })
    await stands(store, "r", { status: "waiting", graph: "old", holder: "holder" })
    await write(store, lease, { graph: "new", graphs: [{ hash: "new", graph: { nodes: [] } }] })
    await stands(store, "r", { status: "waiting", graph: "new" })
    await write(store, lease, { status: "running" })
    await stands(store, "r", { status: "running", graph: "new" })
    assert.deepEqual(await store.graph("new"), { nodes: [] })
  },

  async "applies a change without a record, with the same checks"(store) {
    const lease = await start(store, "r", { count: 2 })
    await store.append(lease, 2, [], { status: "waiting", opened: [request("q")] })
    await stands(store, "r", { status: "waiting", seq: 2 })
    assert.equal((await store.requests({})).length, 1)
    await rejects(() => store.append(lease, 1, [], { status: "running" }), "JOURNAL_CONFLICT")
    await rejects(() => store.append(leaseOf("r", 2), 2, [], { status: "running" }), "RUN_TAKEN")
    await rejects(() => store.append(leaseOf("other"), 0, [], { status: "running" }), "JOURNAL_CONFLICT")
    await stands(store, "r", { status: "waiting", seq: 2 })
    await holds(store, "r", records(1, 2))
  },

  async "applies a change that comes with several records"(store) {
    const lease = await start(store, "r")
    await store.append(lease, 1, records(2, 3), { status: "completed" })
    await stands(store, "r", { status: "completed", seq: 4, updatedAt: START + 4 })
  },

  async "clears the holder and the wake time of a run that ends"(store) {
    for (const status of FINAL) {
      const lease = await start(store, status)
      await store.release(lease, START + 1_000)
      await end(store, lease, undefined, status)
      await stands(store, status, { status, holder: undefined, wakeAt: undefined })
    }
  },

  async "rejects a run whose id exists, in flight or ended, and changes nothing"(store) {
    const lease = await start(store, "r", { count: 2, key: "k" })
    const again = () => store.append(leaseOf("r"), 0, records(1, 1, "again"), { created: CREATED })
    await rejects(again, "RUN_EXISTS")
    await rejects(
      () => store.append(leaseOf("r", 9, "other"), 2, records(3, 1), { created: { ...CREATED, key: "k" } }),
      "RUN_EXISTS",
    )
    await stands(store, "r", { seq: 2, holder: "holder", key: "k" })
    await end(store, lease)
    await rejects(again, "RUN_EXISTS")
    await stands(store, "r", { seq: 3, status: "completed", holder: undefined })
    await holds(store, "r", records(1, 3))
  },

  async "creates one of many concurrent runs with one id"(store) {
    const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
    const won = await atOnce(
      rivals.map((holder) => () => start(store, "r", { holder, value: holder })),
      "RUN_EXISTS",
    )
    assert.equal(won.length, 1)
    const winner = rivals[won[0] as number] as string
    await stands(store, "r", { holder: winner, seq: 1 })
    await holds(store, "r", records(1, 1, winner))
  },

  async "rejects a new run that does not begin with record 1"(store) {
    await rejects(
      () => store.append(leaseOf("r"), 1, records(2, 1), { created: CREATED }),
      "JOURNAL_CONFLICT",
    )
    assert.equal(await store.run("r"), undefined)
    await holds(store, "r", [])
  },

  async "rejects a second run with the same key, and names the first, also after that has ended"(store) {
    const lease = await start(store, "first", { key: "k" })
    await rejects(() => start(store, "second", { key: "k" }), "KEY_TAKEN", "first")
    await end(store, lease)
    await rejects(() => start(store, "second", { key: "k", workflow: "other" }), "KEY_TAKEN", "first")
    assert.equal(await store.run("second"), undefined)
    await holds(store, "second", [])
    await start(store, "second", { key: "K" })
    await start(store, "third")
    await start(store, "fourth")
  },

  async "creates one of many concurrent runs with one key"(store) {
    await makesOneOf(store, { key: "k" }, "KEY_TAKEN")
  },

  async "frees a key when its run is removed"(store) {
    await startAndEnd(store, "first", { key: "k" })
    await store.remove("first")
    await start(store, "second", { key: "k" })
    await stands(store, "second", { key: "k" })
  },

  async "rejects a second run in flight on one thread, and names the first"(store) {
    const lease = await start(store, "first", { thread: "t" })
    await rejects(() => start(store, "second", { thread: "t" }), "THREAD_BUSY", "first")
    await write(store, lease, { status: "waiting" })
    await store.release(lease, undefined)
    await rejects(() => start(store, "second", { thread: "t", workflow: "other" }), "THREAD_BUSY", "first")
    assert.equal(await store.run("second"), undefined)
    await start(store, "elsewhere", { thread: "T" })
    await start(store, "without")
  },

  async "frees a thread when its run ends, however it ended"(store) {
    for (const status of FINAL) {
      const lease = await start(store, status, { thread: "t" })
      await rejects(() => start(store, "second", { thread: "t" }), "THREAD_BUSY", status)
      await end(store, lease, undefined, status)
    }
    await startAndEnd(store, "at once", { thread: "t" })
    await start(store, "last", { thread: "t" })
    assert.equal((await store.runs({ thread: "t" })).length, 6)
  },

  async "creates one of many concurrent runs on one thread"(store) {
    await makesOneOf(store, { thread: "t" }, "THREAD_BUSY")
  },

  async "checks that the run exists, then the token, then the journal's end"(store) {
    await start(store, "r", { count: 2 })
    await take(store, "r", "other")
    await rejects(() => store.append(leaseOf("r", 1), 0, records(1, 1)), "RUN_TAKEN")
    await rejects(() => store.append(leaseOf("unknown", 7), 3, records(4, 1)), "JOURNAL_CONFLICT")
    await rejects(() => store.append(leaseOf("r", 2), 0, records(1, 1)), "JOURNAL_CONFLICT")
  },

  async "rejects a token that no lease has"(store) {
    await start(store, "r")
    for (const token of [0, 2, 99]) {
      await rejects(() => store.append(leaseOf("r", token), 1, records(2, 1)), "RUN_TAKEN")
    }
    await holds(store, "r", records(1, 1))
  },

  async "applies no part of a change whose append is rejected"(store) {
    const lease = await start(store, "r", { thread: "t", change: { opened: [request("asked")] } })
    await startAndEnd(store, "keyed", { key: "k" })
    await start(store, "busy", { thread: "b" })
    const before = await runOf(store, "r")
    const change = {
      status: "completed" as const,
      graph: "new",
      graphs: [{ hash: "new", graph: 1 }],
      opened: [request("new")],
      closed: [{ id: "asked", outcome: "answered" as const, at: START }],
      thread: [set("key", 1)],
    }
    const created = { ...CREATED, graph: "new" }
    await rejects(() => store.append(lease, 0, records(1, 1), change), "JOURNAL_CONFLICT")
    await rejects(() => store.append(leaseOf("r", 5), 1, records(2, 1), change), "RUN_TAKEN")
    await rejects(() => store.append(leaseOf("none"), 1, records(2, 1), change), "JOURNAL_CONFLICT")
    await rejects(() => store.append(lease, 0, records(1, 1), { ...change, created }), "RUN_EXISTS")
    const other = (more: { key?: string; thread?: string }) => () =>
      store.append(leaseOf("other"), 0, records(1, 1), { ...change, created: { ...created, ...more } })
    await rejects(other({ key: "k", thread: "t2" }), "KEY_TAKEN", "keyed")
    await rejects(other({ key: "k2", thread: "b" }), "THREAD_BUSY", "busy")

    assert.deepEqual(plain(await runOf(store, "r")), plain(before))
    assert.equal(await store.run("other"), undefined)
    assert.equal(await store.graph("new"), undefined)
    for (const thread of ["t", "t2", "b"]) assert.equal((await store.thread(thread)).version, 0)
    const open = await store.requests({ outcome: ["open", "answered", "expired", "withdrawn"] })
    assert.deepEqual(fieldsOf(open, "id", "outcome"), [["asked", "open"]])
    await start(store, "other", { key: "k2", thread: "t2" })
  },

  async "has a graph as soon as a run stored it, for every run that names it"(store) {
    assert.equal(await store.graph("g"), undefined)
    const graph = { nodes: ["a", "b"], edges: [["a", "b"]] }
    await startAndEnd(store, "first", { graph: "g", change: { graphs: [{ hash: "g", graph }] } })
    await start(store, "second", { graph: "g" })
    await start(store, "third", {
      graph: "g",
      change: {
        graphs: [
          { hash: "g", graph },
          { hash: "sub", graph: [] },
        ],
      },
    })
    assert.deepEqual(await store.graph("g"), graph)
    assert.deepEqual(await store.graph("sub"), [])
    await store.remove("first")
    assert.deepEqual(await store.graph("g"), graph)
  },
}

async function makesOneOf(
  store: Store,
  shared: { key?: string; thread?: string },
  code: string,
): Promise<void> {
  const rivals = Array.from({ length: 20 }, (_, i) => `rival ${i}`)
  const won = await atOnce(
    rivals.map((runId) => () => start(store, runId, shared)),
    code,
  )
  assert.equal(won.length, 1)
  assert.deepEqual(await found(store, {}), [rivals[won[0] as number]])
}

const STATUS = ["running", "waiting", "completed", "failed", "cancelled", "limit"] as const

/** Runs are found by their properties and status, newest first, page by page. */
export const queryCases: StoreCases = {
  async "has no runs if none was created"(store) {
    assert.deepEqual(await store.runs({}), [])
    assert.deepEqual(await store.runs({ limit: 10, status: ["running"] }), [])
  },

  async "returns all runs newest first by default"(store) {
    const ids = Array.from({ length: 250 }, (_, i) => `${(i * 37) % 250}`)
    for (const [i, id] of ids.entries()) await start(store, id, { at: START + i })
    assert.deepEqual(await found(store, {}), ids.toReversed())
  },

  async "keeps the order of runs when one is written to, ends, or changes hands"(store) {
    const first = await start(store, "first", { at: START })
    const second = await start(store, "second", { at: START + 1 })
    await start(store, "third", { at: START + 2 })
    await write(store, first, { status: "waiting" }, START + 10)
    await end(store, second, START + 20)
    await store.claim("first", 1, "other")
    assert.deepEqual(await found(store, {}), ["third", "second", "first"])
  },

  async "lists each run as it is read alone"(store) {
    await start(store, "a", { key: "k", thread: "t", count: 3 })
    await startAndEnd(store, "b")
    await start(store, "c", { forkOf: { runId: "a", seq: 2 }, change: { status: "waiting" } })
    await store.pin("b", true)
    for (const run of await store.runs({})) assert.deepEqual(run, await store.run(run.runId))
  },

  async "finds runs by workflow, status and thread, alone and together"(store) {
    const all = await many(store)
    const workflows = [undefined, "alpha", "unknown"]
    const statuses: RunQuery["status"][] = [undefined, ["running"], ["completed", "limit"], STATUS]
    for (const workflow of workflows) {
      for (const status of statuses) {
        for (const thread of [undefined, "thread 4", "unknown"]) {
          const expected = all.filter(
            (run) =>
              (workflow === undefined || run.workflow === workflow) &&
              (status === undefined || status.includes(run.status)) &&
              (thread === undefined || run.thread === thread),
          )
          assert.deepEqual(
            await found(store, { workflow, status, thread }),
            expected.map(({ runId }) => runId),
          )
        }
      }
    }
  },

  async "finds the run that has a key, and no other"(store) {
    await start(store, "a", { key: "key 1" })
    await startAndEnd(store, "b", { key: "key 10" })
    await start(store, "key 1")
    assert.deepEqual(await found(store, { key: "key 1" }), ["a"])
    assert.deepEqual(await found(store, { key: "key 10" }), ["b"])
    assert.deepEqual(await found(store, { key: "key" }), [])
    assert.deepEqual(await found(store, { key: "key 1", status: ["completed"] }), [])
    assert.deepEqual(await found(store, { key: "key 10", workflow: "other" }), [])
  },

  async "finds runs that have all requested labels"(store) {
    await start(store, "a", { labels: { file: "chat.yaml", model: "fast" } })
    await startAndEnd(store, "b", { labels: { model: "fast", file: "chat.yaml", more: "" } })
    await start(store, "c", { labels: { file: "chat.yaml" } })
    await start(store, "d", { labels: {} })
    await start(store, "e")
    assert.deepEqual(await found(store, { labels: { file: "chat.yaml" } }), ["c", "b", "a"])
    assert.deepEqual(await found(store, { labels: { file: "chat.yaml", model: "fast" } }), ["b", "a"])
    assert.deepEqual(await found(store, { labels: { more: "" } }), ["b"])
    assert.deepEqual(await found(store, { labels: { model: "fas" } }), [])
    assert.deepEqual(await found(store, { labels: { odel: "fast" } }), [])
    assert.deepEqual(await found(store, { labels: { toString: "" } }), [])
    assert.deepEqual(await found(store, { labels: {} }), ["e", "d", "c", "b", "a"])
    const completed = { labels: { model: "fast" }, status: ["completed"] } as const
    assert.deepEqual(await found(store, completed), ["b"])
    assert.deepEqual(await found(store, { labels: { model: "fast" }, workflow: "other" }), [])
    assert.deepEqual(await found(store, { labels: { file: "chat.yaml" }, limit: 2, before: "c" }), ["b", "a"])
  },

  async "matches labels literally, whatever characters they contain"(store) {
    const texts = [
      '"',
      '\\"',
      "\\",
      ',"name":"',
      '","',
      "%",
      "é",
      "\ud800",
      "\u0000",
      "__proto__",
      '{"a',
      "a b",
    ]
    for (const [i, text] of texts.entries()) {
      await start(store, `name ${i}`, { labels: Object.fromEntries([[text, "name"]]) })
      await start(store, `value ${i}`, { labels: { name: text, other: '","name":"x' } })
    }
    for (const [i, text] of texts.entries()) {
      const named = Object.fromEntries([[text, "name"]])
      assert.deepEqual(await found(store, { labels: named }), [`name ${i}`])
      assert.deepEqual((await runOf(store, `name ${i}`)).labels, named)
      assert.deepEqual(await found(store, { labels: { name: text } }), [`value ${i}`])
    }
    assert.deepEqual(await found(store, { labels: { name: "x" } }), [])
  },

  async "finds runs by a part of their id, their workflow's name or their key"(store) {
    await start(store, "order-17", { workflow: "shipping", key: "customer 5" })
    await start(store, "order-18", { workflow: "billing" })
    await start(store, "x", { workflow: "reorder-stock", key: "order" })
    await start(store, "y", { workflow: "other", thread: "order", graph: "order" })
    assert.deepEqual(await found(store, { text: "order" }), ["x", "order-18", "order-17"])
    assert.deepEqual(await found(store, { text: "order-1" }), ["order-18", "order-17"])
    assert.deepEqual(await found(store, { text: "ipp" }), ["order-17"])
    assert.deepEqual(await found(store, { text: "mer 5" }), ["order-17"])
    assert.deepEqual(await found(store, { text: "stock" }), ["x"])
    assert.deepEqual(await found(store, { text: "nowhere" }), [])
    assert.deepEqual(await found(store, { text: "order", workflow: "billing" }), ["order-18"])
    assert.deepEqual(await found(store, { text: "" }), ["y", "x", "order-18", "order-17"])
  },

  async "searches for text literally, not as a pattern"(store) {
    const texts = ["100%", "a_b", "a*b", "[ab]", "a?b", "it's", 'say "hi"', "back\\slash", "日本"]
    for (const text of texts) await start(store, `run ${text}.`)
    await start(store, "run 100, aXb, .")
    for (const text of texts) assert.deepEqual(await found(store, { text }), [`run ${text}.`])
    for (const text of ["%", "_", "*", "?", "\\", "'", '"']) {
      const expected = texts.filter((one) => one.includes(text)).map((one) => `run ${one}.`)
      assert.deepEqual(await found(store, { text }), expected.toReversed())
    }
  },

  async "finds runs by when they were created and last written to, with and without other filters"(store) {
    const all = await many(store)
    const createdAt = (runId: string) => START + Number(runId.slice(4))
    const ranges = [{}, { from: START + 20 }, { until: START + 20 }, { from: START + 10, until: START + 40 }]
    for (const { from, until } of [...ranges, { from: START + 60 }, { until: START }]) {
      const range = { from, until }
      for (const workflow of [undefined, "alpha"]) {
        for (const status of [undefined, ["running", "completed"]] as const) {
          for (const text of [undefined, "1"]) {
            const expected = all.filter(
              (run) =>
                createdAt(run.runId) >= (from ?? 0) &&
                createdAt(run.runId) < (until ?? Number.POSITIVE_INFINITY) &&
                (workflow === undefined || run.workflow === workflow) &&
                (status === undefined || (status as readonly string[]).includes(run.status)) &&
                (text === undefined || run.runId.includes(text)),
            )
            for (const query of [
              { created: range },
              { updated: range },
              { created: range, updated: range },
            ]) {
              assert.deepEqual(
                await found(store, { ...query, workflow, status, text }),
                expected.map(({ runId }) => runId),
              )
            }
          }
        }
      }
    }
  },

  async "separates when a run was created from when it was last written to, in flight and ended"(store) {
    const lease = await start(store, "r", { at: START, thread: "t" })
    await write(store, lease, undefined, START + 10)
    const early = { until: START + 5 }
    const late = { from: START + 5 }
    for (const more of [{}, { thread: "t" }, { labels: {} }]) {
      assert.deepEqual(await found(store, { created: early, updated: late, ...more }), ["r"])
      assert.deepEqual(await found(store, { updated: early, ...more }), [])
      assert.deepEqual(await found(store, { created: late, ...more }), [])
    }
    await end(store, lease, START + 20)
    assert.deepEqual(await found(store, { updated: { from: START + 20, until: START + 21 } }), ["r"])
    assert.deepEqual(await found(store, { updated: { until: START + 20 } }), [])
  },

  async "finds runs by their times where many have the same, or times are out of order"(store) {
    for (const [i, at] of [5, 5, 3, 9, 5, 1, 5].entries()) await start(store, `r ${i}`, { at: START + at })
    assert.deepEqual(await found(store, { created: { from: START + 5, until: START + 6 } }), [
      "r 6",
      "r 4",
      "r 1",
      "r 0",
    ])
    assert.deepEqual(await found(store, { created: { until: START + 4 } }), ["r 5", "r 2"])
    assert.deepEqual(await found(store, { created: { from: START + 6 } }), ["r 3"])
  },

  async "returns runs in pages of any size, each once"(store) {
    await many(store)
    const filters = [
      {},
      { workflow: "alpha" },
      { status: ["completed"] as const },
      { text: "1" },
      { created: { from: START + 5, until: START + 50 } },
      { updated: { from: START + 5 } },
    ]
    for (const filter of filters) {
      const whole = await found(store, filter)
      assert.ok(whole.length > 3)
      for (const limit of [1, 7, 60, 1_000]) assert.deepEqual(await pages(store, { ...filter, limit }), whole)
    }
  },

  async "continues after a run that changed since the previous page, unaffected by new ones"(store) {
    const leases = []
    for (const [i, id] of ["a", "b", "c", "d"].entries())
      leases.push(await start(store, id, { at: START + i }))
    const query: RunQuery = { status: ["running"], limit: 2 }
    assert.deepEqual(await found(store, query), ["d", "c"])
    for (const lease of leases.slice(2)) await end(store, lease, START + 10)
    await start(store, "e", { at: START + 20 })
    assert.deepEqual(await found(store, { ...query, before: "c" }), ["b", "a"])
    assert.deepEqual(await found(store, { ...query, before: "a" }), [])
  },

  async "returns copies: a later change does not change what was found"(store) {
    const lease = await start(store, "r")
    const [before] = await store.runs({})
    await write(store, lease, { status: "waiting" })
    await store.pin("r", true)
    assert.deepEqual([before?.status, before?.seq, before?.pinned], ["running", 1, false])
  },
}

async function found(store: Store, query: RunQuery): Promise<string[]> {
  return (await store.runs(query)).map(({ runId }) => runId)
}

async function pages(store: Store, query: RunQuery): Promise<string[]> {
  const seen: string[] = []
  for (;;) {
    const page = await found(store, { ...query, before: seen.at(-1) })
    if (page.length === 0) return seen
    assert.ok(page.length <= (query.limit ?? 0))
    seen.push(...page)
    assert.equal(new Set(seen).size, seen.length, "no page repeats a run")
  }
}

/** 60 runs of two workflows and six threads, in every status; newest first. */
async function many(store: Store): Promise<Pick<StoredRun, "runId" | "workflow" | "status" | "thread">[]> {
  const all = []
  for (let i = 0; i < 60; i++) {
    const status = STATUS[i % 6] as RunStatus
    const isOver = status !== "running" && status !== "waiting"
    const run = { runId: `run ${i}`, workflow: i % 4 === 0 ? "alpha" : "beta", status }
    const thread = isOver ? { thread: `thread ${i % 6}` } : {}
    await start(store, run.runId, { workflow: run.workflow, ...thread, at: START + i, change: { status } })
    all.push({ ...run, ...thread })
  }
  return all.reverse()
}
