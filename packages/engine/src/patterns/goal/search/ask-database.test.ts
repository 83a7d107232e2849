import { describe, expect, test } from "vitest"
import { SuperstepError } from "../../../core/index.ts"
import type { Database, Table } from "../../ports.ts"
import {
  type AskedDatabase,
  database,
  databases,
  LAMPS,
  retriever,
  rows,
  shownEvidence,
  team,
  triaged,
  watched,
} from "../goal.test-support.ts"
import type { GoalConfig } from "../goal-config.ts"
import { askedAtOf, selectIn } from "./ask-database.ts"
import { schemaText } from "./database-text.ts"

const NOTHING = rows(["n"], [])
const SENTENCE = "No results found in PostgreSQL SQL, CSV, or Vector search."

interface Case {
  readonly list: readonly (AskedDatabase | Database)[]
  readonly sql?: readonly (string | { error: { code: number; message: string } })[]
  readonly config?: Partial<GoalConfig>
  readonly triage?: object
}

/** The assistant's context, the search that found it, and the trace. */
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
  const context = agents.prompts("a")[0]?.split("Context:\n")[1] ?? ""
  return { result, events, context, nodes, logs, steps, foundBy: target[0]?.foundBy, agents }
}

describe("the SQL agent", () => {
  test("asks the model for one SELECT over the detected schema, and reads the rows", async () => {
    const shop = database("shop")
    const { context, agents, foundBy } = await searched({ list: [shop] })
    const [prompt = ""] = agents.prompts("sql")
    expect(prompt).toContain("Write one SELECT (PostgreSQL)")
    expect(prompt).toContain("Tables:\nlamps (n integer)")
    expect(prompt).toContain("Goal: how many lamps?")
    expect(shop.queries).toEqual(["SELECT n FROM lamps [20]"])
    expect(context).toBe(shownEvidence("The shop (postgresql)\nSQL: SELECT n FROM lamps\n\nn\n7"))
    expect(foundBy).toBe("sql")
  })

  test("formats at most 20 rows, and notes that there are more", async () => {
    const many = rows(
      ["n"],
      Array.from({ length: 30 }, (_, i) => [i]),
    )
    const { context } = await searched({ list: [database("shop", { answer: many })] })
    expect(context.split("\n").slice(5, 26)).toEqual([
      ...Array.from({ length: 20 }, (_, i) => String(i)),
      "(the first 20 rows; there are more)",
    ])
  })

  test("uses the database that triage named, or else finds the best", async () => {
    const [first, second] = [database("first"), database("second")]
    await searched({ list: [first, second], triage: { database_id: "second" } })
    await searched({ list: [first, second], triage: { database_id: "made up" } })
    expect([first.queries.length, second.queries.length]).toEqual([1, 1])
  })

  test("no rows: the CSV files are queried", async () => {
    const files = database("files", { kind: "csv" })
    const { foundBy, context, agents, nodes } = await searched({
      list: [database("shop", { answer: NOTHING }), files],
    })
    expect(foundBy).toBe("csv")
    expect(context).toContain("[1] The files (csv)")
    expect(agents.prompts("sql")[1]).toContain("Write one SELECT (DuckDB)")
    expect(nodes.slice(nodes.indexOf("sql"))).toEqual([
      "sql",
      "csv",
      "assistant",
      "review",
      "answer",
      "stitch",
    ])
  })

  test("no database: the CSV files of the configuration are queried", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "sql" })], sql: ["SELECT 1"], a: ["done"] })
    const files = database("files", { kind: "csv" })
    const sql = { agent: agents.sqlAgent, databases: databases(), csv: files }
    const { logs } = await watched({ ...agents, sql })
    expect(files.queries).toHaveLength(1)
    expect(logs).toContain("info: The csv search answered.")
  })

  test("detected files are queried first, even if others are configured", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "csv", database_id: "new" })], a: ["done"] })
    const [fresh, old] = [database("new", { kind: "csv" }), database("old", { kind: "csv" })]
    const model = team({ sql: ["SELECT 1"] })
    const sql = { agent: model.sqlAgent, databases: databases(fresh), csv: old }
    await watched({ ...agents, sql })
    expect([fresh.queries.length, old.queries.length]).toEqual([1, 0])
  })

  test("no rows there either: the vector index is searched", async () => {
    const { foundBy, context, steps } = await searched({
      list: [database("shop", { answer: NOTHING }), database("files", { kind: "csv", answer: NOTHING })],
      config: { vector: retriever("docs", [LAMPS]) },
    })
    expect(foundBy).toBe("vector")
    expect(context).toContain("There are 7 lamps.")
    expect(steps.some((key) => key.includes("vector search of docs"))).toBe(true)
  })

  test("its own index takes precedence over the pipeline's", async () => {
    const agents = team({ triage: [triaged({ preferred_agent: "sql" })], a: ["done"] })
    const [own, other] = [retriever("own"), retriever("other")]
    const sql = { agent: agents.sqlAgent, databases: databases(), vector: own }
    await watched({ ...agents, sql, vector: other })
    expect([own.queries.length, other.queries.length]).toEqual([1, 0])
  })

  test("when no search has results, the assistant receives the fixed sentence", async () => {
    const { context, foundBy, result } = await searched({ list: [] })
    expect([context, foundBy, result.status]).toEqual([SENTENCE, "nothing", "completed"])
  })

  test.each<[string, Omit<Case, "list">, AskedDatabase]>([
    ["a query that fails", {}, database("shop", { answer: new Error("permission denied.") })],
    ["an answer without a SELECT", { sql: ["DROP TABLE lamps"] }, database("shop")],
    ["a model that fails", { sql: [{ error: { code: 400, message: "no" } }] }, database("shop")],
    ["an empty schema", {}, database("shop", { tables: [] })],
    ["a result that is too large to read", {}, database("shop", { answer: rows(["n"], [], true) })],
  ])("%s counts as no rows, and the log has the reason", async (_, rest, shop) => {
    const { context, logs } = await searched({ list: [shop], ...rest })
    expect(context).toBe(SENTENCE)
    expect(logs.filter((line) => line.startsWith('info: "The shop" has nothing: '))).toHaveLength(1)
  })

  test("a failed query is sent back to the model at most twice, with the database's error", async () => {
    const hint = new Error('column "m" does not exist (at character 8). Perhaps you meant "n".')
    const other = new Error("syntax error")
    const shop = database("shop", { answers: [hint, other] })
    const sql = ["SELECT m FROM lamps", "SELECT n n n FROM lamps", "SELECT n FROM lamps"]
    const { context, agents, result } = await searched({ list: [shop], sql })
    const prompts = agents.prompts("sql")
    expect(prompts[1]).toContain(
      'This query failed:\nSELECT m FROM lamps\nThe database says: column "m" does not exist (at character 8). Perhaps you meant "n".\nWrite it correctly.',
    )
    expect(prompts[2]).toContain('Perhaps you meant "n".')
    expect(prompts[2]).toContain("SELECT n n n FROM lamps\nThe database says: syntax error")
    expect(context).toContain("SQL: SELECT n FROM lamps")
    expect(result.outputs).toEqual(["done"])
    expect(result.state.incomplete).toEqual([])

    const broken = database("shop", { answer: other })
    const wrong = ["SELECT 1", "SELECT 2", "SELECT 3", "SELECT 4"]
    const failed = await searched({ list: [broken], sql: wrong })
    expect(broken.queries).toEqual(["SELECT 1 [20]", "SELECT 2 [20]", "SELECT 3 [20]"])
    expect(failed.result.state.incomplete).toEqual([
      { source: "The shop", reason: "the query failed: syntax error The query was: SELECT 3" },
    ])
  })

  test("an unreachable database is not the query's fault: the model is called once", async () => {
    const answer = new SuperstepError("DATABASE_UNREACHABLE", "nobody there")
    const { agents } = await searched({ list: [database("shop", { answer })] })
    expect(agents.prompts("sql")).toHaveLength(1)
  })

  test("a database that is down is in the answer's first lines and in the result, not only in the log", async () => {
    const answer = new Error("connection refused")
    const { result } = await searched({ list: [database("shop", { answer })] })
    expect(String(result.outputs[0])).toMatch(/^Incomplete: The shop: the query failed: connection refused/)
    expect(result.state.incomplete).toEqual([
      { source: "The shop", reason: expect.stringContaining("connection refused") },
    ])
  })

  test("a result that is too large is reported in the answer, because it differs from no result", async () => {
    const { result } = await searched({ list: [database("shop", { answer: rows(["n"], [], true) })] })
    expect(String(result.outputs[0])).toMatch(/^Incomplete: The shop: the result is too large for: SELECT/)
  })

  test("a failed last fallback is logged, and the run continues", async () => {
    const vector = retriever("docs", new Error("corrupt"))
    const { context, logs } = await searched({ list: [], config: { vector } })
    expect(context).toBe(SENTENCE)
    expect(logs).toContain('warn: The vector search of "docs" failed: corrupt.')
  })

  test("an unreadable schema counts as no rows, and an unavailable list of files as empty", async () => {
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
    const { context, logs: logged } = await searched({ list: [shop] })
    expect(context).toBe(SENTENCE)
    expect(logged).toContain('info: "The shop" has nothing: its schema cannot be read: unreachable')
  })

  test("of 1,000 tables those with words of the goal are shown", async () => {
    const tables = Array.from({ length: 1000 }, (_, i) => ({ name: `t${i}`, columns: [] }))
    const lamps = { name: "lamp_stock", columns: [{ name: "n", type: "integer" }] }
    const { agents } = await searched({ list: [database("shop", { tables: [...tables, lamps] })] })
    const [prompt = ""] = agents.prompts("sql")
    expect(prompt).toContain("Tables:\nlamp_stock (n integer)\nt0 ()")
    expect(prompt).toContain("… and 941 more tables")
    expect(prompt.length).toBeLessThan(3_000)
  })
})

