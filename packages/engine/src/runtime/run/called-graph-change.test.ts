/** A sub-workflow that is reached through a handler or a tool changes while a run waits in it. */
import { describe, expect, test } from "vitest"
import { agent, workflowTool } from "../../agents/index.ts"
import { type Context, memoryStore, node, Runtime, type Workflow, workflow } from "../../index.ts"
import { scriptedModel } from "../../models/index.ts"
import { manualClock, settled } from "../../testing/index.ts"

/** Asks at node "ask", and passes on the answer. */
function approval(...ids: readonly string[]) {
  const nodes = ["ask", ...ids].map((id) =>
    node(id, async (text: string, ctx: Context): Promise<string> => {
      return id === "ask" ? await ctx.ask<string>(`${text}: allow?`) : text
    }),
  )
  return workflow("approval")
    .chain(...(nodes as [(typeof nodes)[0]]))
    .build()
}

const seen: string[] = []

/** The same run, with another version of what it calls. */
const variants: [string, (...ids: readonly string[]) => Workflow<string, unknown>][] = [
  [
    "ctx.call",
    (...ids) =>
      workflow("parent")
        .start(
          node("caller", async (text: string, ctx: Context) => {
            await ctx.step("before", () => seen.push("step"))
            return (await ctx.call(approval(...ids), text))[0] ?? ""
          }),
        )
        .build(),
  ],
  [
    "ctx.call in a handler that catches errors",
    (...ids) =>
      workflow("parent")
        .start(
          node("caller", async (text: string, ctx: Context) => {
            try {
              return (await ctx.call(approval(...ids), text))[0] ?? ""
            } catch {
              return "swallowed"
            }
          }),
        )
        .build(),
  ],
  [
    "an agent's workflowTool",
    (...ids) => {
      const clerk = agent({
        name: "caller",
        model: scriptedModel([{ tool_calls: [{ name: "approve", id: "c1", args: { input: "pay" } }] }, "no"]),
        tools: [workflowTool(approval(...ids), { name: "approve", description: "Asks." })],
      })
      return workflow("parent").start(clerk.asNode()).build() as Workflow<string, unknown>
    },
  ],
]

describe.each(variants)("a sub-workflow reached through %s", (_, version) => {
  const started = async () => {
    const store = memoryStore()
    const old = version()
    const runtime = new Runtime({ store, workflows: [old] })
    expect(await runtime.start(old, "pay", { runId: "r" })).toMatchObject({ status: "waiting" })
    await runtime.close()
    return store
  }

  test("is refused like the run's own graph: the run waits for its version, and its question stays open", async () => {
    const store = await started()
    const before = await store.read("r", 0)
    const problems: unknown[] = []
    const next = version("log")
    const runtime = new Runtime({ store, workflows: [next], onProblem: (problem) => problems.push(problem) })
    const [request] = await runtime.requests()
    await expect(runtime.respond("r", request?.id ?? "", "yes")).rejects.toMatchObject({
      code: "GRAPH_CHANGED",
      run: "r",
    })
    expect(problems).toMatchObject([{ runId: "r", error: { code: "GRAPH_CHANGED" } }])
    expect(await store.run("r")).toMatchObject({ status: "waiting", holder: undefined })
    expect(await runtime.requests()).toEqual([request])
    expect(await store.read("r", 0)).toEqual(before)
    await runtime.close()

    const old = version()
    const back = new Runtime({ store, workflows: [old] })
    await back.respond("r", request?.id ?? "", "yes")
    expect(await back.get("r")).toMatchObject({ status: "completed" })
    await back.close()
  })

  test("says what changed in the graph, and that the run can be resumed with a policy", async () => {
    const store = await started()
    const resumed = version("log").resume("r", { store })
    const { message } = await resumed.result.catch((error) => error)
    expect(message.split("\n")).toEqual([
      'Run "r" was started with another version of workflow "approval":',
      "  + node log",
      '  + edge {"from":"ask","kind":"single","to":"log"}',
      "Resume it with onGraphChange, or with the old version.",
    ])
    // It was let go of: nobody has to take it over.
    const old = version().resume("r", { store })
    const [request] = (await old).requests
    await old.respond(request?.id ?? "", "yes")
    expect((await old).status).toBe("completed")
  })

  test("continues with a policy that accepts the change", async () => {
    const store = await started()
    const next = version("log")
    const runtime = new Runtime({ store, workflows: [next], onGraphChange: "continue" })
    const [request] = await runtime.requests()
    await runtime.respond("r", request?.id ?? "", "yes")
    expect(await runtime.get("r")).toMatchObject({ status: "completed" })
    await runtime.close()
  })

  test("is found by runtime.check, which writes nothing and makes no step", async () => {
    const store = await started()
    const before = await store.read("r", 0)
    seen.length = 0
    const runtime = new Runtime({ store, workflows: [] })
    expect(await runtime.check(version())).toEqual([])
    expect(await runtime.check(version("log"))).toEqual([
      {
        runId: "r",
        status: "waiting",
        difference: [
          "~ node caller calls workflow approval, which changed:",
          "  + node log",
          '  + edge {"from":"ask","kind":"single","to":"log"}',
        ],
      },
    ])
    expect(seen).toEqual([])
    expect(await store.read("r", 0)).toEqual(before)
    await runtime.close()
  })
})

