import { describe, expect, test } from "vitest"
import type { Json } from "../core/index.ts"
import type { JournalRecord } from "../runtime/index.ts"
import { registrySuite, storeSuite } from "../testing/index.ts"
import { memoryStore } from "./memory.ts"

const lease = { runId: "r", holder: "me", token: 1 }
const created = { workflow: "w", graph: "g", thread: "t" }

function record(seq: number, value: Json): JournalRecord {
  return { seq, frame: "", entry: { type: "step.recorded", at: seq, task: 1, key: "k", value }, events: seq }
}

describe("the memory store", () => {
  for (const { name, run } of storeSuite("memory", memoryStore)) test(name, run)
  for (const { name, run } of registrySuite("memory", () => memoryStore().registry)) test(name, run)

  test("has nothing to wait for: every method answers at once, and refuses at once", () => {
    const store = memoryStore()
    const holder = { id: "me", machine: "m", pid: 1, born: "" }
    const answers = [
      store.append(lease, 0, [record(1, 1)], { created }),
      store.read("r", 0),
      store.saveSnapshot(lease, { seq: 1, data: 1 }),
      store.run("r"),
      store.runs({}),
      store.requests({}),
      store.beat(holder),
      store.free({ workflows: ["w"], now: 0, limit: 1, suspects: false }),
      store.claim("r", 1, "other"),
      store.post({ id: "m", runId: "r", at: 1, wish: { type: "cancel" } }),
      store.mail("other"),
      store.thread("t"),
      store.prune({ keep: 0 }),
      store.report(),
      store.close(),
    ]
    expect(answers[0]).toBeUndefined()
    for (const answer of answers) expect(answer).not.toBeInstanceOf(Promise)
    expect(() => store.append(lease, 1, [record(2, 1)])).toThrow(
      expect.objectContaining({ code: "RUN_TAKEN" }),
    )
  })

  test("keeps records and snapshots as they are, without a copy", () => {
    const store = memoryStore()
    const records = [record(1, { a: 1 }), record(2, { b: 2 })]
    const snapshot = { seq: 2, data: { c: 3 } }
    store.append(lease, 0, records, { created })
    store.saveSnapshot(lease, snapshot)
    const read = store.read("r", 0) as readonly JournalRecord[]
    expect(read[0]).toBe(records[0])
    expect(read[1]).toBe(records[1])
    expect(store.snapshot("r")).toBe(snapshot)
  })

  test("works out sizes only when it is asked for them, and of each record once", () => {
    let written = 0
    const counted = Object.defineProperty({}, "toJSON", { value: () => (written += 1) }) as Json
    const store = memoryStore()
    store.append(lease, 0, [record(1, counted)], { created })
    store.append(lease, 1, [record(2, counted), record(3, counted)])
    const run = store.run("r")
    store.runs({})
    store.free({ workflows: ["w"], now: 0, limit: 1, suspects: false })
    expect(written).toBe(0)
    expect(run).toMatchObject({ seq: 3, bytes: expect.any(Number) })
    expect(written).toBe(3)
    store.append(lease, 3, [record(4, counted)])
    store.report()
    store.saveSnapshot(lease, { seq: 4, data: 1 })
    expect(written).toBe(4)
  })

  test("tells the size that the journal had at the time", () => {
    const store = memoryStore()
    store.append(lease, 0, [record(1, "one")], { created })
    const before = store.run("r") as { bytes: number }
    store.append(lease, 1, [record(2, "two")])
    const after = store.run("r") as { bytes: number }
    expect(after.bytes).toBe(before.bytes * 2)
  })
})
