/** When awaiting a run reports that it waits: once nothing in it executes any more. */
import { describe, expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { type Context, memoryStore, node, workflow } from "../../index.ts"
import { scriptedModel } from "../../models/index.ts"
import { settled } from "../../testing/index.ts"
import { tool } from "../../tools/index.ts"

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

describe.each([
  ["without a store", () => undefined],
  ["with a store", () => memoryStore()],
])("a run that asks, %s", (_, makeStore) => {
  test("is not waiting while a step beside the question is under way", async () => {
    const work = deferred<string>()
    const both = workflow("both")
      .start(
        node("both", async (n: number, ctx: Context) => {
          const [answer, done] = await Promise.all([
            ctx.ask<string>("Continue?"),
            ctx.step("work", () => work.promise),
          ])
          return `${n} ${answer} ${done}`
        }),
      )
      .build()
    const run = both.run(1, { store: makeStore() })
    let status: string | undefined
    const waiting = run.result.then((result) => {
      status = result.status
    })
    await settled()
    await settled()
    expect(status).toBeUndefined()
    work.resolve("done")
    await waiting
    expect(status).toBe("waiting")
    await run.respond("r1", "yes")
    expect((await run).outputs).toEqual(["1 yes done"])
  })

  test("lists all questions of a handler that asks them one after another", async () => {
    const steps = [deferred<string>(), deferred<string>()]
    const several = workflow("several")
      .start(
        node("several", async (_: number, ctx: Context) => {
          const first = ctx.ask<string>("First?")
          const [a, b] = steps.map((step, i) => ctx.step(`step ${i}`, () => step.promise))
          await a
          const second = ctx.ask<string>("Second?")
          await b
          return [await first, await second, await ctx.ask<string>("Third?")]
        }),
      )
      .build()
    const run = several.run(1, { store: makeStore() })
    const result = run.result
    await settled()
    steps[0]?.resolve("a")
    await settled()
    steps[1]?.resolve("b")
    expect((await result).requests.map(({ prompt }) => prompt)).toEqual(["First?", "Second?"])
    await run.respond("r1", "1")
    await run.respond("r2", "2")
    expect((await run).requests.map(({ prompt }) => prompt)).toEqual(["Third?"])
  })

  test("lists both approvals of one turn of an agent, however long the rules take", async () => {
    const rule = deferred<"ask">()
    const pay = tool({
      name: "pay",
      description: "Pays.",
      approval: "always",
      run: () => "paid",
    })
    const refund = tool({
      name: "refund",
      description: "Refunds.",
      approval: () => rule.promise,
      run: () => "refunded",
    })
    const clerk = agent({
      name: "clerk",
      model: scriptedModel([
        {
          tool_calls: [
            { name: "pay", id: "c1", args: {} },
            { name: "refund", id: "c2", args: {} },
          ],
        },
        "Both done.",
      ]),
      tools: [pay, refund],
    })
    const run = clerk.run("Pay and refund.", { store: makeStore() })
    const result = run.result
    await settled()
    rule.resolve("ask")
    const { requests } = await result
    expect(requests).toHaveLength(2)
    for (const { id } of requests) await run.respond(id, { approve: true })
    expect((await run).status).toBe("completed")
  })
})
