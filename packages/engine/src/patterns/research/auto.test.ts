/** Spec 3, mode detection as a part of the run. */
import { expect, test } from "vitest"
import { memoryStore } from "../../stores/index.ts"
import { autoResearch } from "./deep.ts"
import { COMPLETE, scripted, watched } from "./research.test-support.ts"

const PLAN = {
  background_context: "",
  report_outline: [{ title: "Green", key_question: "What is green tea?" }],
  report_title: "All of tea",
}
const DEEP = { gap: [COMPLETE], planner: [{ json: PLAN }], synthesizer: ["Tea is old."] } as const

test("one question is searched by one loop", async () => {
  const { options } = scripted({ mode: [{ json: { mode: "iterative" } }], gap: [COMPLETE] })
  const { report, nodes } = await watched(autoResearch(options).stream("What is tea?"))
  expect(report).toMatch(/^# Tea\n\nTea is a drink\./)
  expect(nodes).toEqual(["mode", "iterative", "question", "think", "gap", "write"])
})

test("a broad question becomes a report in sections, with the same events as any other research", async () => {
  const { options } = scripted({ mode: [{ json: { mode: "deep" } }], ...DEEP })
  const { report, log } = await watched(autoResearch(options).stream("All of tea"))
  expect(report).toMatch(/^# All of tea\n\n## Summary\n\nTea is old\. \*\(no source\)\*\n\n## Contents/)
  expect(log.at(0)).toBe("started: Research on: All of tea")
  expect(log).toContain('synthesizing: Writing the section "Green"')
  expect(log.at(-1)).toBe("complete: Research complete")
})

test.each([["no JSON"], [{ error: { code: 400, message: "no" } }]] as const)(
  "if the model does not answer, the question's words decide: %j",
  async (answer) => {
    const { options } = scripted({ mode: [answer as string], ...DEEP })
    const { nodes } = await watched(autoResearch(options).stream("A comprehensive report on tea"))
    expect(nodes.slice(0, 2)).toEqual(["mode", "deep"])
  },
)

test("the choice is recorded: a resumed run does not ask again", async () => {
  const { options, model } = scripted({ mode: [{ json: { mode: "iterative" } }], gap: [COMPLETE] })
  const store = memoryStore()
  const research = autoResearch(options)
  const { outputs } = await research.run("What is tea?", { store, runId: "tea" })
  expect((await research.resume("tea", { store })).outputs).toEqual(outputs)
  expect(model.calls.filter(({ agent }) => agent === "mode")).toHaveLength(1)
})

test.each([
  ["iterative", { gap: [COMPLETE] }],
  ["deep", DEEP],
] as const)("the problems of a report in mode %s are in the state of the run", async (mode, script) => {
  const { options } = scripted({ mode: [{ json: { mode } }], ...script })
  const incomplete = [{ source: "broken.pdf", reason: "it cannot be read" }]
  const { state, outputs } = await autoResearch({ ...options, incomplete }).run("What is tea?")
  expect(outputs[0]).toMatch(/^Incomplete: broken\.pdf: it cannot be read/)
  expect(state.incomplete).toEqual(incomplete)
  expect(state.report).toMatchObject({ question: "What is tea?", incomplete })
})
