/** Store suite: values and ids come back as they were written, whatever they are, and the store owns them. */

import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import type { Json } from "../../core/index.ts"
import type { Store } from "../../runtime/index.ts"
import { tamper } from "../simulation/tamper.ts"
import {
  add,
  end,
  fieldsOf,
  holder,
  holds,
  leaseOf,
  mailTo,
  plain,
  record,
  request,
  runOf,
  type StoreCases,
  set,
  start,
  startAndEnd,
  take,
} from "./steps.ts"

/** Ids that could be mistaken for each other, for none, or for code. */
const ODD_IDS: readonly string[] = [
  "a",
  "A",
  "a ",
  "",
  "a/b",
  "a%",
  "_",
  "'; --",
  '"',
  "\\",
  "é",
  "e\u0301",
  "\u0000",
  "a\u0000b",
  "a\u0000c",
  "\ud800",
  "\ud801",
  "\udfff",
  "\ufffd",
  "null",
  "0",
  "__proto__",
]

export const VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  0.1,
  1e300,
  5e-324,
  Number.MAX_SAFE_INTEGER,
  "",
  "text",
  [],
  {},
  [null, [true, [0, ["x", [{}]]]]],
  { a: { b: { c: [1, { d: null }] } }, "": "empty key", "a.b": 1, constructor: "x", toString: 1 },
]

const TEXTS: readonly string[] = [
  "日本語 العربية ελληνικά",
  "\ud83d\udc69\u200d\ud83d\ude80 \ud83d\ude00",
  "e\u0301 is not é",
  "\ud800",
  "a \udfff b",
  "\u0000 \u0001 \u001f \u007f \u2028 \u2029 \ufeff \uffff",
  "line\nbreak\r\n\ttab",
  '"quoted" \\ back \\u0041 \\',
  "__proto__",
  '{"__proto__":{"polluted":true}}',
  "'; DROP TABLE runs; --",
  "$1 ? :name @name %s {{ y }}",
]

const KB = 1_024

/** Values that are, or contain, more than 64 KB, at every possible position. */
function largeValues(): readonly Json[] {
  const text = "0123456789abcdef".repeat(8 * KB)
  return [
    text,
    { text, count: 1 },
    { deep: [{ er: { text } }, text], text },
    [text, text, `${text}!`],
    Array.from({ length: 20_000 }, (_, i) => i),
    { [text]: 1, [`${text}!`]: [text] },
    Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`key ${i}`, `value ${i}`])),
    "é".repeat(40 * KB),
    "\ud800".repeat(40 * KB),
    "\u0000".repeat(70 * KB),
    { ["__proto__"]: { text }, "a.b": text, "a/b": text, "": { "": text } },
  ]
}

async function keeps(store: Store, values: readonly Json[]): Promise<void> {
  const all = values.map((value, i) => record(i + 1, value))
  await store.append({ runId: "kept", holder: "holder", token: 1 }, 0, all, {
    created: { workflow: "workflow", graph: "graph" },
  })
  await holds(store, "kept", all)
}

