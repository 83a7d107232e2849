/** Processes die at any point; no recorded model call, query or search is repeated. */
import { expect, test } from "vitest"
import { agent } from "../../agents/index.ts"
import { pureModel } from "../../agents/stand-ins.test-support.ts"
import { crashTest } from "../../testing/simulation/crash-test.test-support.ts"
import type { Database, Retriever } from "../ports.ts"
import { database, databases, LAMPS, ranker, retriever, rows } from "./goal.test-support.ts"
import { sequentialGoal } from "./sequential-goal.ts"

test("a run with two lanes, detection, fallbacks and a review has the same result, wherever its process crashes", async () => {
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
  const { outcome, crashes, writes } = await crashTest(pipeline, "how many lamps?", { stride: 3 })
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: [
      "Incomplete: The files: the query failed: broken The query was: SELECT n FROM lamps\n\n### AssistantAgent=a\n[After 1 review passes]\na second\n\n---\n\n### AssistantAgent=b\n[After 1 review passes]\nb second",
    ],
    // Triage; per lane: SQL for the database and the files, a correction of the latter, two answers, one review.
    usage: { modelCalls: 1 + 2 * 6 },
  })
  expect(crashes).toBeGreaterThanOrEqual(writes / 3)
})

test("a choice by a model, fallbacks, corrected SQL and Cypher have the same result, wherever the process crashes", async () => {
  const model = pureModel((last, _, name) => {
    if (name === "triage") {
      const isChoice = last.includes("Which of these sources")
      return isChoice ? '{"source":2}' : '{"intents":["ai_search"],"confidence":1,"rationale":"x"}'
    }
    if (name === "sql") return last.includes("failed") ? "SELECT n FROM lamps" : "SELECT m FROM lamps"
    if (name === "graph") return "MATCH (n) RETURN n"
    return name === "reviewer" ? '{"decision":"accept"}' : "Seven [1], eight [3], nine [4]."
  })
  const make = (name: string) => agent({ name, model, stream: false })
  // By the query, not by the number of calls: a query that was not recorded runs again.
  const shop: Database = {
    ...database("shop"),
    query: async (sql) => {
      if (sql.includes("SELECT m")) throw new Error("no column m")
      return rows(["count"], [])
    },
  }
  const hr = { ...shop, id: "hr", name: "The hr" }
  const graph: Retriever = {
    ...retriever("people", [{ ...LAMPS, source: "people/1" }]),
    cypher: { schema: async () => "(:Lamp)", query: async () => rows(["n"], [[7]]) },
  }
  const pipeline = sequentialGoal({
    triage: make("triage"),
    assistants: [make("a")],
    reviewer: make("reviewer"),
    sql: { agent: make("sql"), databases: databases(shop, hr) },
    ranker: ranker("database shop 0.9", "database hr 0.8", "graph people 0.3"),
    graph,
    cypher: make("graph"),
    vector: retriever("docs", [LAMPS]),
  })
  const { outcome, crashes, writes } = await crashTest(pipeline, "how many lamps?", { stride: 3 })
  expect(outcome).toMatchObject({
    status: "completed",
    outputs: ["Seven [1], eight [3], nine."],
    state: {
      incomplete: [],
      routes: [
        { by: "sql", source: "The hr", outcome: "nothing" },
        { by: "sql", source: "The shop", outcome: "nothing" },
        { by: "graph", source: "people", outcome: "found" },
        { by: "graph", source: "people", outcome: "found" },
        { by: "vector", source: "docs", outcome: "found" },
      ],
      sources: [
        { kind: "graph", query: "MATCH (n) RETURN n", citedBy: ["a"] },
        { kind: "documents", location: "stock.md:3", citedBy: [] },
        { kind: "graph", location: "people/1", citedBy: ["a"] },
      ],
    },
    // Triage and the choice; a query and its correction for each database; Cypher, the answer, the review.
    usage: { modelCalls: 2 + 2 * 2 + 3 },
  })
  expect(crashes).toBeGreaterThanOrEqual(writes / 3)
})
