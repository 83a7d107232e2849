import type { SpreadOutcome, SpreadTask } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { performChunk } from "./perform-chunk.ts"

const task = (n: number) => ({ runId: "r", task: `t${n}`, attempt: 1, message: n }) as unknown as SpreadTask
const outcome = (n: number): SpreadOutcome => ({ values: [n] })

/** What Restate does: an existing entry is returned, and a new one is stored when its action has returned. */
class FakeContext {
  readonly entries: unknown[]
  #next = 0

  constructor(entries: readonly unknown[] = []) {
    this.entries = [...entries]
  }

  async run<T>(_: string, act: () => Promise<T>): Promise<T> {
    const number = this.#next++
    if (number < this.entries.length) return this.entries[number] as T
    const result = await act()
    this.entries.push(result)
    return result
  }
}
const contextOf = (fake: FakeContext) => fake as unknown as Parameters<typeof performChunk>[0]

describe("a chunk", () => {
  test("records tasks that end together in one entry, and returns the outcome of each", async () => {
    const fake = new FakeContext()
    const tasks = [0, 1, 2, 3].map(task)
    const found = await performChunk(contextOf(fake), tasks, async ({ message }) => outcome(Number(message)))
    expect(found).toEqual({ "t0/1": outcome(0), "t1/1": outcome(1), "t2/1": outcome(2), "t3/1": outcome(3) })
    expect(fake.entries).toHaveLength(1)
  })

  test("records a task when it ends, while others execute", async () => {
    const fake = new FakeContext()
    let finish: (outcome: SpreadOutcome) => void = () => undefined
    const second = new Promise<SpreadOutcome>((resolve) => {
      finish = resolve
    })
    const tasks = [0, 1].map(task)
    const all = performChunk(contextOf(fake), tasks, ({ message }) =>
      message === 0 ? Promise.resolve(outcome(0)) : second,
    )
    await expect.poll(() => fake.entries, { timeout: 30_000 }).toEqual([{ "t0/1": outcome(0) }])
    finish(outcome(1))
    expect(await all).toEqual({ "t0/1": outcome(0), "t1/1": outcome(1) })
    expect(fake.entries).toHaveLength(2)
  })

  test("that is repeated executes only what is not recorded", async () => {
    const executed: unknown[] = []
    const fake = new FakeContext([{ "t1/1": outcome(1) }, { "t0/1": outcome(0) }])
    const found = await performChunk(contextOf(fake), [0, 1, 2].map(task), async ({ message }) => {
      executed.push(message)
      return outcome(Number(message))
    })
    expect(executed).toEqual([2])
    expect(Object.keys(found).sort()).toEqual(["t0/1", "t1/1", "t2/1"])
  })

  test("records what has ended before it fails", async () => {
    const fake = new FakeContext()
    const all = performChunk(contextOf(fake), [0, 1].map(task), ({ message }) =>
      message === 0 ? Promise.resolve(outcome(0)) : Promise.reject(new Error("no such workflow")),
    )
    await expect(all).rejects.toThrow("no such workflow")
    expect(fake.entries).toEqual([{ "t0/1": outcome(0) }])
  })
})
