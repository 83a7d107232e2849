import { expect, test } from "vitest"
import { databases, retriever, team } from "./goal.test-support.ts"
import type { GoalConfig } from "./goal-config.ts"
import { chooseSearch, chooseTargets } from "./triage.ts"

const agents = team({}, ["a", "b"])
const sql = { sql: { agent: agents.sqlAgent, databases: databases() } }
const graph = { graph: retriever("graph") }
const said = { intents: ["ai_search"], confidence: 1, rationale: "x" }

test.each<[string, object, Partial<GoalConfig>, object]>([
  [
    "sql, with a SQL agent",
    { preferred_agent: "sql", database_id: "d" },
    { ...sql, ...graph },
    { by: "sql", database: "d" },
  ],
  ["sql, and no database known: the agent finds it", { preferred_agent: "sql" }, sql, { by: "sql" }],
  ["sql, without a SQL agent, with a graph", { preferred_agent: "sql" }, graph, { by: "graph" }],
  ["sql, without either", { preferred_agent: "sql" }, {}, { by: "vector" }],
  [
    "csv, with a SQL agent: it reads CSV",
    { preferred_agent: "csv", database_id: "f" },
    { ...sql, ...graph },
    { by: "sql", database: "f" },
  ],
  ["csv, without a SQL agent", { preferred_agent: "csv" }, graph, { by: "vector" }],
  ["vector, with a graph", { preferred_agent: "vector" }, { ...sql, ...graph }, { by: "graph" }],
  ["nothing, with a graph that is off", {}, { ...sql, ...graph, useGraphSearch: false }, { by: "vector" }],
  ["nothing, without a graph", {}, sql, { by: "vector" }],
])("preferred is %s", (_, triage, config, chosen) => {
  expect(chooseSearch({ ...said, ...triage }, { ...agents, ...config })).toEqual(chosen)
})

test("all assistants of the configuration, or the first", () => {
  expect(chooseTargets(said, agents)).toEqual(["a"])
  expect(chooseTargets({ ...said, intents: ["multi"] }, agents)).toEqual(["a", "b"])
  expect(chooseTargets(said, { ...agents, multiRouteAlways: true })).toEqual(["a", "b"])
})
