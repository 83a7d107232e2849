import { expect, test } from "vitest"
import { freshStore } from "./stores.test-support.ts"

test("a process whose slot another one's leaving gave it is notified", async () => {
  const store = freshStore()
  const lanes = [{ name: "one", max: 1 }]
  for (const id of ["first", "second"]) await store.beat({ id, machine: "m", pid: 1, born: "" })
  const take = (id: string, holder: string) =>
    store.slots.take({ id, holder, pool: "pool", lanes, score: 0, now: () => 0 })
  let notify: () => void = () => undefined
  const service = store.slots.watch("second", () => notify())
  // What is sent before the connection listens is lost, as any notification may be.
  for (let n = 0, isNotified = false; !isNotified; n++) {
    const notified = new Promise<boolean>((resolve) => {
      notify = () => resolve(true)
      setTimeout(() => resolve(false), 500)
    })
    await take(`a ${n}`, "first")
    expect((await take(`b ${n}`, "second")).waiting).toEqual(new Set([`b ${n}`]))
    await store.slots.leave({ id: `a ${n}`, pool: "pool", now: () => 0 })
    isNotified = await notified
    await store.slots.leave({ id: `b ${n}`, pool: "pool", now: () => 0 })
  }
  service.close()
})
