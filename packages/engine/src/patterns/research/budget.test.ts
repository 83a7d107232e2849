/** Spec 3, budgets: what ends the loop, with which message, and that the writer always runs. */
import { describe, expect, test } from "vitest"
import { scriptedModel } from "../../models/index.ts"
import type { Clock } from "../../runtime/index.ts"
import { memoryStore } from "../../stores/index.ts"
import { manualClock } from "../../testing/index.ts"
import { COMPLETE, scripted, tea, verdict, type Watched, watched, web } from "./research.test-support.ts"
import { iterativeResearch } from "./research-loop.ts"
import type { ResearchBudget, ResearchOptions } from "./research-options.ts"

const research = (options: ResearchOptions, budget: ResearchBudget, clock = manualClock()) =>
  watched(iterativeResearch({ ...options, budget }).stream("What is tea?", { clock }))

const GAP = { research_complete: false, outstanding_gaps: ["x"] }
const usage = (input: number) => ({ usage: { input, output: 0 } })
const errors = ({ research: events }: Watched) =>
  events.filter(({ type }) => type === "error").map(({ message }) => message)
/** The nodes after the error. */
const after = ({ research: events }: Watched) => {
  const types = events.filter(({ type }) => type !== "streaming").map(({ type }) => type)
  return types.slice(types.indexOf("error"))
}

/** Answers after an hour on this clock. */
function scriptedAt(clock: Clock) {
  return scriptedModel([{ json: {}, delay: 3_600_000 }], { clock })
}

/** Sets the clock while it answers. */
function settingClock(clock: ReturnType<typeof manualClock>, time: number) {
  const model = scriptedModel([{ json: verdict(false), usage: { input: 5_000, output: 0 } }])
  return {
    ...model,
    doStream: (call: never) => {
      clock.set(time)
      return model.doStream(call)
    },
  } as typeof model
}