export const valueCases: StoreCases = {
  async "keeps values of every kind that JSON has"(store) {
    await keeps(store, VALUES)
  },

  async "keeps text as it is: any script, controls, lone surrogates, what looks like code"(store) {
    const keys = Object.fromEntries(TEXTS.map((text, i) => [`${i}${text}`, text]))
    await keeps(store, [...TEXTS, keys, Object.fromEntries(TEXTS.map((text) => [text, text]))])
  },

  async "keeps a value of a megabyte"(store) {
    await keeps(store, ["0123456789abcdef".repeat(65_536), Array.from({ length: 100_000 }, (_, i) => i)])
  },

  async "keeps a value that is nested 400 deep"(store) {
    let deep: Json = "bottom"
    for (let i = 0; i < 200; i++) deep = [{ deeper: deep }]
    await keeps(store, [deep])
  },

  async "keeps values above 64 KB in entries, alone and inside others"(store) {
    await keeps(store, largeValues())
  },

  async "keeps values of every size around 64 KB"(store) {
    const sizes = Array.from({ length: 33 }, (_, i) => 64 * KB - 16 + i)
    await keeps(
      store,
      sizes.flatMap((size) => ["x".repeat(size), { text: "x".repeat(size) }]),
    )
  },

  async "keeps a small value that looks like the placeholder of a large one"(store) {
    const large = "x".repeat(100_000)
    const hash = createHash("sha256").update(JSON.stringify(large)).digest("hex")
    const marks = ["$blob", "$ref", "blob", "ref", "hash", "sha256", "__blob__"].map((mark) => ({
      [mark]: hash,
    }))
    await keeps(store, [
      { large, marks },
      ...marks,
      [`blob:${hash}`, `sha256:${hash}`, null],
      { large: null },
    ])
  },

  async "keeps large values in snapshots, thread writes, questions, graphs and mail"(store) {
    const large = [...largeValues()]
    const asked = large.map((data, i) => request(`${i}`, { data, schema: data, default: data }))
    const lease = await start(store, "r", {
      thread: "thread",
      change: {
        opened: asked,
        thread: [set("all", large), add("list", ...large)],
        graphs: [{ hash: "h", graph: large }],
      },
    })
    await store.saveSnapshot(lease, { seq: 1, data: large })
    await store.post(mailTo("r", "mail", { command: { type: "answer", request: "0", value: large } }))

    assert.deepEqual(plain(await store.snapshot("r")), { seq: 1, data: large })
    assert.deepEqual(await store.thread("thread"), { version: 2, state: { all: large, list: large } })
    assert.deepEqual(await store.graph("h"), large)
    const [mail] = await store.mail("holder")
    assert.deepEqual(plain(mail?.command), { type: "answer", request: "0", value: large })
    const questions = await store.requests({ outcome: ["open", "delivering"] })
    assert.deepEqual(
      fieldsOf(questions, "data", "schema", "default"),
      large.map((value) => [value, value, value]),
    )
  },

  async "keeps a large value that several runs have, until the last of them is removed"(store) {
    const value = { text: "x".repeat(100_000) }
    const snapshot = { seq: 1, data: value }
    for (const runId of ["a", "b", "c"]) {
      const lease = await start(store, runId, { value })
      await store.saveSnapshot(lease, snapshot)
      await end(store, lease)
    }
    for (const [gone, ...rest] of [
      ["a", "b", "c"],
      ["c", "b"],
    ]) {
      assert.equal(await store.remove(gone as string), true)
      for (const runId of rest) {
        assert.deepEqual((await store.read(runId, 0))[0], record(1, value))
        assert.deepEqual(plain(await store.snapshot(runId)), snapshot)
      }
    }
    const before = (await store.report()).blobs
    assert.ok(before.count <= 2, "a large value is kept once")
    await store.remove("b")
    assert.deepEqual((await store.report()).blobs, { count: 0, bytes: 0 })
  },

  async "keeps the large values of a later snapshot, and deletes those of the previous one"(store) {
    const lease = await start(store, "r")
    for (let seq = 1; seq <= 5; seq++) {
      const data = { kept: "k".repeat(100_000), now: `${seq}`.repeat(100_000) }
      await store.saveSnapshot(lease, { seq, data })
      assert.deepEqual(plain(await store.snapshot("r")), { seq, data })
    }
    assert.ok((await store.report()).blobs.count <= 2)
  },

  async "separates runs, whatever their ids, workflows, graphs, keys, threads and holders"(store) {
    for (const id of ODD_IDS) {
      const created = { workflow: id, graph: id, key: id, thread: id, holder: id }
      await start(store, id, {
        ...created,
        value: id,
        change: { graphs: [{ hash: id, graph: id }], thread: [set(id, id), add(`list ${id}`, id)] },
      })
    }
    for (const id of ODD_IDS) {
      const run = await runOf(store, id)
      const { runId, workflow, graph, key, thread, holder } = run
      assert.deepEqual([runId, workflow, graph, key, thread, holder], [id, id, id, id, id, id])
      await holds(store, id, [record(1, id)])
      assert.equal(await store.graph(id), id)
      const state = Object.fromEntries([
        [id, id],
        [`list ${id}`, [id]],
      ])
      assert.deepEqual(await store.thread(id), { version: 2, state })
      for (const query of [{ workflow: id }, { key: id }, { thread: id }]) {
        assert.deepEqual(fieldsOf(await store.runs(query), "runId"), [id])
      }
      assert.equal(
        (await store.runs({ text: id })).some((found) => found.runId === id),
        true,
      )
    }
  },

  async "separates questions and mail, whatever their ids and assignees"(store) {
    const opened = ODD_IDS.map((id) => request(id, { to: id, node: id, prompt: id, data: id }))
    await start(store, "r", { change: { opened, closed: [] } })
    for (const id of ODD_IDS) {
      const found = await store.requests({ to: id })
      assert.deepEqual(fieldsOf(found, "id", "to", "node", "prompt", "data"), [[id, id, id, id, id]])
    }
    for (const id of ODD_IDS) await store.post(mailTo("r", id))
    assert.deepEqual(fieldsOf(await store.mail("holder"), "id"), ODD_IDS)
    for (const id of ODD_IDS) await store.refuseMail(leaseOf("r"), id, { code: id, message: id })
    for (const id of ODD_IDS) {
      assert.deepEqual(await store.mailOutcome(id), { ok: false, code: id, message: id })
    }
  },

  async "separates holders, whatever their ids"(store) {
    for (const id of ODD_IDS) await store.beat({ id, machine: id, pid: 1, born: id })
    const ids = (await store.holders()).map((holder) => holder.id)
    assert.deepEqual(new Set(ids), new Set(ODD_IDS))
    assert.equal(ids.length, ODD_IDS.length)
    for (const id of ODD_IDS) {
      await start(store, id, { workflow: id })
      await take(store, id, id)
    }
    for (const [i, id] of ODD_IDS.entries()) {
      await store.dismiss(id, { reason: "closed" })
      const free = await store.free({ workflows: ODD_IDS, now: 0, limit: 100, suspects: false })
      assert.deepEqual(new Set(free.map((run) => run.runId)), new Set(ODD_IDS.slice(0, i + 1)))
    }
  },

  async "removes only the named run and thread, whatever their ids"(store) {
    for (const id of ODD_IDS) await startAndEnd(store, id, { thread: id, change: { thread: [set("k", id)] } })
    for (const [i, id] of ODD_IDS.entries()) {
      assert.equal(await store.remove(id), true)
      await store.removeThread(id)
      const rest = ODD_IDS.slice(i + 1)
      assert.deepEqual(fieldsOf(await store.runs({}), "runId"), rest.toReversed())
      for (const other of rest)
        assert.deepEqual(await store.thread(other), { version: 1, state: { k: other } })
    }
  },
}

