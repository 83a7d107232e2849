import { expect, test } from "vitest"
import { all, memoryStore, node, workflow } from "../index.ts"
import { why } from "./index.ts"

const pass = (id: string) => node(id, (n: number) => n)

test("a switch: the case that held, those before it, those after it, and the default", async () => {
  const [start, low, mid, high, rest] = ["start", "low", "mid", "high", "rest"].map(pass) as [
    ReturnType<typeof pass>,
    ReturnType<typeof pass>,
    ReturnType<typeof pass>,
    ReturnType<typeof pass>,
    ReturnType<typeof pass>,
  ]
  const flow = workflow("sizes")
    .start(start)
    .switch(
      start,
      [
        { when: (n) => n < 10, to: low, label: "n < 10" },
        { when: (n) => n < 100, to: mid, label: "n < 100" },
        { when: (n) => n < 1_000, to: high, label: "n < 1000" },
      ],
      rest,
    )
    .build()
  const store = memoryStore()
  await flow.run(50, { store, runId: "mid" })
  expect(await why(store, "mid", 1)).toEqual({
    runId: "mid",
    task: 1,
    node: "start",
    seq: 2,
    messages: [
      {
        value: 50,
        isOutput: false,
        edges: [
          { kind: "switch", to: "low", label: "n < 10", taken: false, reason: "its condition did not hold" },
          { kind: "switch", to: "mid", label: "n < 100", taken: true, reason: "its condition held" },
          { kind: "switch", to: "high", label: "n < 1000", taken: false, reason: "an earlier case held" },
          { kind: "switch", to: "rest", taken: false, reason: "a case held" },
        ],
      },
    ],
  })
  await flow.run(5_000, { store, runId: "rest" })
  const { edges } = (await why(store, "rest", 1)).messages[0] as { edges: readonly { reason: string }[] }
  expect(edges.map(({ reason }) => reason)).toEqual([
    ...Array.from({ length: 3 }, () => "its condition did not hold"),
    "no case before it held",
  ])
})

test("conditional edges, selections and joins", async () => {
  const [start, big, odd, end] = [
    pass("start"),
    pass("big"),
    pass("odd"),
    node("end", (n: readonly [number, number]) => n.length),
  ]
  const [a, b] = [pass("a"), pass("b")]
  const flow = workflow("edges")
    .start(start)
    .edge(start, big, { when: (n) => n > 10, label: "n > 10" })
    .edge(start, odd, { when: (n) => n % 2 === 1 })
    .fanOut(odd, [a, b], { select: (_, targets) => targets.slice(0, 1) })
    .fanIn([big, a], end, { join: all() })
    .build()
  const store = memoryStore()
  await flow.run(7, { store, runId: "r" })
  const edgesOf = async (task: number) =>
    (await why(store, "r", task)).messages[0]?.edges.map(({ to, taken, reason }) => [to, taken, reason])
  expect(await edgesOf(1)).toEqual([
    ["big", false, "its condition did not hold"],
    ["odd", true, "its condition held"],
  ])
  expect(await edgesOf(2)).toEqual([
    ["a", true, "the selection named it"],
    ["b", false, "the selection did not name it"],
  ])
  expect(await edgesOf(3)).toEqual([["end", true, "it has no condition"]])
})

test("a task that failed goes along its error edge, and one that has not ended has no messages yet", async () => {
  const fails = node("fails", (n: number) => {
    if (n < 0) throw new Error("negative")
    return n
  })
  const [next, repair] = [node("next", (_: number, ctx) => ctx.ask("Continue?")), node("repair", () => 0)]
  const flow = workflow("errors").start(fails).edge(fails, next).onError(fails, repair).build()
  const store = memoryStore()
  await flow.run(-1, { store, runId: "bad" })
  expect(await why(store, "bad", 1)).toMatchObject({
    error: { message: "negative" },
    messages: [
      {
        edges: [
          { to: "next", taken: false, reason: "the task failed" },
          { kind: "error", to: "repair", taken: true, reason: "the task failed" },
        ],
      },
    ],
  })
  await flow.run(1, { store, runId: "open" })
  expect((await why(store, "open", 1)).messages[0]?.edges).toMatchObject([
    { to: "next", taken: true },
    { to: "repair", taken: false, reason: "the task did not fail" },
  ])
  expect(await why(store, "open", 2)).toEqual({ runId: "open", task: 2, node: "next", messages: [] })
  await expect(why(store, "open", 3)).rejects.toMatchObject({ code: "TASK_UNKNOWN" })
})
