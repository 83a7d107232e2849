/** Spec 3, deep research: plan, isolated sections, synthesis, failed sections in their place. */
import { describe, expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import type { ScriptEntry } from "../../models/index.ts"
import type { RunEvent } from "../../runtime/index.ts"
import { manualClock } from "../../testing/index.ts"
import { deepResearch } from "./deep.ts"
import { scripted, verdict, watched, web } from "./research.test-support.ts"

const plan = (...titles: string[]): ScriptEntry => ({
  json: {
    background_context: "Tea is old.",
    report_outline: titles.map((title) => ({ title, key_question: `What about ${title}?` })),
    report_title: "All of tea",
  },
})

/** A model whose answer depends on the prompt, so that sections may run in any order. */
function team(answers: Partial<Record<string, (last: string) => string>> = {}, titles = ["Green", "Black"]) {
  const answer: Record<string, (last: string) => string> = {
    planner: () => JSON.stringify((plan(...titles) as { json: unknown }).json),
    thinker: () => "hmm",
    gap: () => '{"research_complete":false,"outstanding_gaps":["more"]}',
    selector: (last) => JSON.stringify({ tasks: [{ agent: "web_search", query: topicOf(last) }] }),
    judge: () => JSON.stringify(verdict(true)),
    writer: (last) => `${topicOf(last)} is a tea [1]. Tea is a drink [2].`,
    synthesizer: () => "Both are tea [1][3].",
    ...(answers as Record<string, (last: string) => string>),
  }
  return pureModel((last, _, agent) => answer[agent]?.(last) ?? "?")
}

const topicOf = (last: string) => /What about (\w+)\?/.exec(last)?.[1] ?? "nothing"

/** Each topic has its own page and one that all topics share. */
const library = () =>
  web((query) => ({
    output: query,
    sources: [
      { url: `https://t.example/${query}`, title: query, text: `On ${query}.` },
      { url: "https://t.example/tea", title: "Tea", text: "On tea." },
    ],
  }))

const GREEN_AND_BLACK = `# All of tea

## Summary

Both are tea [1][2].

## Contents

1. [Green](#green)
2. [Black](#black)

## Green

Green is a tea [1]. Tea is a drink [3].

## Black

Black is a tea [2]. Tea is a drink [3].

## Sources

| No. | Title | Author | Date | Location | Cited |
| --: | --- | --- | --- | --- | --: |
| 1 | Green |  |  | [t.example/Green](<https://t.example/Green>) | 2× |
| 2 | Black |  |  | [t.example/Black](<https://t.example/Black>) | 2× |
| 3 | Tea |  |  | [t.example/tea](<https://t.example/tea>) | 2× |
`

describe("a deep research", () => {
  test("plans, researches the sections, and combines them with one list of sources", async () => {
    const model = team()
    const run = await watched(deepResearch({ model, tools: [library()] }).stream("Tea?"))
    expect(run.result.status).toBe("completed")
    expect(run.report).toBe(GREEN_AND_BLACK)
  })

  test("runs its sections concurrently, each with its own state", async () => {
    const seen: string[] = []
    let both: () => void = () => undefined
    const met = new Promise<void>((resolve) => {
      both = resolve
    })
    const meeting = web(async (query) => {
      seen.push(query)
      if (seen.length === 2) both()
      await met
      return { output: query, sources: [{ url: `https://t.example/${query}`, text: `On ${query}.` }] }
    })
    const prompts: string[] = []
    const model = team({
      judge: (last) => {
        prompts.push(last)
        return JSON.stringify(verdict(true))
      },
    })
    await deepResearch({ model, tools: [meeting] }).run("Tea?")
    expect(prompts).toHaveLength(2)
    for (const last of prompts) expect(last.includes("On Green") && last.includes("On Black")).toBe(false)
    expect(prompts[0]).toContain("<context>\nTea is old.\n</context>")
  })

  test("runs a search that several sections request once, and all of them receive its evidence", async () => {
    const prompts: string[] = []
    const found = library()
    const model = team({
      selector: (last) =>
        JSON.stringify({
          tasks: [
            { agent: "web_search", query: last.includes("Green") ? "Leaves" : " leaves" },
            { agent: "web_search", query: topicOf(last) },
          ],
        }),
      judge: (last) => {
        prompts.push(last)
        return JSON.stringify(verdict(prompts.length > 2))
      },
    })
    const { usage } = await deepResearch({ model, tools: [found] }).run("Tea?")
    expect(found.queries.map((query) => query.trim().toLowerCase()).sort()).toEqual([
      "black",
      "green",
      "leaves",
    ])
    expect(usage.toolCalls).toBe(3)
    for (const prompt of prompts) expect(prompt).toMatch(/On \s*leaves\./i)
  })

  test("with sequential sections repeats no search of an earlier section", async () => {
    const found = library()
    const model = team({
      selector: () => JSON.stringify({ tasks: [{ agent: "web_search", query: "tea" }] }),
    })
    const run = deepResearch({ model, tools: [found], concurrency: 1 }).run("Tea?")
    expect((await run).usage.toolCalls).toBe(1)
    expect(found.queries).toEqual(["tea"])
  })

  test("shows a failed section in its place, with the reason", async () => {
    const model = team({
      thinker: (last) => {
        if (last.includes("Black")) throw new Error("the model is gone")
        return "hmm"
      },
    })
    const run = await watched(
      deepResearch({
        model,
        tools: [library()],
        calling: { retry: { attempts: 1 } as never },
      }).stream("Tea?"),
    )
    expect(run.report).toContain("\n## Green\n\nGreen is a tea [1].")
    expect(run.report).toMatch(/\n## Black\n\n\[Research failed: .*the model is gone.*\]\n/)
    expect(run.report.indexOf("## Green")).toBeLessThan(run.report.indexOf("## Black"))
    expect(run.log.some((text) => text.startsWith("error: Research failed: "))).toBe(true)
    expect(run.result.status).toBe("completed")
  })

  test("shows a section without text in its place", async () => {
    const model = team({ writer: (last) => (last.includes("Black") ? " " : "Green [1].") })
    const { report } = await watched(deepResearch({ model, tools: [library()] }).stream("Tea?"))
    expect(report).toContain("## Green\n\nGreen [1].\n\n## Black\n\n[Research failed: it returned no text]\n")
  })

  test("with an unreadable plan is one section on the whole question", async () => {
    const model = team({
      planner: () => "Let us see",
      writer: () => "Tea is a drink [1].",
      selector: () => "{",
    })
    const { report } = await watched(deepResearch({ model, tools: [library()] }).stream("What about Tea?"))
    expect(report).toContain("# What about Tea?\n\n## Summary\n\nBoth are tea [1].")
    expect(report).toContain("## What about Tea?\n\nTea is a drink [1].")
  })

  test("uses the question as title for a section without one, and has at most ten sections", async () => {
    const outline = [
      { title: " \n ", key_question: "What about\nGreen?" },
      ...Array.from({ length: 14 }, (_, i) => ({ title: `S${i}`, key_question: "What about Tea?" })),
    ]
    const planner = () => JSON.stringify({ report_outline: outline })
    const { report } = await watched(
      deepResearch({ model: team({ planner }), tools: [library()] }).stream("Tea?"),
    )
    expect(report).toMatch(/^# Tea\?\n/)
    expect(report).toContain("\n## What about Green?\n")
    // With summary, contents and sources.
    expect(report.match(/^## /gm)).toHaveLength(2 + 10 + 1)
  })

  test("has no links except those of its sources, whichever agent wrote them", async () => {
    const model = team({
      writer: (last) => `${topicOf(last)} [1], [x](https://evil.example), ![y](https://evil.example/y).`,
      synthesizer: () =>
        "All in all [1], see [z](https://evil.example) and [tea](https://t.example/tea#top).",
    })
    const { report } = await watched(deepResearch({ model, tools: [library()] }).stream("Tea?"))
    expect(report).not.toContain("evil")
    expect(report).toContain("All in all [1], see z and tea.")
    expect(report).toContain("# Green\n\nGreen [1], x, y.")
  })

  test("shows the synthesizer the sections with the numbers of the whole report", async () => {
    let prompt = ""
    const model = team({
      synthesizer: (last) => {
        prompt = last
        return "Done."
      },
    })
    await deepResearch({ model, tools: [library()] }).run("Tea?")
    expect(prompt).toContain("# Green\n\nGreen is a tea [1]. Tea is a drink [2].")
    expect(prompt).toContain("# Black\n\nBlack is a tea [3]. Tea is a drink [2].")
  })

  test("keeps a section whose title looks like a source list", async () => {
    const model = team({ synthesizer: () => "All in all [1].\n\n## References\n\n- mine" }, ["Sources"])
    const { report } = await watched(deepResearch({ model, tools: [library()] }).stream("Tea?"))
    expect(report).toContain("## Sources\n\nSources is a tea [1].")
    expect(report).not.toContain("mine")
  })

  test("limits the number of concurrent sections", async () => {
    let [most, now] = [0, 0]
    const counting = web(async (query) => {
      most = Math.max(most, ++now)
      await Promise.resolve()
      now--
      return { output: query, sources: [] }
    })
    await deepResearch({ model: team({}, ["A", "B", "C"]), tools: [counting], concurrency: 1 }).run("Tea?")
    expect(most).toBe(1)
  })
})

describe("the budget of a deep research", () => {
  const never = { judge: () => JSON.stringify(verdict(false)) }
  const limitsIn = (events: readonly RunEvent[]) =>
    events.flatMap((event) =>
      event.type === "step.recorded" && event.key === "step:share" ? [event.value] : [],
    )

  test("is shared: each section has a part of the tokens, the remaining time, and 10 passes", async () => {
    // Every call has 15 tokens; the planner has used as many.
    const { events } = await watched(
      deepResearch({ model: team(), tools: [library()], budget: { tokens: 1_015 } }).stream("Tea?", {
        clock: manualClock(),
      }),
    )
    expect(limitsIn(events)).toEqual([
      { limits: { tokens: 375, seconds: 450, iterations: 10 }, parts: [] },
      { limits: { tokens: 375, seconds: 450, iterations: 10 }, parts: [] },
    ])
  })

  test("can be set per section, within the total", async () => {
    const { events } = await watched(
      deepResearch({
        model: team(),
        tools: [library()],
        budget: { tokens: 1_015, iterations: 6 },
        sectionBudget: { tokens: 1_000_000, seconds: 5 },
      }).stream("Tea?", { clock: manualClock() }),
    )
    expect(limitsIn(events)[0]).toEqual({ limits: { tokens: 375, seconds: 5, iterations: 3 }, parts: [] })
  })

  test("is the same for a section that starts later: its tokens, and a fair part of the time", async () => {
    const { events } = await watched(
      deepResearch({ model: team(), tools: [library()], concurrency: 1, budget: { tokens: 1_015 } }).stream(
        "Tea?",
        { clock: manualClock() },
      ),
    )
    expect(limitsIn(events)).toEqual([
      { limits: { tokens: 375, seconds: 225, iterations: 10 }, parts: [] },
      { limits: { tokens: 375, seconds: 450, iterations: 10 }, parts: [] },
    ])
  })

  test("ends only that section, which is still written", async () => {
    const run = await watched(
      deepResearch({
        model: team(never),
        tools: [library()],
        sectionBudget: { iterations: 1 },
      }).stream("Tea?"),
    )
    expect(run.log.filter((text) => text === "error: Budget exceeded: iterations")).toHaveLength(2)
    const problems = ["Green", "Black"].map((title) => ({
      source: `section "${title}"`,
      reason: "Budget exceeded: iterations",
    }))
    const lines = problems.map(({ source, reason }) => `Incomplete: ${source}: ${reason}`)
    expect(run.report).toBe(`${lines.join("\n\n")}\n\n${GREEN_AND_BLACK}`)
    expect(run.result.state.incomplete).toEqual(problems)
  })

  test("does not let a section pay for another", async () => {
    const model = team({
      judge: (last) => JSON.stringify(verdict(last.includes("On Green"))),
    })
    const run = await watched(
      deepResearch({ model, tools: [library()], budget: { tokens: 1_015 } }).stream("Tea?"),
    )
    // Black repeats until its own 375 tokens are used: 25 calls of 15; Green ends after its first pass.
    const errors = run.research.filter(({ type }) => type === "error")
    expect(errors.map(({ message, data }) => [message, data.section])).toEqual([
      ["Budget exceeded: tokens", { number: 2, of: 2, title: "Black" }],
    ])
  })

  test("that the plan has exhausted leads directly to the synthesizer", async () => {
    const run = await watched(
      deepResearch({ model: team(), tools: [library()], budget: { tokens: 15 } }).stream("Tea?"),
    )
    expect(run.nodes).toEqual(["question", "plan", "budget", "synthesize"])
    expect(run.log).toContain("error: Budget exceeded: tokens")
    expect(run.report).toContain("# Green\n\n[Research failed: Budget exceeded: tokens]")
    expect(run.result.status).toBe("completed")
  })

  test("set on the run ends it with the results so far", async () => {
    const run = await watched(
      deepResearch({
        model: team(never),
        tools: [library()],
        concurrency: 1,
        sectionBudget: { iterations: 1 },
      }).stream(
        "Tea?",
        // The plan, the four calls of a pass and the writer; then two calls of the next section.
        { budget: { modelCalls: 8 } },
      ),
    )
    expect(run.report).toContain("# Green\n\nGreen is a tea [1].")
    expect(run.report).toContain("# Black\n\n[Research failed: Budget exceeded: modelCalls]")
    expect(run.result.status).toBe("completed")
  })
})

test("scripts name the agents: planner, thinker, gap, selector, judge, writer, synthesizer", async () => {
  const { options, model } = scripted({
    planner: [plan("Only")],
    judge: [{ json: verdict(true) }],
    synthesizer: ["All in all."],
  })
  const { outputs } = await deepResearch(options).run("Tea?")
  expect([...new Set(model.calls.map(({ agent }) => agent))]).toEqual([
    "planner",
    "thinker",
    "gap",
    "selector",
    "judge",
    "writer",
    "synthesizer",
  ])
  expect(outputs[0]).toContain("All in all.")
})