describe("an exhausted budget leads to the writer, then the run completes", () => {
  test("iterations: one pass of the loop is one", async () => {
    const { options } = scripted()
    const run = await research(options, { iterations: 2 })
    expect(run.nodes.filter((node) => node === "think")).toHaveLength(2)
    expect(run.nodes.slice(-3)).toEqual(["judge", "budget", "write"])
    expect(errors(run)).toEqual(["Budget exceeded: iterations"])
    expect(after(run)).toEqual(["error", "synthesizing", "complete"])
    expect(run.report).toContain("Tea is a drink [1].")
    expect(run.result.status).toBe("completed")
  })

  test("iterations: 10 by default", async () => {
    const { options } = scripted()
    const run = await watched(iterativeResearch(options).stream("What is tea?"))
    expect(run.nodes.filter((node) => node === "think")).toHaveLength(10)
  })

  test("tokens: checked before every node, and reaching the limit counts (>=)", async () => {
    const { options } = scripted({
      thinker: [{ text: "hmm", ...usage(40) }],
      gap: [{ json: GAP, ...usage(60) }],
    })
    const run = await research(options, { tokens: 100 })
    expect(run.nodes).toEqual(["question", "think", "gap", "budget", "write"])
    expect(errors(run)).toEqual(["Budget exceeded: tokens"])
    const more = scripted({
      thinker: [{ text: "hmm", ...usage(40) }],
      gap: [{ json: GAP, ...usage(60) }],
      selector: [{ json: { tasks: [] }, ...usage(1) }],
    })
    expect((await research(more.options, { tokens: 101 })).nodes).toContain("select")
  })

  test.each([
    ["gap", "thinker", { text: "hmm" }],
    ["select", "gap", { json: GAP }],
    ["search", "selector", { json: { tasks: [{ agent: "web_search", query: "tea" }] } }],
    ["think", "judge", { json: verdict(false) }],
  ])("tokens: checked before the node %s", async (node, agent, answer) => {
    const { options } = scripted({ [agent]: [{ ...answer, ...usage(5_000) }] })
    const run = await research(options, { tokens: 5_000 })
    expect(run.nodes.slice(-2)).toEqual(["budget", "write"])
    expect(run.nodes.filter((one) => one === node)).toHaveLength(node === "think" ? 1 : 0)
  })

  test("time: checked before the node judge", async () => {
    const clock = manualClock()
    const { options } = scripted({}, [
      web((query) => {
        clock.set(7_000)
        return tea(query)
      }),
    ])
    const run = await research(options, { seconds: 7 }, clock)
    expect(run.nodes.slice(-3)).toEqual(["search", "budget", "write"])
    expect(run.report).toContain("1. [On tea]")
  })

  test("tokens: 100,000 by default", async () => {
    const { options } = scripted({ thinker: [{ text: "hmm", ...usage(100_000) }] })
    const run = await watched(iterativeResearch(options).stream("What is tea?"))
    expect(errors(run)).toEqual(["Budget exceeded: tokens"])
  })

  test("time: 600 s by default, and running work is stopped", async () => {
    const clock = manualClock()
    const { options } = scripted()
    const running = watched(
      iterativeResearch({ ...options, models: { gap: scriptedAt(clock) } }).stream("What is tea?", { clock }),
    )
    await clock.advance(599_999)
    await clock.advance(1)
    const run = await running
    expect(run.nodes).toEqual(["question", "think", "gap", "budget", "write"])
    expect(errors(run)).toEqual(["Budget exceeded: time"])
    expect(run.result.status).toBe("completed")
  })

  test("time: a search that hangs is abandoned, and the report uses the results of the others", async () => {
    const clock = manualClock()
    let begun: () => void = () => undefined
    const both = new Promise<void>((resolve) => {
      begun = resolve
    })
    const hangs = web((query) => {
      if (query === "tea") return tea(query)
      begun()
      return new Promise(() => undefined)
    })
    const { options, asked } = scripted(
      {
        selector: [
          {
            json: {
              tasks: [
                { agent: "web_search", query: "tea" },
                { agent: "web_search", query: "rye" },
              ],
            },
          },
        ],
      },
      [hangs],
    )
    const running = research(options, { seconds: 5 }, clock)
    await both
    await clock.advance(5_000)
    const run = await running
    expect(errors(run)).toEqual(["Budget exceeded: time"])
    expect(asked("writer")[0]).toContain("About tea.")
    expect(run.result.state.conversation).toMatchObject([
      { findings: ["found tea", "web_search failed: The research ran out of time."] },
    ])
  })

  test("several: all exhausted budgets are named, in a fixed order", async () => {
    const clock = manualClock()
    const { options } = scripted()
    const judge = settingClock(clock, 11_000)
    const budget = { tokens: 5_000, seconds: 11, iterations: 1 }
    const run = await research({ ...options, models: { judge } }, budget, clock)
    expect(errors(run)).toEqual(["Budget exceeded: tokens, time, iterations"])
    expect(after(run)).toEqual(["error", "synthesizing", "complete"])
  })

  test("of zero is exhausted before the first node", async () => {
    const { options } = scripted()
    const run = await research(options, { tokens: 0, seconds: 0, iterations: 0 })
    expect(run.nodes).toEqual(["question", "budget", "write"])
    expect(errors(run)).toEqual(["Budget exceeded: tokens, time, iterations"])
    const reason = "Budget exceeded: tokens, time, iterations"
    expect(run.result.state.incomplete).toEqual([{ source: "research", reason }])
    const marked = "Tea is a drink. *(no source)*\n\nNo source is cited for 1 of 1 statements.\n"
    expect(run.report).toBe(`Incomplete: research: ${reason}\n\n# Tea\n\n${marked}`)
  })
})

test("the route to the writer is not checked: finished research is not a breach", async () => {
  const { options } = scripted({ gap: [{ ...(COMPLETE as object), ...usage(1_000) }] })
  const run = await research(options, { tokens: 1_000 })
  expect(run.nodes).toEqual(["question", "think", "gap", "write"])
  expect(errors(run)).toEqual([])
})

