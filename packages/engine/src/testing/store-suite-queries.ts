/** Store suite: runs are found by what they are and where they stand, newest first, page by page. */
import assert from "node:assert/strict"
import type { RunStatus } from "../core/index.ts"
import type { RunQuery, Store, StoredRun } from "../runtime/index.ts"
import { end, runOf, START, type StoreCases, start, startAndEnd, write } from "./store-suite-steps.ts"

const STATUS = ["running", "waiting", "completed", "failed", "cancelled", "limit"] as const

export const queryCases: StoreCases = {
  async "has no runs when none was made"(store) {
    assert.deepEqual(await store.runs({}), [])
    assert.deepEqual(await store.runs({ limit: 10, status: ["running"] }), [])
  },

  async "gives all runs newest first, when nothing else is asked"(store) {
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

  async "gives each run as it is given alone"(store) {
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

  async "finds runs by their labels: those that have all that are asked for"(store) {
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

  async "takes labels as they are, whatever signs are in them"(store) {
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

  async "takes the text that is looked for as it is, not as a pattern"(store) {
    const texts = ["100%", "a_b", "a*b", "[ab]", "a?b", "it's", 'say "hi"', "back\\slash", "日本"]
    for (const text of texts) await start(store, `run ${text}.`)
    await start(store, "run 100, aXb, .")
    for (const text of texts) assert.deepEqual(await found(store, { text }), [`run ${text}.`])
    for (const text of ["%", "_", "*", "?", "\\", "'", '"']) {
      const expected = texts.filter((one) => one.includes(text)).map((one) => `run ${one}.`)
      assert.deepEqual(await found(store, { text }), expected.toReversed())
    }
  },

  async "gives runs in pages of any size, each once"(store) {
    await many(store)
    for (const filter of [{}, { workflow: "alpha" }, { status: ["completed"] as const }, { text: "1" }]) {
      const whole = await found(store, filter)
      assert.ok(whole.length > 3)
      for (const limit of [1, 7, 60, 1_000]) assert.deepEqual(await pages(store, { ...filter, limit }), whole)
    }
  },

  async "goes on after a run that changed since the page before, and is not moved by new ones"(store) {
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

  async "gives what it had at the time: a later change does not change what was found"(store) {
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
    assert.equal(new Set(seen).size, seen.length, "no page gives a run again")
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
