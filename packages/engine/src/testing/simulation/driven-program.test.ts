/** The checks of the simulator: each must find its problem. */
import { expect, test } from "vitest"
import type { Entry, Machine } from "../../core/index.ts"
import { node, type RunOptions, type Workflow, workflow } from "../../index.ts"
import type { Context } from "../../runtime/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { Driver, type Executions } from "./driven-program.ts"
import { seededRandom } from "./simulate-options.ts"
import { SimulatedJournal } from "./simulated-journal.ts"
import { SimulatedProcess } from "./simulated-process.ts"

const first = node({
  id: "first",
  retry: { attempts: 2, delay: 0 },
  run: (n: number, ctx) => ctx.step("s", () => n),
})
const flow = workflow("flow")
  .chain(
    first,
    node("second", (n: number) => n),
  )
  .build()

function surroundings(of: Workflow<number> = flow) {
  const broken: string[] = []
  const onBroken = (problem: string) => broken.push(problem)
  const journal = new SimulatedJournal(onBroken)
  const random = seededRandom(1)
  const process = new SimulatedProcess({
    random,
    journal,
    rows: memoryStore(),
    time: { now: 0 },
    dead: new Set(),
    duplicateTimers: 0,
    snapshots: 1_000,
    death: undefined,
    onBroken,
  })
  const executions: Executions = new Map()
  const steps = new Map<string, number>()
  const driver = new Driver({
    executions,
    steps,
    runId: "r",
    random,
    journal,
    process,
    fail: 0,
    changeSent: false,
    onBroken,
  })
  const program = driver.drive(of.program)
  const record = (entry: Entry) =>
    journal.append(journal.length, JSON.stringify([{ seq: journal.length + 1, frame: "", entry, events: 0 }]))
  /** The entries of a real run. */
  const entries = async (options: RunOptions = {}) => {
    const store = memoryStore()
    await of.run(1, { ...options, store, runId: "r" })
    return (await store.read("r", 0)).map(({ entry }) => entry)
  }
  const call = (node: number, task: number, attempt = 1) => {
    const ctx = { node: of.program.graph.nodes[node]?.id, task, attempt, idempotencyKey: `r:${task}` }
    const paid = { mayHaveRun: false, reserve: () => undefined }
    const step: Context["step"] = async (_, run) => run(paid)
    void program.nodes[node]?.handlers[0]?.run(1 as never, { ...ctx, step } as Context, undefined as never)
  }
  return { broken, executions, journal, process, record, entries, call }
}

test("a handler may run for a task in progress", async () => {
  const { broken, executions, record, entries, call } = surroundings()
  const [started] = await entries()
  record(started as Entry)
  call(0, 1)
  expect(broken).toEqual([])
  expect([...executions.values()]).toMatchObject([{ node: "first", calls: 1, repetitions: 0 }])
})

test("a handler that starts twice in one process breaks M1", async () => {
  const { broken, executions, record, entries, call } = surroundings()
  const [started] = await entries()
  record(started as Entry)
  call(0, 1)
  call(0, 1)
  expect(broken).toEqual(['"first" (task 1, attempt 1) starts twice in one process (M1)'])
  expect([...executions.values()]).toMatchObject([{ node: "first", calls: 2, repetitions: 0 }])
})

test("a handler that runs after its task's end is recorded breaks M1", async () => {
  const { broken, executions, record, entries, call } = surroundings()
  for (const entry of (await entries()).slice(0, 3)) record(entry)
  call(0, 1)
  expect(broken).toEqual(['"first" (task 1, attempt 1) runs again although its end is recorded (M1)'])
  expect([...executions.values()]).toMatchObject([{ repetitions: 1 }])
})

test("a step that runs although it is recorded breaks M1", async () => {
  const { broken, record, entries, call } = surroundings()
  for (const entry of (await entries()).slice(0, 2)) record(entry)
  call(0, 1)
  expect(broken).toEqual(['"step:s" of "first" (task 1) runs again although it is recorded (M1)'])
})

test("a handler that runs before the entry that caused it is durable breaks M2", async () => {
  const { broken, record, entries, call } = surroundings()
  const [started] = await entries()
  record(started as Entry)
  call(1, 2)
  expect(broken).toEqual(['"second" (task 2, attempt 1) runs although the journal does not know it yet (M2)'])
})

test("a handler that runs in another attempt than the journal's breaks M8", async () => {
  const { broken, record, entries, call } = surroundings()
  const [started] = await entries()
  record(started as Entry)
  record({ type: "task.failed", at: 0, task: 1, attempt: 1, error: { code: "X", message: "x" } })
  call(0, 1, 1)
  expect(broken).toEqual(['"first" (task 1, attempt 1) runs although the journal has attempt 2 (M8)'])
})

test("a journal that cannot be folded breaks M6", async () => {
  const { broken, record, entries } = surroundings()
  const [started] = await entries()
  record(started as Entry)
  record({ type: "timer.fired", at: 0, timer: "sleep:1:x" })
  expect(broken).toHaveLength(1)
  expect(broken[0]).toContain("the journal cannot be folded (M6): record 2, timer.fired")
})

test("an entry after the end is found", async () => {
  const { broken, record, entries } = surroundings()
  for (const entry of await entries()) record(entry)
  expect(broken).toEqual([])
  record({ type: "run.cancelled", at: 9 })
  expect(broken[0]).toContain("something is journaled after the run has ended")
})

test("two processes cannot write the same record", async () => {
  const { journal, record, entries } = surroundings()
  const [started] = await entries()
  record(started as Entry)
  expect(() => journal.append(0, "[]")).toThrow(expect.objectContaining({ code: "JOURNAL_CONFLICT" }))
})

test("a step with a repeated name is identified by its number", async () => {
  const twice = node("first", (n: number, ctx) =>
    Promise.all([ctx.step("s", () => n), ctx.step("s", () => n)]),
  )
  const { broken, record, entries, call } = surroundings(workflow("twice").start(twice).build())
  const [started, , second] = await entries()
  for (const entry of [started, second]) record(entry as Entry)
  call(0, 1)
  expect(broken).toEqual(['"step#2:s" of "first" (task 1) runs again although it is recorded (M1)'])
})

test("a slow process may repeat work that it does not know about", async () => {
  const { broken, process, record, entries, call } = surroundings()
  for (const entry of (await entries()).slice(0, 3)) record(entry)
  process.isSlow = true
  call(0, 1)
  expect(broken).toEqual([])
})

test("a snapshot that differs from the journal breaks M6", async () => {
  const { broken, journal, record, entries } = surroundings()
  for (const entry of (await entries()).slice(0, 2)) record(entry)
  const machine = (journal.root as Machine).snapshot()
  const frame = { key: "", graph: "g", started: { at: 0, workflow: "flow" }, machine }
  const snapshot = { version: 1, at: 0, events: 0, answered: [] } as const
  journal.checkSnapshot(2, { ...snapshot, frames: [frame] })
  expect(broken).toEqual([])
  journal.checkSnapshot(1, { ...snapshot, frames: [frame] })
  expect(broken).toHaveLength(1)
  expect(broken[0]).toContain(
    'the snapshot after record 1, frame "", differs from the journal (M6): tasks is',
  )
  journal.checkSnapshot(2, { ...snapshot, frames: [{ ...frame, key: "1.1:call:x" }] })
  expect(broken[1]).toContain("the frame does not exist")
})
