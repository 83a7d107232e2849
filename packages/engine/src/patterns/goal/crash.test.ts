/** Processes die anywhere; no model call, query or search that is on record is made again. */
import { expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { crashTest } from "../../testing/index.ts"
import { database, databases, LAMPS, retriever, rows } from "./goal.test-support.ts"
import { sequentialGoal } from "./sequential-goal.ts"

test("a run with two lanes, detection, fall-backs and a review ends the same, wherever its process dies", async () => {
  const model = pureModel((last, _, name) => {
    if (name === "triage") return '{"intents":["unknown","multi"],"confidence":1,"rationale":"x"}'
    if (name === "sql") return "SELECT n FROM lamps"
    if (name === "reviewer")
      return last.includes("first") ? '{"decision":"revise","reason":"more"}' : '{"decision":"accept"}'
    return last.includes("Feedback") ? `${name} second` : `${name} first`
  })
  const make = (name: string) => agent({ name, model, stream: false })
  const list = [
    database("shop", { answer: rows(["n"], []) }),
    database("files", { kind: "csv", answer: new Error("broken") }),
  ]
  const pipeline = sequentialGoal({
    triage: make("triage"),
    assistants: [make("a"), make("b")],
    reviewer: make("reviewer"),
    sql: { agent: make("sql"), databases: databases(...list) },
    vector: retriever("docs", [LAMPS]),
  })
  const { outcome, crashes } = await crashTest(pipeline, "how many lamps?", { seeds: 30 })
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: [
      "Incomplete: The files: the query failed: broken The query was: SELECT n FROM lamps\n\n### AssistantAgent=a\n[After 1 review passes]\na second\n\n---\n\n### AssistantAgent=b\n[After 1 review passes]\nb second",
    ],
    // Triage; per lane: SQL for the database and the files, a correction of the latter, two answers, one review.
    usage: { modelCalls: 1 + 2 * 6 },
  })
  expect(crashes).toBeGreaterThan(50)
})
