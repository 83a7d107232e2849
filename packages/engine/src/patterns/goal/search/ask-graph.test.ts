import { describe, expect, test } from "vitest"
import { agent } from "../../../agents/index.ts"
import type { QueryResult } from "../../ports.ts"
import { LAMPS, retriever, rows, shownEvidence, team, watched } from "../goal.test-support.ts"
import { cypherIn } from "./ask-database.ts"

const SCHEMA = "(:Person {name STRING})\n(:Person)-[:SELLS]->(:Lamp)"

function graph(answers: readonly (QueryResult | Error)[], schema: string | Error = SCHEMA) {
  const queries: string[] = []
  const left = [...answers]
  return {
    ...retriever("people"),
    queries,
    cypher: {
      schema: async () => {
        if (schema instanceof Error) throw schema
        return schema
      },
      query: async (cypher: string, { rows: most }: { rows?: number | undefined } = {}) => {
        queries.push(`${cypher} [${most}]`)
        const answer = left.shift() ?? rows([], [])
        if (answer instanceof Error) throw answer
        return answer
      },
    },
  }
}

const cypher = "MATCH (p:Person)-[:SELLS]->(l:Lamp) RETURN p.name"

describe("the graph agent", () => {
  test("writes Cypher for the schema, and the rows are evidence beside the results of the searches", async () => {
    const people = graph([rows(["p.name"], [["Ann"]])])
    const agents = team({ a: ["Ann [1]."], sql: [`\`\`\`cypher\n${cypher};\n\`\`\``] })
    const { result } = await watched({
      ...agents,
      graph: people,
      cypher: agents.sqlAgent,
      vector: retriever("docs", [LAMPS]),
    })
    const [prompt = ""] = agents.prompts("sql")
    expect(prompt).toContain(`Graph:\n${SCHEMA}\n\nGoal: how many lamps?`)
    expect(prompt).toMatch(/^Today is /m)
    expect(people.queries).toEqual([`${cypher} [20]`])
    expect(agents.prompts("a")[0]).toContain(
      shownEvidence(
        `people\nCypher: ${cypher}\n\np.name\nAnn`,
        "stock.md:3 (score 0.831)\nThere are 7 lamps.",
      ),
    )
    expect(result.state.sources[0]).toMatchObject({
      kind: "graph",
      query: cypher,
      rows: [["Ann"]],
      citedBy: ["a"],
    })
  })

  test("receives the graph's error about a query at most twice; the answer reports one that cannot be corrected", async () => {
    const no = new Error("The query was refused: CREATE is not allowed.")
    const people = graph([no, no, no])
    const queries = ["MATCH (n) RETURN 1", "MATCH (n) RETURN 2", "MATCH (n) RETURN 3"]
    const agents = team({ a: ["x"], sql: queries })
    const { result } = await watched({ ...agents, graph: people, cypher: agents.sqlAgent })
    expect(agents.prompts("sql")[2]).toContain(
      "The database says: The query was refused: CREATE is not allowed.",
    )
    expect(result.state.incomplete).toEqual([
      { source: "people", reason: expect.stringContaining("CREATE is not allowed") },
    ])
    expect(result.status).toBe("completed")
  })

  test.each([
    ["the graph takes no queries", graph([], "")],
    ["the schema cannot be read", graph([], new Error("away"))],
    ["the graph is searched only", retriever("people", [LAMPS])],
  ])("is not called if %s", async (_, people) => {
    const agents = team({ a: ["x"] })
    const { result } = await watched({ ...agents, graph: people, cypher: agents.sqlAgent })
    expect(result.status).toBe("completed")
    expect(agents.prompts("sql")).toEqual([])
  })

  test("writes nothing offline", async () => {
    const people = graph([])
    const offline = agent({ name: "graph", model: "offline" }) as never
    await watched({ ...team({ a: ["x"] }), graph: people, cypher: offline })
    expect(people.queries).toEqual([])
  })
})

test.each([
  [cypher, cypher],
  ["// who\nMATCH (n) RETURN n;", "// who\nMATCH (n) RETURN n"],
  ["```cypher MATCH (n) RETURN n```", "MATCH (n) RETURN n"],
  ["OPTIONAL MATCH (n) RETURN n", "OPTIONAL MATCH (n) RETURN n"],
  ["CREATE (n) RETURN n", undefined],
  ["CALL db.labels()", undefined],
  ["NONE", undefined],
])("the query in %j is %j", (answer, query) => {
  expect(cypherIn(answer)).toBe(query)
})
