/** Spec 3, events: a projection of the run's one stream. */
import { expect, test } from "vitest"
import { pastEvents } from "../../history/index.ts"
import { memoryStore } from "../../index.ts"
import { deepResearch } from "./deep.ts"
import { scripted, verdict } from "./research.test-support.ts"
import { type ResearchEvent, researchEvents } from "./research-events.ts"
import { iterativeResearch } from "./research-loop.ts"

async function all(events: AsyncIterable<ResearchEvent>): Promise<ResearchEvent[]> {
  const list: ResearchEvent[] = []
  for await (const event of events) list.push(event)
  return list
}

test("are an async iterator with message, data, iteration and time, from started to complete", async () => {
  const { options } = scripted({ judge: [{ json: verdict(false) }, { json: verdict(true) }] })
  const events = await all(researchEvents(iterativeResearch(options).stream("What is tea?")))
  const whole = events.filter(({ type }) => type !== "streaming")
  expect(whole.map(({ type, iteration, message }) => [type, iteration, message])).toEqual([
    ["started", 0, "Research on: What is tea?"],
    ["searching", 1, 'Searching: web_search "tea"'],
    ["search_complete", 1, "1 new source"],
    ["judging", 1, "Judging the evidence"],
    ["judge_complete", 1, "The evidence is not sufficient yet"],
    ["looping", 2, "Pass 2"],
    ["searching", 2, 'Searching: web_search "tea"'],
    ["search_complete", 2, "0 new sources, 1 search repeated"],
    ["judging", 2, "Judging the evidence"],
    ["judge_complete", 2, "The evidence is sufficient"],
    ["synthesizing", 2, "Writing the report"],
    ["complete", 2, "Research complete"],
  ])
  const [, searching] = whole
  expect(searching?.data).toEqual({ tasks: [{ agent: "web_search", query: "tea" }] })
  expect(whole.every(({ time }) => time > 0)).toBe(true)
  const streamed = events.filter(({ type }) => type === "streaming").map(({ message }) => message)
  expect(streamed.join("")).toBe("# Tea\n\nTea is a drink [1].")
  expect(whole.at(-1)?.data.report).toContain("## Sources")
})

test("of a run that fails end with its error", async () => {
  const { options } = scripted({ gap: [{ error: { code: 400, message: "no" } }] })
  const events = await all(researchEvents(iterativeResearch(options).stream("What is tea?")))
  expect(events.at(-1)).toMatchObject({ type: "error", data: { status: "failed" } })
})

test("of a finished run can be read from its store, except streamed text", async () => {
  const { options } = scripted({ judge: [{ json: verdict(true) }] })
  const store = memoryStore()
  const run = iterativeResearch(options).stream("What is tea?", { store, runId: "r" })
  const live = (await all(researchEvents(run))).filter(({ type }) => type !== "streaming")
  const past = pastEvents(store, "r")
  const later = async function* () {
    yield* await past
  }
  expect(await all(researchEvents(later()))).toEqual(live)
})

test("have the section that they belong to", async () => {
  const outline = ["Green", "Black"].map((title) => ({ title, key_question: `What is ${title}?` }))
  const { options } = scripted({
    planner: [{ json: { background_context: "", report_outline: outline, report_title: "Teas" } }],
    judge: [{ json: verdict(true), repeat: true }],
    synthesizer: ["All in all."],
  })
  const events = await all(researchEvents(deepResearch(options).stream("Teas?")))
  const searching = events.filter(({ type }) => type === "searching").map(({ data }) => data.section)
  expect(searching).toEqual([
    { number: 1, of: 2, title: "Green" },
    { number: 2, of: 2, title: "Black" },
  ])
  const writing = events.filter(({ type }) => type === "synthesizing").map(({ message }) => message)
  expect(writing.sort()).toEqual([
    "Assembling the report",
    'Writing the section "Black"',
    'Writing the section "Green"',
  ])
  expect(events.filter(({ type }) => type === "started")).toHaveLength(1)
  expect(events.at(-1)?.data.section).toBeUndefined()
})
