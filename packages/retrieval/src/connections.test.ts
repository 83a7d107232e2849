import { expect, test } from "vitest"
import { Semaphore } from "./connections.ts"

function held() {
  let release!: () => void
  const work = new Promise<void>((resolve) => {
    release = resolve
  })
  return { work: () => work, release }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))

test("work waits for a slot, in order, and a failure frees its slot", async () => {
  const turns = new Semaphore(1)
  const first = held()
  const done: string[] = []
  const all = [
    turns.take(undefined, () => first.work().then(() => done.push("first"))),
    turns
      .take(undefined, async () => {
        done.push("second")
        throw new Error("no")
      })
      .catch(() => undefined),
    turns.take(undefined, async () => done.push("third")),
  ]
  await settled()
  expect(done).toEqual([])
  first.release()
  await Promise.all(all)
  expect(done).toEqual(["first", "second", "third"])
})

test("an aborted waiter does not keep the slot", async () => {
  const turns = new Semaphore(1)
  const first = held()
  const running = turns.take(undefined, first.work)
  const controller = new AbortController()
  const left = turns.take(controller.signal, () => Promise.reject(new Error("must not run")))
  const after = turns.take(undefined, async () => "ran")
  controller.abort(new Error("left"))
  await expect(left).rejects.toThrow("left")
  first.release()
  await running
  expect(await after).toBe("ran")
})
