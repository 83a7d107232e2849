import { expect, test } from "vitest"
import { node, workflow } from "../../index.ts"
import { memoryStore } from "../../stores/index.ts"
import { settled } from "../manual-clock.ts"
import { seededRandom } from "./simulate-options.ts"
import { SimulatedJournal } from "./simulated-journal.ts"
import { SimulatedProcess } from "./simulated-process.ts"

const flow = workflow("flow")
  .start(node("n", (n: number) => n))
  .build()

async function process(seed = 1) {
  const broken: string[] = []
  const onBroken = (problem: string) => broken.push(problem)
  const journal = new SimulatedJournal(onBroken)
  journal.knows(flow.program)
  const time = { now: 0 }
  const rows = memoryStore()
  const made = new SimulatedProcess({
    random: seededRandom(seed),
    journal,
    rows,
    time,
    dead: new Set(),
    duplicateTimers: 0,
    snapshots: 1_000,
    death: undefined,
    onBroken,
  })
  const store = memoryStore()
  await flow.run(1, { store, runId: "r" })
  const records = [...(await store.read("r", 0))]
  /** Writes the run's first records. */
  const append = (first = records) => made.store.append(lease, 0, first, { created })
  return { process: made, journal, rows, time, broken, records, append }
}

const lease = { runId: "r", holder: "one", token: 1 }
const created = { workflow: "flow", graph: "hash" }

/** A seed under which the first append takes time. */
const LATER = 1

test("a turn happens once, and turns can be taken in any order", async () => {
  const { process: one } = await process()
  const happened: string[] = []
  void one.turn("handler").then(() => happened.push("first"))
  void one.turn("step").then(() => happened.push("second"))
  expect(one.turns.map(({ kind }) => kind)).toEqual(["handler", "step"])
  one.turns[1]?.take()
  await settled()
  expect(happened).toEqual(["second"])
  expect(one.turns.map(({ kind }) => kind)).toEqual(["handler"])
})

test("records are in the journal when the write's turn comes, not before", async () => {
  const { process: one, journal, rows, records, append } = await process(LATER)
  const written = append()
  expect(written).toBeInstanceOf(Promise)
  expect([journal.length, await rows.run("r")]).toEqual([0, undefined])
  one.turns[0]?.take()
  await written
  expect(journal.records()).toEqual(JSON.parse(JSON.stringify(records)))
  expect(await one.store.read("r", 0)).toEqual(journal.records())
  expect(await one.store.run("r")).toMatchObject({ workflow: "flow", seq: 2, holder: "one" })
})

test("nothing of a dead process happens: no turn, no timer, no write", async () => {
  const { process: one, journal, rows, append } = await process()
  let happened = false
  void one.turn("handler").then(() => (happened = true))
  one.clock.setTimer(5, () => (happened = true))
  one.die()
  expect(one.turns).toEqual([])
  expect(one.dueTimers).toEqual([])
  void one.turn("step").then(() => (happened = true))
  one.clock.setTimer(6, () => (happened = true))
  expect(one.turns).toEqual([])
  expect(one.dueTimers).toEqual([])
  expect(() => append()).toThrow(expect.objectContaining({ code: "FENCED" }))
  await settled()
  expect([happened, journal.length, await rows.run("r")]).toEqual([false, 0, undefined])
})

test("a write in progress when the process dies reaches the journal under some seeds, completely or not at all", async () => {
  const lengths = new Set<number>()
  for (let seed = 1; seed <= 40; seed++) {
    const { process: one, journal, rows, append } = await process(seed)
    if (append() === undefined) continue
    one.die()
    lengths.add(journal.length)
    // The rows of the store never disagree with the end of the journal.
    expect((await rows.run("r"))?.seq ?? 0).toBe(journal.length)
  }
  expect(lengths).toEqual(new Set([0, 2]))
})

test("the next timers are those with the earliest time, and time advances to it when one fires", async () => {
  const { process: one, time } = await process()
  const fired: string[] = []
  one.clock.setTimer(20, () => fired.push("late"))
  one.clock.setTimer(10, () => fired.push("a"))
  const takeBack = one.clock.setTimer(10, () => fired.push("b"))
  expect(one.dueTimers).toHaveLength(2)
  one.dueTimers[0]?.take()
  expect(time.now).toBe(10)
  takeBack()
  one.dueTimers[0]?.take()
  expect([time.now, fired]).toEqual([20, ["a", "late"]])
})

test("values that are not JSON, or change while they are written, are found (M6)", async () => {
  const { process: one, broken, records, append } = await process(LATER)
  const [started, finished] = records as [(typeof records)[0], (typeof records)[0]]
  const input: number[] = [1]
  void append([{ ...started, entry: { ...started.entry, input } as typeof started.entry }])
  input.push(2)
  one.turns[0]?.take()
  expect(broken[0]).toContain("data changed after it was sent")
  void one.store.append(lease, 1, [{ ...finished, events: Number.POSITIVE_INFINITY }])
  expect(broken[1]).toContain("not valid JSON (M6): [0].events is Infinity")
})
