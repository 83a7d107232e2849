import { describe, expect, test } from "vitest"
import { agent } from "../../../agents/index.ts"
import { offlineModel, scriptedModel } from "../../../models/index.ts"
import type { Table } from "../../ports.ts"
import { database, databases, rows, shownEvidence, team, triaged, watched } from "../goal.test-support.ts"
import { isOffline, selectMatching } from "./matching-rows.ts"

const columns = (list: string) => list.split(", ").map((name) => ({ name, type: "text" }))
const TABLES: readonly Table[] = [
  { name: "customers", columns: columns("name, city, since"), description: "who buys from us" },
  { name: "orders", columns: columns("id, customer, product, total, status, ordered_on") },
  { name: '"Unit Prices"', columns: columns('"product name", "unit price"') },
]
const ROW = "concat_ws(' ', id, customer, product, total, status, ordered_on)"
const select = (goal: string) => selectMatching(TABLES, goal, 20)

describe("the SELECT", () => {
  test("uses the table with most words of the goal, for rows that contain its names", () => {
    const row = "concat_ws(' ', name, city, since)"
    expect(select("In which city is the customer Berg og Dal?")).toBe(
      `SELECT name, city, since FROM customers WHERE ${row} ILIKE '%Berg%' AND ${row} ILIKE '%Dal%' LIMIT 20`,
    )
  })

  test("lists rows with the other words first", () => {
    expect(select("Which orders of Nordlys Sport were cancelled?")).toBe(
      "SELECT id, customer, product, total, status, ordered_on FROM orders " +
        `WHERE ${ROW} ILIKE '%Nordlys%Sport%' ORDER BY CASE WHEN ${ROW} ILIKE '%cancel%' THEN 1 ELSE 0 END DESC LIMIT 20`,
    )
  })

  test.each([
    "How many orders are there?",
    "What is the total of the orders of Kystlinje in March 2026?",
    "What is the average total of the orders?",
    "Show the latest order",
    "Which unit price is the lowest?",
  ])("lists rows and computes nothing: %s", (goal) => {
    const sql = select(goal)
    expect(sql).toMatch(/^SELECT (?:[\w"]+(?: price| name)?"?(?:, )?)+ FROM /)
    expect(sql).not.toMatch(/\b(?:count|sum|avg|min|max|group by)\b/i)
  })

  test("a name cannot end the string that contains it", () => {
    const sql = select(`Which orders has O'Hara'); DROP TABLE orders; --?`) ?? ""
    expect(sql).toContain("'%O''Hara%'")
    expect(sql.replaceAll(/'(?:[^']|'')*'/g, "")).not.toMatch(/drop|;|--/i)
  })

  test("finds a table by values of its columns", () => {
    const kinds = { name: "kind", type: "text", values: ["Backpacks", "tents"] }
    const tables = [...TABLES, { name: "prd", columns: [...columns("nm, wt"), kinds] }]
    expect(selectMatching(tables, "Which backpack is the heaviest?", 20)).toMatch(/ FROM prd /)
  })

  test.each(["sqlite", "mysql"] as const)("is written for %s without ILIKE", (kind) => {
    const sql = selectMatching(TABLES, "In which city is the customer Berg og Dal?", 20, kind)
    expect(sql).toContain("concat_ws(' ', name, city, since) LIKE '%Berg%'")
    expect(sql).not.toContain("ILIKE")
  })

  test("is not written if no table has a word of the goal", () => {
    expect(select("How do I wash a sleeping bag?")).toBeUndefined()
    expect(selectMatching([], "orders", 20)).toBeUndefined()
  })
})

test("an agent is offline by the model that answers for it", async () => {
  const named = (model: Parameters<typeof agent>[0]["model"]) => agent({ name: "a", model })
  expect(await isOffline(named("offline") as never)).toBe(true)
  expect(await isOffline(named(offlineModel()) as never)).toBe(true)
  expect(await isOffline(named(scriptedModel([])) as never)).toBe(false)
  expect(await isOffline(named("nobody/nothing") as never)).toBe(false)
})

test("the pipeline lists matching rows itself if its SQL agent is offline, and reports that no table matches", async () => {
  const ask = async (goal: string) => {
    const shop = database("shop", { answer: rows(["n"], [[7]]) })
    const agents = team({ triage: [triaged({ preferred_agent: "sql" } as never)], a: ["done"] })
    const sql = agent({ name: "sql", model: "offline" }) as never
    const { logs } = await watched({ ...agents, sql: { agent: sql, databases: databases(shop) } }, goal)
    return { queries: shop.queries, context: agents.prompts("a")[0]?.split("Context:\n")[1], logs }
  }
  const found = await ask("how many lamps?")
  expect(found.queries).toEqual(["SELECT n FROM lamps LIMIT 20 [20]"])
  expect(found.context).toBe(shownEvidence("The shop (postgresql)\nn\n7"))
  const none = await ask("who is there?")
  expect(none.queries).toEqual([])
  expect(none.logs.join("\n")).toContain("no table has a word of the goal")
})
