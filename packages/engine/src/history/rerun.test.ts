import { describe, expect, test } from "vitest"
import { channel, node, reducer, workflow } from "../index.ts"
import { textStore } from "../runtime/journal/stores.test-support.ts"
import { rerun } from "./index.ts"

/** A chain of three nodes; `ran` gets the id of each that runs. */
function steps(ran: string[]) {
  const step = (id: string) =>
    node(id, (n: number) => {
      ran.push(id)
      return n + 1
    })
  return workflow("steps").chain(step("a"), step("b"), step("c")).build()
}

describe("a rerun", () => {
  test("of a failed run retries what failed, with the earlier records", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = (fixed: boolean) => {
      const work = node("work", async (n: number, ctx) => {
        const paid = await ctx.step("pay", () => {
          ran.push("pay")
          return n * 2
        })
        if (!fixed) throw new Error("a bug")
        return paid
      })
      return workflow("w")
        .chain(
          node("first", (n: number) => n),
          work,
        )
        .build()
    }
    await built(false).run(4, { store, runId: "r" }).result
    const id = await rerun(store, "r")
    expect((await built(true).resume(id, { store })).outputs).toEqual([8])
    expect(ran).toEqual(["pay"])
  })

  test("of one that failed in a sub-workflow continues inside it", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = (fixed: boolean) => {
      const inner = workflow("inner")
        .chain(
          node("x", (n: number) => {
            ran.push("x")
            return n
          }),
          node("y", (n: number) => {
            if (!fixed) throw new Error("a bug")
            return n
          }),
        )
        .build()
      return workflow("outer")
        .chain(
          node("first", (n: number) => n),
          inner.asNode(),
        )
        .build()
    }
    await built(false).run(4, { store, runId: "r" }).result
    const id = await rerun(store, "r")
    ran.length = 0
    expect((await built(true).resume(id, { store })).outputs).toEqual([4])
    expect(ran).toEqual([])
  })

  test("continues inside it too if the caller failed with the inner error, or because of it", async () => {
    const unwrapped = (error: unknown) => (error as Error).cause
    const wrapped = (error: unknown) => new Error("the caller's words", { cause: (error as Error).cause })
    for (const rethrown of [unwrapped, wrapped]) {
      const store = textStore()
      const ran: string[] = []
      const built = (fixed: boolean) => {
        const x = node("x", (n: number) => {
          ran.push("x")
          return n
        })
        const y = node("y", (n: number) => {
          if (!fixed) throw new Error("a bug")
          return n
        })
        const inner = workflow("inner").chain(x, y).build()
        const calls = node("calls", async (n: number, ctx) => {
          return await ctx.call(inner, n).catch((error: unknown) => {
            throw rethrown(error)
          })
        })
        return workflow("outer").start(calls).build()
      }
      await built(false).run(4, { store, runId: "r" }).result
      const id = await rerun(store, "r")
      expect((await built(true).resume(id, { store })).outputs).toEqual([[4]])
      expect(ran).toEqual(["x"])
    }
  })

  test("of one whose reducer failed reduces again", async () => {
    const store = textStore()
    const built = (fixed: boolean) => {
      const sum = channel(
        "sum",
        reducer<number>("sum", (current, write) => {
          if (!fixed) throw new Error("a bug")
          return (current ?? 0) + write
        }),
      )
      return workflow("w", { state: [sum] })
        .start(node("writes", (n: number, ctx) => ctx.state.write(sum, n)))
        .build()
    }
    expect((await built(false).run(4, { store, runId: "r" }).result).error?.code).toBe("REDUCER_FAILED")
    const id = await rerun(store, "r")
    expect((await built(true).resume(id, { store })).state).toEqual({ sum: 4 })
  })

  test("from a superstep, a task or a node runs that again, and what follows", async () => {
    const store = textStore()
    const ran: string[] = []
    const built = steps(ran)
    await built.run(1, { store, runId: "r" })
    const again = async (options: Parameters<typeof rerun>[2]) => {
      ran.length = 0
      await built.resume(await rerun(store, "r", options), { store })
      return ran.join("")
    }
    expect(await again({ from: { superstep: 1 } })).toBe("abc")
    expect(await again({ from: { superstep: 2 } })).toBe("bc")
    expect(await again({ from: { task: 3 } })).toBe("c")
    expect(await again({ from: { node: "b" } })).toBe("bc")
  })

  test("from a node of a loop runs its last visit again", async () => {
    const store = textStore()
    const ran: number[] = []
    const step = node("step", (n: number) => {
      ran.push(n)
      return n + 1
    })
    const built = workflow("w")
      .start(step)
      .edge(step, step, { when: (n: number) => n < 3, max: 9 })
      .build()
    await built.run(0, { store, runId: "r" })
    ran.length = 0
    await built.resume(await rerun(store, "r", { from: { node: "step" } }), { store })
    expect(ran).toEqual([2])
  })

  test("of a run that did not fail needs a point to start from", async () => {
    const store = textStore()
    await steps([]).run(1, { store, runId: "r" })
    await expect(rerun(store, "r")).rejects.toMatchObject({ code: "RUN_NOT_FAILED" })
    await expect(rerun(store, "r", { from: { superstep: 4 } })).rejects.toMatchObject({
      code: "SUPERSTEP_UNKNOWN",
      message: 'Run "r" has no superstep 4; it has 1 to 3.',
    })
    await expect(rerun(store, "r", { from: { node: "d" } })).rejects.toMatchObject({
      code: "NODE_UNKNOWN",
      message: 'Run "r" did not run node "d"; it ran "a", "b", "c".',
    })
  })
})