const nested = (): Json => ({ list: [1, { deep: "value" }], text: "text" })

/** Everything that a store accepts. */
function everything() {
  return {
    holder: holder("holder"),
    records: [record(1, nested()), record(2, [nested()])],
    change: {
      created: {
        workflow: "workflow",
        graph: "hash",
        key: "key",
        thread: "thread",
        labels: { file: "file" },
      },
      graphs: [{ hash: "hash", graph: nested() }],
      opened: [request("question", { data: nested(), schema: nested(), default: nested() })],
      thread: [set("set", nested()), { key: "list", kind: "append" as const, value: [nested()] }],
    },
    snapshot: { seq: 1, data: nested() },
    mail: mailTo("r", "mail", { command: { type: "answer", request: "question", value: nested() } }),
  }
}

async function writeAll(store: Store, values: ReturnType<typeof everything>): Promise<void> {
  const lease = leaseOf("r")
  await store.beat(values.holder)
  await store.append(lease, 0, values.records, values.change)
  await store.saveSnapshot(lease, values.snapshot)
  await store.post(values.mail)
}

/** Everything that a store returns. */
async function readEverything(store: Store): Promise<object> {
  return {
    read: await store.read("r", 0),
    run: await store.run("r"),
    runs: await store.runs({}),
    requests: await store.requests({}),
    graph: await store.graph("hash"),
    thread: await store.thread("thread"),
    snapshot: await store.snapshot("r"),
    holders: await store.holders(),
    held: await store.held("holder"),
    mail: await store.mail("holder"),
  }
}

/** A store owns its data. Changing a value that was passed to it, or that it returned, changes nothing in it. */
export const ownedCases: StoreCases = {
  async "is not changed when a caller changes values that it passed"(store) {
    const written = everything()
    await writeAll(store, written)
    const before = plain(await readEverything(store))
    tamper(written)
    assert.deepEqual(plain(await readEverything(store)), before)
  },

  async "is not changed when a caller changes values that it received"(store) {
    await writeAll(store, everything())
    const handed = await readEverything(store)
    const before = plain(handed)
    tamper(handed)
    assert.deepEqual(plain(await readEverything(store)), before)
  },

  async "returns copies: later writes do not change a run, a question or a thread that was read"(store) {
    await writeAll(store, everything())
    const handed = await readEverything(store)
    const before = plain(handed)
    await store.append(leaseOf("r"), 2, [record(3, nested())], {
      status: "waiting",
      opened: [request("other")],
      closed: [{ id: "question", outcome: "answered", at: 1 }],
      thread: [set("set", "new"), { key: "list", kind: "append", value: ["new"] }],
    })
    await store.beat(holder("holder"))
    await store.saveSnapshot(leaseOf("r"), { seq: 3, data: "new" })
    assert.deepEqual(plain(handed), before)
  },
}