describe("a sub-workflow that was called before a restart", () => {
  test("takes its answer also when its caller has not called again yet", async () => {
    let gate: Promise<void> = Promise.resolve()
    let open: () => void = () => undefined
    const parent = workflow("parent")
      .start(
        node("caller", async (text: string, ctx: Context) => {
          await gate
          return (await ctx.call(approval(), text))[0] ?? ""
        }),
      )
      .build()
    const store = memoryStore()
    const first = new Runtime({ store, workflows: [parent] })
    await first.start(parent, "pay", { runId: "r" })
    await first.close()
    gate = new Promise((resolve) => {
      open = resolve
    })
    const runtime = new Runtime({ store, workflows: [parent] })
    const [request] = await runtime.requests()
    const answered = runtime.respond("r", request?.id ?? "", "yes")
    await settled()
    open()
    await answered
    expect((await runtime.get("r")).outputs).toEqual(["yes"])
    await runtime.close()
  })

  /** A run that waits in "approval", and another version of the handler that called it. */
  const changed = async (handler: (text: string, ctx: Context) => Promise<string>) => {
    const version = (run: typeof handler) => workflow("parent").start(node("caller", run)).build()
    const calls = version(async (text, ctx) => (await ctx.call(approval(), text))[0] ?? "")
    const store = memoryStore()
    const first = new Runtime({ store, workflows: [calls] })
    await first.start(calls, "pay", { runId: "r" })
    const [request] = await first.requests()
    await first.close()
    return { store, calls, next: version(handler), request: request?.id ?? "" }
  }
  const without = async () => "done without"

  test("is not left behind by another version of its caller that ends without calling it", async () => {
    const { store, calls, next, request } = await changed(without)
    const before = await store.read("r", 0)
    const runtime = new Runtime({ store, workflows: [next] })
    expect(await runtime.check(next)).toMatchObject([
      { difference: ["- node caller calls workflow approval"] },
    ])
    const { code, message } = await runtime.respond("r", request, "yes").catch((error) => error)
    expect(code).toBe("GRAPH_CHANGED")
    expect(message).toContain("\n  - node caller calls workflow approval\n")
    expect(await store.run("r")).toMatchObject({ status: "waiting", holder: undefined })
    expect(await store.read("r", 0)).toEqual(before)
    await runtime.close()

    const back = new Runtime({ store, workflows: [calls] })
    await back.respond("r", request, "yes")
    expect((await back.get("r")).outputs).toEqual(["yes"])
    await back.close()
  })

  test("is not left behind by another version of its caller that calls something else instead", async () => {
    const renamed = workflow("consent")
      .start(node("ask", (text: string, ctx: Context) => ctx.ask<string>(`${text}: allow?`)))
      .build()
    const { store, next, request } = await changed(
      async (text, ctx) => (await ctx.call(renamed, text))[0] ?? "",
    )
    const before = await store.read("r", 0)
    const clock = manualClock()
    const runtime = new Runtime({ store, workflows: [next], clock })
    const answered = runtime.respond("r", request, "yes").catch((error) => error)
    await settled()
    await clock.advance(5_000)
    const { code, message } = await answered
    expect(code).toBe("GRAPH_CHANGED")
    expect(message).toContain(
      "\n  - node caller calls workflow approval\n  + node caller calls workflow consent\n",
    )
    expect(await runtime.requests()).toMatchObject([{ id: request, outcome: "open" }])
    expect(await store.read("r", 0)).toEqual(before)
    await runtime.close()
  })

  test("is called again after a step that another version of its caller makes first", async () => {
    const { store, next, request } = await changed(async (text, ctx) => {
      await ctx.step("audit", () => text)
      return (await ctx.call(approval(), text))[0] ?? ""
    })
    const runtime = new Runtime({ store, workflows: [next] })
    await runtime.respond("r", request, "yes")
    expect((await runtime.get("r")).outputs).toEqual(["yes"])
    await runtime.close()
  })

  test("is called again before a new call of a part of the handler that is faster", async () => {
    let gate: Promise<void> = Promise.resolve()
    let open: () => void = () => undefined
    const other = workflow("other")
      .start(node("other", (text: string) => text))
      .build()
    const parent = workflow("parent")
      .start(
        node("caller", async (text: string, ctx: Context) => {
          const slow = async () => {
            await gate
            return await ctx.call(approval(), text)
          }
          const fast = async () => {
            await ctx.ask("And the other?")
            return await ctx.call(other, text)
          }
          return (await Promise.all([slow(), fast()])).flat().join(" ")
        }),
      )
      .build()
    const store = memoryStore()
    const first = new Runtime({ store, workflows: [parent] })
    await first.start(parent, "pay", { runId: "r" })
    await first.close()
    gate = new Promise((resolve) => {
      open = resolve
    })
    const runtime = new Runtime({ store, workflows: [parent] })
    await runtime.respond("r", "r1", "yes")
    await settled()
    open()
    const [request] = await runtime.requests()
    await runtime.respond("r", request?.id ?? "", "yes")
    expect((await runtime.get("r")).outputs).toEqual(["yes pay"])
    await runtime.close()
  })

  test("is given up when another version of its caller ends without it, if the policy accepts changes", async () => {
    const { store, next, request } = await changed(without)
    const runtime = new Runtime({ store, workflows: [next], onGraphChange: "continue" })
    await expect(runtime.respond("r", request, "yes")).rejects.toThrow(/is finished: completed/)
    expect(await runtime.get("r")).toMatchObject({ status: "completed", outputs: ["done without"] })
    expect(await runtime.requests()).toEqual([])
    await runtime.close()
  })
})