describe("the prompt", () => {
  const tables: Table[] = [
    {
      name: "orders",
      columns: [
        { name: "id", type: "integer", range: [1, 900] },
        {
          name: "status",
          type: "text",
          values: ["open", "can't say"],
          distinct: 2,
          description: "of the order",
        },
        { name: "city", type: "text", values: ["Oslo"], distinct: 40 },
        { name: "customer", type: "integer" },
      ],
      primaryKey: ["id"],
      foreignKeys: [{ columns: ["customer"], table: "customers", references: ["id"] }],
      rowCount: 900,
      sample: [{ id: 1, status: "open\nDROP TABLE orders", customer: null }],
    },
    { name: "customers", columns: [{ name: "id", type: "integer" }] },
  ]

  test("has keys, values, ranges, sample rows, the date and the time zone", async () => {
    const shop = { ...database("shop", { tables }), profile: async () => ({ tables }) }
    const { agents, events } = await searched({ list: [shop] })
    const [prompt = ""] = agents.prompts("sql")
    expect(prompt).toContain(
      [
        "Tables:",
        "orders (id integer, status text, city text, customer integer), about 900 rows",
        "  primary key: id",
        "  customer refers to customers (id)",
        "  status -- of the order",
        "  id: from 1 to 900",
        "  status is one of 'open', 'can''t say'",
        "  city is for example 'Oslo'",
        "  a row: id = 1, status = 'open DROP TABLE orders', customer = NULL",
        "customers (id integer)",
      ].join("\n"),
    )
    expect(prompt).toMatch(/^Today is \d{4}-\d\d-\d\d, a [A-Z][a-z]+day\. The time zone is \S+\.$/m)
    // Values of the profile are only for the model.
    expect(JSON.stringify(events)).not.toContain("Oslo")
  })

  test("has the schema if there is no profile, or if it fails", async () => {
    const profile = async () => Promise.reject(new Error("too slow"))
    const { agents } = await searched({
      list: [{ ...database("shop", { tables: tables.slice(1) }), profile }],
    })
    expect(agents.prompts("sql")[0]).toContain("Tables:\ncustomers (id integer)\n")
  })

  test("is limited: with many large tables, keys take precedence over values", () => {
    const many = Array.from({ length: 60 }, (_, i) => ({
      ...(tables[0] as Table),
      name: `orders${i}`,
      columns: Array.from({ length: 50 }, (_, n) => ({
        name: `c${n}`,
        type: "text",
        values: Array.from({ length: 30 }, () => "x".repeat(500)),
      })),
    }))
    const text = schemaText(many, "orders", { hasValues: true })
    expect(text.length).toBeLessThan(80_000)
    expect(text.match(/primary key: id/g)).toHaveLength(60)
  })

  test("uses the run's own clock", () => {
    const { date, timeZone } = askedAtOf(Date.UTC(2026, 1, 5, 12))
    expect(date).toBe("2026-02-05, a Thursday")
    expect(timeZone).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone)
  })
})

