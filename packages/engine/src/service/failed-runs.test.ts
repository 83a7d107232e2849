/** What becomes known of a run that failed. */
import { describe, expect, test } from "vitest"
import { memoryStore, node, type RuntimeProblem, workflow } from "../index.ts"
import { controlled, settled } from "../testing/index.ts"
import { ask, processOn } from "./processes.test-support.ts"

const fails = workflow("fails")
  .start(
    node("try", (n: number): number => {
      throw new Error(`no luck with ${n}`)
    }),
  )
  .build()

function observed(options: Parameters<typeof processOn>[1] = {}) {
  const problems: RuntimeProblem[] = []
  const store = memoryStore()
  const onProblem = (problem: RuntimeProblem) => problems.push(problem)
  return { ...processOn(store, { workflows: [fails, ask], onProblem, ...options }), store, problems }
}

describe("a run that fails", () => {
  test("has its code, message and node in its row", async () => {
    const { runtime } = observed()
    await runtime.start(fails, 1, { runId: "r" }).result
    const [row] = await runtime.runs({ status: ["failed"] })
    expect(row?.error).toMatchObject({ message: expect.stringContaining("no luck with 1"), node: "try" })
    expect(row?.error?.code).toBe((await runtime.get("r").result).error?.code)
    await runtime.close()
  })

  test("is reported to onProblem when nobody awaits or watches it", async () => {
    const { runtime, problems } = observed()
    runtime.start(fails, 1, { runId: "r" })
    await settled()
    await settled()
    expect(problems).toMatchObject([{ runId: "r", error: { run: "r", node: "try" } }])
    expect(problems[0]?.error.message).toMatch(
      /Run "r" of workflow "fails" failed at node "try".*no luck with 1/,
    )
    await runtime.close()
  })

  test("is not reported when somebody does", async () => {
    const { runtime, problems } = observed()
    await expect(runtime.start(fails, 1)).rejects.toThrow("no luck")
    await runtime.start(fails, 2).result
    const types: string[] = []
    for await (const { type } of runtime.stream(fails, 3)) types.push(type)
    await settled()
    await settled()
    expect(types.at(-1)).toBe("run.finished")
    expect(problems).toEqual([])
    await runtime.close()
  })

  test("is not reported when it was cancelled or completed", async () => {
    const work = controlled<number, number>("work")
    const flow = workflow("work").start(work).build()
    const { runtime, problems } = observed({ workflows: [flow] })
    runtime.start(flow, 1, { runId: "cancelled" })
    runtime.start(flow, 2, { runId: "completed" })
    await settled()
    await runtime.cancel("cancelled")
    work.finish(2)
    await settled()
    await settled()
    expect(problems).toEqual([])
    expect(await runtime.runs()).toMatchObject([
      { runId: "completed", status: "completed" },
      { runId: "cancelled", status: "cancelled", error: { code: "CANCELLED" } },
    ])
    await runtime.close()
  })

  test("says so when it is cancelled while no process holds it", async () => {
    const { runtime, store } = observed()
    await runtime.start(ask, 1, { runId: "r" })
    await runtime.close()
    const clerk = processOn(store, { workflows: [] })
    await clerk.runtime.cancel("r", "the order is gone")
    expect(await store.run("r")).toMatchObject({ error: { code: "CANCELLED", message: "the order is gone" } })
    await clerk.runtime.close()
  })
})
