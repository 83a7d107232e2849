import { describe, expect, test } from "vitest"
import {
  type AskedDatabase,
  database,
  databases,
  LAMPS,
  retriever,
  rows,
  team,
  triaged,
  watched,
} from "./goal.test-support.ts"
import type { GoalConfig } from "./goal-config.ts"
import { selectIn } from "./select-in.ts"

const NOTHING = rows(["n"], [])
const SENTENCE = "No results found in PostgreSQL SQL, CSV, or Vector search."

interface Case {
  readonly list: readonly AskedDatabase[]
  readonly sql?: readonly (string | { error: { code: number; message: string } })[]
  readonly config?: Partial<GoalConfig>
  readonly triage?: object
}

/** What the assistant was given, which search gave it, and what the trace says. */
async function searched({
  list,
  sql = ["SELECT n FROM lamps", "SELECT n FROM lamps"],
  config,
  triage,
}: Case) {
  const agents = team({
    triage: [triaged({ preferred_agent: "sql", ...triage } as never)],
    sql,
    a: ["done"],
  })
  const { result, events, nodes, logs } = await watched({
    ...agents,
    sql: { agent: agents.sqlAgent, databases: databases(...list) },
    ...config,
  })
  const steps = events.flatMap((event) => (event.type === "step.recorded" ? [event.key] : []))
  const target = events.flatMap((event) =>
    event.type === "output" && event.node === "answer" ? [event.value as { foundBy: string }] : [],
  )
  const context = agents.told("a")[0]?.split("Context:\n")[1] ?? ""
  return { result, context, nodes, logs, steps, foundBy: target[0]?.foundBy, agents }
}

