import { describe, expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { hash32 } from "../../core/retry.ts"
import { usageWithout } from "../../core/usage.ts"
import { scriptedModel } from "../../models/index.ts"
import { memoryStore } from "../../stores/index.ts"
import type { Simulation } from "../../testing/index.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { agentNode, chat, flow, load, THINKER } from "./graph.test-support.ts"

/** Its answers depend on every letter of the prompt: a node that sees another prompt after a crash has another result. */
const attentive = pureModel((last, _, name) => `${name} heard ${hash32(last, 1)}`)

const GRAPH = flow(
  [
    { id: "start", type: "start" },
    { id: "fan", type: "fanout" },
    agentNode("a"),
    { id: "if", type: "conditional" },
    agentNode("b"),
    agentNode("c"),
    { id: "p", type: "parallel", nodes: ["x", "y"], aggregator: "concat_text" },
    agentNode("x"),
    agentNode("y"),
    { id: "join", type: "merge", strategy: "stitch" },
    { id: "loop", type: "loop", max_iters: 2 },
    agentNode("review", { outputs: { text: "review.text" } }),
    { id: "ask", type: "human_handoff", prompt: "Good?" },
    agentNode("end", { inputs: { review: "review.text", answer: "outputs.ask" } }),
  ],
  [
    "start -> fan",
    "fan -> a",
    "fan -> p",
    "a -> if",
    "if -> b if latest == 'no'",
    "if -> c",
    "b -> join",
    "c -> join",
    "p -> join",
    "join -> loop",
    "loop -> review",
    "review -> loop",
    "loop -> ask",
    "ask -> end",
  ],
)

/** Concurrent work may be recorded in any order. */
const outcome = ({ result: { status, outputs, state, usage }, lost }: Simulation) => ({
  status,
  outputs,
  written: state.outputs,
  state: state.state,
  steps: state.steps,
  usage: usageWithout(usage, lost),
})

describe("a graph whose process crashes", () => {
  test("ends with the same result wherever it crashes, and repeats no recorded model call", async () => {
    const { workflow } = load(GRAPH, { model: () => attentive })
    const {
      outcome: ended,
      crashes,
      writes,
    } = await crashTest(workflow, "Go", {
      answers: () => "yes",
      compare: outcome,
    })
    expect(ended).toMatchObject({ status: "completed", usage: { modelCalls: 7 } })
    expect(crashes).toBeGreaterThanOrEqual(writes)
  })

  test("runs no tool twice in a conversation", async () => {
    const agents = { A: THINKER, B: THINKER, C: THINKER }
    const graph = chat(["A", "tools", "B", "C"], ["A -tools-> tools", "A -B-> B", "B -C-> C"], {
      agents,
      limits: { timeout_ms: 0 },
    })
    const model = pureModel((last, turn, name) => {
      if (name === "A" && turn === 0) return { calls: [{ name: "think", args: { thought: "hm" } }] }
      if (name === "A") return JSON.stringify({ next: "B", message: `over ${hash32(last, 1)}` })
      return name === "C" ? "That is all." : { calls: [{ name: "route", args: { next: "C" } }] }
    })
    const { workflow } = load(graph, { model: () => model })
    // Loads what tools load on first use: simulated time does not wait for it.
    await workflow.run("Go")
    const { outcome: ended } = await crashTest(workflow, "Go")
    expect(ended).toMatchObject({ status: "completed", outputs: ['"That is all."'], usage: { toolCalls: 1 } })
  })
})

test("continues a conversation on its thread", async () => {
  const store = memoryStore()
  const model = scriptedModel({ A: ["Hello, Jo.", "You are Jo."] })
  const { workflow } = load(chat(["A"], []), { model: () => model })
  await workflow.run("I am Jo.", { store, thread: "t1" })
  const { outputs, state } = await workflow.run("Who am I?", { store, thread: "t1" })
  expect(outputs).toEqual(["You are Jo."])
  expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"])
  expect(state.steps).toBe(1)
})

test("has a journal that grows linearly with the visits", async () => {
  const bytes = async (passes: number) => {
    const nodes = [
      { id: "loop", type: "loop", max_iters: passes },
      { id: "count", type: "state", update: { n: "(n or 0) + 1" } },
      { id: "end", type: "state", read: "n" },
    ]
    const { workflow } = load(
      flow(nodes, ["loop -> count", "count -> loop", "loop -> end"], { limits: { max_steps: 5_000 } }),
    )
    const store = memoryStore()
    const { runId, outputs } = await workflow.run("Go", { store })
    expect(outputs).toEqual([passes])
    return JSON.stringify(await store.read(runId, 0)).length
  }
  const [some, more] = [await bytes(100), await bytes(1_000)]
  expect(more / some).toBeLessThan(10.8)
})

test.each([
  ["come together", [{ id: "join", type: "merge", strategy: "collect_list" }], "join"],
  ["end by themselves", [], "END"],
])("has a journal that grows linearly with the lanes if %s", async (_, more, to) => {
  const bytes = async (count: number) => {
    const branches = Array.from({ length: count }, (_, i) => `b${i}`)
    const nodes = [
      { id: "fan", type: "fanout" },
      ...branches.map((id) => ({ id, type: "state", update: { [id]: "1" } })),
      ...more,
    ]
    const edges = branches.flatMap((id) => [`fan -> ${id}`, `${id} -> ${to}`])
    const { workflow } = load(flow(nodes, edges, { limits: { max_steps: 5_000 } }))
    const store = memoryStore()
    const { runId, status } = await workflow.run("Go", { store })
    expect(status).toBe("completed")
    return JSON.stringify(await store.read(runId, 0)).length
  }
  const [some, twice] = [await bytes(60), await bytes(240)]
  expect(twice / some).toBeLessThan(4.6)
})

test("does not see concurrent runs", async () => {
  const { workflow } = load(GRAPH, { model: () => pureModel((last) => `<${last}>`) })
  const results = await Promise.all(
    ["one", "two"].map(async (goal) => {
      const run = workflow.run(goal)
      const { requests } = await run
      await run.respond(requests[0]?.id ?? "", "fine")
      return JSON.stringify(await run.result)
    }),
  )
  expect(results[0]).not.toContain("two")
  expect(results[1]).not.toContain("one")
})
