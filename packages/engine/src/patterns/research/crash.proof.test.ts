/** Processes die at any point: the report is the same, and no recorded model call or search is repeated. */
import { expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { usageWithout } from "../../core/usage.ts"
import type { Simulation } from "../../testing/index.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import { deepResearch } from "./deep.ts"
import { verdict, web } from "./research.test-support.ts"
import { iterativeResearch } from "./research-loop.ts"

const SECTIONS = ["Green", "Black"]
/** Hundreds of runs: seconds on an idle machine. */
const TIMEOUT = 240_000

const model = () =>
  pureModel((last, _, agent) => {
    const topic = SECTIONS.find((one) => last.includes(`Question: ${one}`)) ?? "tea"
    const passes = last.match(/The gap was:/g)?.length ?? 0
    if (agent === "planner") {
      const report_outline = SECTIONS.map((title) => ({ title, key_question: `${title}?` }))
      return JSON.stringify({ background_context: "b", report_outline, report_title: "Teas" })
    }
    if (agent === "gap")
      return JSON.stringify({ research_complete: passes > 1, outstanding_gaps: [`${topic} ${passes}`] })
    if (agent === "selector") {
      const gap = /Question: (.*)$/.exec(last)?.[1] ?? ""
      return JSON.stringify({
        tasks: [
          { agent: "web_search", query: gap },
          { agent: "web_search", query: "down" },
          { agent: "oracle", query: gap },
          // Both sections ask for this one, in every pass.
          ...(topic === "tea" ? [] : [{ agent: "web_search", query: topic === "Green" ? "all" : " ALL" }]),
        ],
      })
    }
    if (agent === "judge")
      return topic === "Black" ? "no JSON" : JSON.stringify(verdict(last.includes('index="2"')))
    if (agent === "writer") return `${topic} [1], and [9].`
    return agent === "synthesizer" ? "All in all [1]." : `${agent} on ${topic}`
  })

const library = () =>
  web((query) => {
    if (query === "down") throw new Error("out of order")
    // The section that asks first decides how a shared search is written.
    const title = query.replace(" ALL", "all")
    return { output: title, sources: [{ url: `https://t.example/${title}`, title, text: title }] }
  })

/** Everything except start times, and calls that a crash interrupted. */
const compare = ({ result: { status, outputs, usage, error }, lost }: Simulation) => ({
  status,
  outputs,
  usage: usageWithout(usage, lost),
  error,
})

test("an iterative research has the same result, wherever its process crashes", {
  timeout: TIMEOUT,
}, async () => {
  const research = iterativeResearch({ model: model(), tools: [library()] })
  const { outcome, crashes, writes } = await crashTest(research, "tea", { compare, stride: 3 })
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: [
      [
        'Incomplete: web_search "down": web_search failed: out of order',
        'Incomplete: oracle "tea 0": Unknown tool agent "oracle"; available: web_search.',
        'Incomplete: oracle "tea 1": Unknown tool agent "oracle"; available: web_search.',
        "tea [1], and.",
        "## Sources",
        "1. [tea 0](<https://t.example/tea%200>)",
        "### Also read",
        "- [tea 1](<https://t.example/tea%201>)\n",
      ].join("\n\n"),
    ],
    // Two passes of four calls, and the writer.
    usage: { modelCalls: 9, toolCalls: 4 },
  })
  expect(crashes).toBeGreaterThanOrEqual(writes / 3)
})

test("a research with an exhausted budget writes its report, wherever its process crashes", {
  timeout: TIMEOUT,
}, async () => {
  // The fifth call, of the second pass, reaches it: 15 tokens each.
  const research = iterativeResearch({ model: model(), tools: [library()], budget: { tokens: 75 } })
  const calm = await research.run("tea")
  expect(calm).toMatchObject({ status: "completed", usage: { modelCalls: 6 } })
  // Calls that a crash interrupted count against the budget too, so fewer remain.
  const within = ({ result: { status, outputs, usage }, lost }: Simulation) => ({
    status,
    isWritten: outputs.length === 1,
    isWithin: (usageWithout(usage, lost).modelCalls ?? 0) <= 6,
  })
  const { outcome } = await crashTest(research, "tea", { compare: within, stride: 3 })
  expect(outcome).toEqual({ status: "completed", isWritten: true, isWithin: true })
})

test("a deep research has the same result, wherever its process crashes", { timeout: TIMEOUT }, async () => {
  const research = deepResearch({ model: model(), tools: [library()], sectionBudget: { iterations: 2 } })
  const { outcome, crashes, writes } = await crashTest(research, "teas", { compare, stride: 3 })
  expect(outcome).toMatchObject({
    status: "completed",
    // The plan, the synthesizer; Green: a pass and the writer; Black: two passes, whose judge is asked twice, and the writer.
    // Searches: one for Green, two for Black; for both, one that fails in both passes and one that does not.
    usage: { modelCalls: 2 + 5 + (2 * 5 + 1), toolCalls: 1 + 2 + 2 + 1 },
  })
  const [report] = (outcome as { outputs: string[] }).outputs
  expect(report).toContain("# Green\n\nGreen [1], and.")
  expect(report).toContain("# Black\n\nBlack [2], and.")
  expect(crashes).toBeGreaterThanOrEqual(writes / 3)
})