describe("the SQL agent", () => {
  test("asks the model for one SELECT over the detected schema, and reads the rows", async () => {
    const shop = database("shop")
    const { context, agents, foundBy } = await searched({ list: [shop] })
    const [told = ""] = agents.told("sql")
    expect(told).toContain("Write one SELECT (PostgreSQL)")
    expect(told).toContain("Tables:\nlamps (n integer)")
    expect(told).toContain("Goal: how many lamps?")
    expect(shop.queries).toEqual(["SELECT n FROM lamps [20]"])
    expect(context).toBe("Source: The shop (postgresql)\nSQL: SELECT n FROM lamps\n\nn\n7")
    expect(foundBy).toBe("sql")
  })

  test("formats at most 20 rows, and says that there are more", async () => {
    const many = rows(
      ["n"],
      Array.from({ length: 30 }, (_, i) => [i]),
    )
    const { context } = await searched({ list: [database("shop", { answer: many })] })
    expect(context.split("\n").slice(4)).toEqual([
      ...Array.from({ length: 20 }, (_, i) => String(i)),
      "(the first 20 rows; there are more)",
    ])
  })

  test("takes the database that triage named, and else finds the best", async () => {
    const [first, second] = [database("first"), database("second")]
    await searched({ list: [first, second], triage: { database_id: "second" } })
    await searched({ list: [first, second], triage: { database_id: "made up" } })
    expect([first.queries.length, second.queries.length]).toEqual([1, 1])
  })

  test("no rows: the CSV files are asked", async () => {
    const files = database("files", { kind: "csv" })
    const { foundBy, context, agents, nodes } = await searched({
      list: [database("shop", { answer: NOTHING }), files],
    })
    expect(foundBy).toBe("csv")
    expect(context).toContain("Source: The files (csv)")
    expect(agents.told("sql")[1]).toContain("Write one SELECT (DuckDB)")
    expect(nodes.slice(nodes.indexOf("sql"))).toEqual([
      "sql",
      "csv",
      "assistant",
      "review",
      "answer",
      "stitch",
    ])
  })

  test("no database: the CSV files of the configuration are asked", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "sql" })], sql: ["SELECT 1"], a: ["done"] })
    const files = database("files", { kind: "csv" })
    const sql = { agent: agents.sqlAgent, databases: databases(), csv: files }
    const { logs } = await watched({ ...agents, sql })
    expect(files.queries).toHaveLength(1)
    expect(logs).toContain("info: The csv search answered.")
  })

  test("files that were detected are asked first, also where others are configured", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "csv", database_id: "new" })], a: ["done"] })
    const [fresh, old] = [database("new", { kind: "csv" }), database("old", { kind: "csv" })]
    const model = team({ sql: ["SELECT 1"] })
    const sql = { agent: model.sqlAgent, databases: databases(fresh), csv: old }
    await watched({ ...agents, sql })
    expect([fresh.queries.length, old.queries.length]).toEqual([1, 0])
  })

  test("no rows there either: the vector index is asked", async () => {
    const { foundBy, context, steps } = await searched({
      list: [database("shop", { answer: NOTHING }), database("files", { kind: "csv", answer: NOTHING })],
      config: { vector: retriever("docs", [LAMPS]) },
    })
    expect(foundBy).toBe("vector")
    expect(context).toContain("There are 7 lamps.")
    expect(steps.some((key) => key.includes("vector search of docs"))).toBe(true)
  })

  test("an index of its own comes before the pipeline's", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "sql" })], a: ["done"] })
    const [own, other] = [retriever("own"), retriever("other")]
    const sql = { agent: agents.sqlAgent, databases: databases(), vector: own }
    await watched({ ...agents, sql, vector: other })
    expect([own.queries.length, other.queries.length]).toEqual([1, 0])
  })

  test("nothing anywhere: the assistant is told the sentence", async () => {
    const { context, foundBy, result } = await searched({ list: [] })
    expect([context, foundBy, result.status]).toEqual([SENTENCE, "nothing", "completed"])
  })

  test.each<[string, Omit<Case, "list">, AskedDatabase]>([
    ["a query that fails", {}, database("shop", { answer: new Error("permission denied.") })],
    ["an answer without a SELECT", { sql: ["DROP TABLE lamps"] }, database("shop")],
    ["a model that fails", { sql: [{ error: { code: 400, message: "no" } }] }, database("shop")],
    ["an empty schema", {}, database("shop", { tables: [] })],
    ["a result too large to be read", {}, database("shop", { answer: rows(["n"], [], true) })],
  ])("%s counts as no rows, and the log says why", async (_, rest, shop) => {
    const { context, logs } = await searched({ list: [shop], ...rest })
    expect(context).toBe(SENTENCE)
    expect(logs.filter((line) => line.startsWith('info: "The shop" has nothing: '))).toHaveLength(1)
  })

  test("a query that fails goes back to the model once, with what the database says", async () => {
    let asked = 0
    const shop = database("shop")
    const query: typeof shop.query = async (...given) => {
      if (asked++ === 0) throw new Error('column "m" does not exist. Hint: perhaps you meant "n".')
      return await shop.query(...given)
    }
    const sql = ["SELECT m FROM lamps", "SELECT n FROM lamps"]
    const { context, agents, result } = await searched({ list: [{ ...shop, query }], sql })
    expect(agents.told("sql")[1]).toContain('Hint: perhaps you meant "n".')
    expect(context).toContain("SQL: SELECT n FROM lamps")
    expect(result.outputs).toEqual(["done"])
    expect(result.state.incomplete).toEqual([])
  })

  test("a database that is down is in the answer's first lines and in the result, not only in the log", async () => {
    const answer = new Error("connection refused")
    const { result } = await searched({ list: [database("shop", { answer })] })
    expect(String(result.outputs[0])).toMatch(/^Incomplete: The shop: the query failed: connection refused/)
    expect(result.state.incomplete).toEqual([
      { source: "The shop", reason: expect.stringContaining("connection refused") },
    ])
  })

  test("a last resort that fails is logged, and the run goes on", async () => {
    const vector = retriever("docs", new Error("corrupt"))
    const { context, logs } = await searched({ list: [], config: { vector } })
    expect(context).toBe(SENTENCE)
    expect(logs).toContain('warn: The vector search of "docs" failed: corrupt.')
  })

  test("a schema that cannot be read counts as no rows, and a list of files that cannot be had as none", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "sql", database_id: "x" })], a: ["done"] })
    const shut = async () => {
      throw new Error("unreachable")
    }
    const sql = { agent: agents.sqlAgent, databases: { listDatabases: shut, findBestDatabase: shut } }
    const { result, logs } = await watched({ ...agents, sql })
    expect(String(result.outputs[0])).toMatch(
      /^Incomplete: x: unreachable\nIncomplete: files: unreachable\n\ndone$/,
    )
    expect(logs).toContain("warn: No database was found: unreachable")
    expect(logs).toContain("warn: The files cannot be listed: unreachable")
    const shop = { ...database("shop"), schema: shut }
    const { context, logs: told } = await searched({ list: [shop] })
    expect(context).toBe(SENTENCE)
    expect(told).toContain('info: "The shop" has nothing: its schema cannot be read: unreachable')
  })

  test("of 1,000 tables those with words of the goal are shown", async () => {
    const tables = Array.from({ length: 1000 }, (_, i) => ({ name: `t${i}`, columns: [] }))
    const lamps = { name: "lamp_stock", columns: [{ name: "n", type: "integer" }] }
    const { agents } = await searched({ list: [database("shop", { tables: [...tables, lamps] })] })
    const [told = ""] = agents.told("sql")
    expect(told).toContain("Tables:\nlamp_stock (n integer)\nt0 ()")
    expect(told).toContain("… and 941 more tables")
    expect(told.length).toBeLessThan(3_000)
  })
})

test.each([
  ["SELECT 1;", "SELECT 1"],
  ["```sql\nselect 1\n```", "select 1"],
  [
    "Here it is:\n```\nWITH a AS (SELECT 1) SELECT * FROM a;\n```\nDone.",
    "WITH a AS (SELECT 1) SELECT * FROM a",
  ],
  ["-- all of them\n/* x */ SELECT 1", "-- all of them\n/* x */ SELECT 1"],
  ["```postgres\nSELECT 1\n```", "SELECT 1"],
  ["``` SQL\r\nSELECT 1;\r\n```", "SELECT 1"],
  ["```sql SELECT 1```", "SELECT 1"],
  ["(SELECT 1) UNION (SELECT 2)", "(SELECT 1) UNION (SELECT 2)"],
  ["NONE", undefined],
  ["```\nNONE\n```", undefined],
  ["selection", undefined],
  ["DELETE FROM a", undefined],
  ["", undefined],
])("the SELECT in %j is %j", (answer, sql) => {
  expect(selectIn(answer)).toBe(sql)
})
