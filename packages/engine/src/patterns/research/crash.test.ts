/** Processes die anywhere: the same report, and no model call or search that is on record is made again. */
import { expect, test } from "vitest"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { usageWithout } from "../../core/usage.ts"
import { crashTest, type Simulation } from "../../testing/index.ts"
import { deepResearch } from "./deep.ts"
import { iterativeResearch } from "./iterative.ts"
import { verdict, web } from "./research.test-support.ts"

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
    return { output: query, sources: [{ url: `https://t.example/${query}`, title: query, text: query }] }
  })

/** All but when things began, and calls that a crash cut off. */
const compare = ({ result: { status, outputs, usage, error }, lost }: Simulation) => ({
  status,
  outputs,
  usage: usageWithout(usage, lost),
  error,
})

test("an iterative research ends the same, wherever its process dies", { timeout: TIMEOUT }, async () => {
  const research = iterativeResearch({ model: model(), tools: [library()] })
  const { outcome, crashes } = await crashTest(research, "tea", { seeds: 30, compare })
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: ["tea [1], and.\n\n## Sources\n\n1. [tea 0](<https://t.example/tea%200>)\n"],
    // Two passes of four calls, and the writer.
    usage: { modelCalls: 9, toolCalls: 4 },
  })
  expect(crashes).toBeGreaterThan(50)
})

test("a research whose budget ends it writes its report, wherever its process dies", {
  timeout: TIMEOUT,
}, async () => {
  // The fifth call, of the second pass, reaches it: 15 tokens each.
  const research = iterativeResearch({ model: model(), tools: [library()], budget: { tokens: 75 } })
  const calm = await research.run("tea")
  expect(calm).toMatchObject({ status: "completed", usage: { modelCalls: 6 } })
  // Calls that a crash cut off have used of the budget too: fewer are left.
  const within = ({ result: { status, outputs, usage }, lost }: Simulation) => ({
    status,
    isWritten: outputs.length === 1,
    isWithin: (usageWithout(usage, lost).modelCalls ?? 0) <= 6,
  })
  const { outcome } = await crashTest(research, "tea", { seeds: 30, compare: within })
  expect(outcome).toEqual({ status: "completed", isWritten: true, isWithin: true })
})

test("a deep research ends the same, wherever its process dies", { timeout: TIMEOUT }, async () => {
  const research = deepResearch({ model: model(), tools: [library()], sectionBudget: { iterations: 2 } })
  const { outcome, crashes } = await crashTest(research, "teas", { seeds: 10, compare })
  expect(outcome).toMatchObject({
    status: "completed",
    // The plan; two passes and a writer for each section; the synthesizer.
    usage: { modelCalls: 1 + 2 * 9 + 1, toolCalls: 8 },
  })
  const [report] = (outcome as { outputs: string[] }).outputs
  expect(report).toContain("# Green\n\nGreen [1], and.")
  expect(report).toContain("# Black\n\nBlack [2], and.")
  expect(crashes).toBeGreaterThan(100)
})
