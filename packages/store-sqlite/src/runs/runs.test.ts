import { type Context, node, workflow } from "@superstep/engine"
import { describe, expect, test } from "vitest"
import { drivers, freshPath, openStore } from "../stores.test-support.ts"

describe.each(drivers)("a run on SQLite by $name", ({ driver }) => {
  function review(ran: string[]) {
    const start = node("start", (n: number) => n)
    const worker = (id: string) =>
      node(id, async (n: number, ctx: Context) => {
        const twice = await ctx.step("twice", () => {
          ran.push(id)
          return n * 2
        })
        return { id, twice }
      })
    const ask = node("ask", async (parts: readonly { id: string; twice: number }[], ctx: Context) => {
      const total = await ctx.step("total", () => {
        ran.push("total")
        return parts.reduce((sum, { twice }) => sum + twice, 0)
      })
      return `${total} ${await ctx.ask({ prompt: "Good?", data: { total } })}`
    })
    const workers = [worker("a"), worker("b"), worker("c")] as const
    return workflow("review").start(start).fanOut(start, workers).fanIn(workers, ask).build()
  }

  test("continues in another store on the same file: finished work is not repeated", async () => {
    const path = freshPath()
    const ran: string[] = []
    const first = openStore(path, driver)
    const waiting = await review(ran).run(21, { store: first, runId: "r" })
    expect(waiting).toMatchObject({ status: "waiting", requests: [{ id: "r1", prompt: "Good?" }] })
    await first.close()

    const second = openStore(path, driver)
    // The process that had it is this one, and alive.
    const again = review(ran).resume("r", { store: second, takeOver: true })
    expect(await again).toMatchObject({ status: "waiting" })
    await again.respond("r1", "yes")
    expect(await again).toMatchObject({ status: "completed", outputs: ["126 yes"] })
    expect(ran).toEqual(["a", "b", "c", "total"])
    await second.close()

    const third = openStore(path, driver)
    expect(await review(ran).resume("r", { store: third })).toMatchObject({ outputs: ["126 yes"] })
    expect(ran).toHaveLength(4)
    await third.close()
  })

  test("under an id that the file has is that run, if it is the same, and else gets RUN_EXISTS", async () => {
    const store = openStore(freshPath(), driver)
    const ran: number[] = []
    const start = node("start", (n: number) => {
      ran.push(n)
      return n
    })
    const flow = workflow("w").start(start).build()
    for (let i = 0; i < 2; i++) {
      expect(await flow.run(1, { store, runId: "r" })).toMatchObject({ status: "completed", outputs: [1] })
    }
    await expect(flow.run(2, { store, runId: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" })
    expect(ran).toEqual([1])
    await store.close()
  })
})
