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
      store.post({ id: "m", runId: "r", at: 1, command: { type: "cancel" } }),
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

  test("keeps values as they are, without a copy, and freezes them", () => {
    const store = memoryStore()
    const frozen = Object.freeze({ list: Object.freeze([1, 2]) })
    const loose = { list: [1, 2] }
    store.append(lease, 0, [record(1, frozen), record(2, { frozen }), record(3, loose)], { created })
    store.saveSnapshot(lease, { seq: 3, data: frozen })
    const values = (store.read("r", 0) as readonly JournalRecord[]).map(
      ({ entry }) => (entry as { value: Json }).value,
    )
    expect(values[0]).toBe(frozen)
    expect((values[1] as { frozen: Json }).frozen).toBe(frozen)
    expect(values[2]).toBe(loose)
    expect(Object.isFrozen(loose.list)).toBe(true)
    expect((store.snapshot("r") as { data: Json }).data).toBe(frozen)
    const [first] = store.read("r", 0) as readonly JournalRecord[]
    expect((store.read("r", 0) as readonly JournalRecord[])[0]).toBe(first)
  })

  test("works out sizes only when it is asked for them, and of each record once", () => {
    let written = 0
    const counted = Object.freeze({ toJSON: () => (written += 1) }) as unknown as Json
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