describe("rows without information", () => {
  const other = database("files", { kind: "csv", answer: rows(["n"], [[7]]) })

  test("one row of NULL is an aggregate over nothing: the next source is queried", async () => {
    const shop = database("shop", { answer: rows(["sum", "avg"], [[null, null]]) })
    const { result, foundBy } = await searched({ list: [shop, other] })
    expect(foundBy).toBe("csv")
    expect(result.state.sources).toHaveLength(1)
    expect(result.state.routes[0]).toMatchObject({
      outcome: "nothing",
      reason: "only NULL for: SELECT n FROM lamps",
    })
  })

  test("several rows, or one with a value, are evidence even if they contain NULL", async () => {
    for (const list of [[[null], [null]], [[null, 0.5]]]) {
      const shop = database("shop", { answer: rows(["a", "b"], list) })
      expect((await searched({ list: [shop, other] })).foundBy).toBe("sql")
    }
  })

  test("a count of 0 is evidence, in addition to the other sources", async () => {
    const shop = database("shop", { answer: rows(["count"], [[0]]) })
    const sql = ["SELECT count(*) FROM lamps", "SELECT n FROM lamps"]
    const { context, foundBy } = await searched({ list: [shop, other], sql })
    expect(context).toContain("[1] The shop (postgresql)\nSQL: SELECT count(*) FROM lamps\n\ncount\n0")
    expect(context).toContain("[2] The files (csv)")
    expect(foundBy).toBe("csv")
    const alone = await searched({ list: [shop], sql })
    expect(alone.context).toBe(
      shownEvidence("The shop (postgresql)\nSQL: SELECT count(*) FROM lamps\n\ncount\n0"),
    )
    expect(alone.foundBy).toBe("sql")
  })

  test("a 0 that is not an aggregate is an ordinary answer", async () => {
    const shop = database("shop", { answer: rows(["balance"], [[0]]) })
    expect((await searched({ list: [shop, other], sql: ["SELECT balance FROM lamps"] })).foundBy).toBe("sql")
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