describe("limits set on the run lead to the writer too", () => {
  test.each([
    ["tokens", { budget: { tokens: 1 } }, "Budget exceeded: tokens"],
    ["money", { budget: { modelCalls: 2 } }, "Budget exceeded: modelCalls"],
    ["supersteps", { limits: { supersteps: 3 } }, /^The run did not end within 3 supersteps/],
  ])("%s", async (_, limits, message) => {
    const { options } = scripted()
    const run = await watched(iterativeResearch(options).stream("What is tea?", limits))
    expect(run.nodes.slice(-2)).toEqual(["budget", "write"])
    expect(errors(run)).toEqual([typeof message === "string" ? message : expect.stringMatching(message)])
    expect(run.result.status).toBe("completed")
  })

  test("time", async () => {
    const clock = manualClock()
    const { options } = scripted()
    const running = watched(
      iterativeResearch({ ...options, models: { gap: scriptedAt(clock) } }).stream("What is tea?", {
        clock,
        timeout: 1_000,
      }),
    )
    await clock.advance(1_000)
    expect(errors(await running)).toEqual(["Budget exceeded: time"])
  })
})

test("limits that allow no work are reported", async () => {
  const { options } = scripted()
  const { error } = await iterativeResearch(options).run("What is tea?", { budget: { usd: 0 } }).result
  expect(error?.message).toContain("allow no work at all")
})

describe("time", () => {
  test("while the run was stopped does not count: it continues with the rest (B4)", async () => {
    const [clock, later] = [manualClock(), manualClock()]
    const store = memoryStore()
    let begun: () => void = () => undefined
    const isBegun = new Promise<void>((resolve) => {
      begun = resolve
    })
    // The first process hangs in this search, after five of ten seconds; another one takes over a day later.
    const stuck = web((query) => {
      if (stuck.queries.length > 1) return tea(query)
      begun()
      return new Promise(() => undefined)
    })
    const { options } = scripted({ judge: [{ json: verdict(true) }] }, [stuck])
    const built = iterativeResearch({ ...options, budget: { seconds: 10 } })
    const first = built.stream("What is tea?", { store, clock, runId: "tea" })
    first.result.catch(() => undefined)
    await isBegun
    await clock.advance(5_000)
    later.set(86_400_000)
    const run = await watched(built.resume("tea", { store, clock: later, takeOver: true }))
    expect(run.result.status).toBe("completed")
    expect(run.result.state.breach).toBeUndefined()
    expect(run.report).toContain("Tea is a drink [1].")
  })

  test("is summed over the nodes", async () => {
    const clock = manualClock()
    const judge = () => settingClock(clock, clock.now() + 4_000)
    const { options } = scripted()
    const run = await research(
      { ...options, models: { judge: judge() } },
      { seconds: 4, iterations: 9 },
      clock,
    )
    expect(errors(run)).toEqual(["Budget exceeded: time"])
    expect(run.result.state.spent).toBe(4)
  })
})

describe("usage", () => {
  test("is what the provider reports, or a marked estimate if it reports none", async () => {
    const reporting = scripted({
      thinker: [{ text: "hmm", usage: { input: 10, output: 5 } }],
      gap: [{ json: { research_complete: true, outstanding_gaps: [] }, usage: { input: 20, output: 5 } }],
      writer: [{ text: "done", usage: { input: 30, output: 5 } }],
    })
    const reported = await watched(iterativeResearch(reporting.options).stream("What is tea?"))
    expect(reported.result.usage).toMatchObject({ inputTokens: 60, outputTokens: 15, modelCalls: 3 })
    expect(reported.result.usage.estimatedCalls).toBeUndefined()
    const { options } = scripted({ gap: [COMPLETE] })
    const estimated = await watched(iterativeResearch(options).stream("What is tea?"))
    expect(estimated.result.usage).toMatchObject({ modelCalls: 3, estimatedCalls: 3 })
    expect(estimated.research.at(-1)?.data.usage).toMatchObject({ estimatedCalls: 3 })
  })
})
