import { expect, test } from "vitest"
import { say } from "./asking.test-support.ts"

const TABLES = `customers (name text, city text, since date) -- who buys from us
orders (id text, customer text, product text, total numeric(10,2), status text, ordered_on date)
"Unit Prices" ("product name" text, "unit price" double precision)`

const ask = (goal: string, tables = TABLES) =>
  say(
    `Write one SELECT (PostgreSQL) that finds what the goal asks for.\nIf these tables cannot have it, answer NONE.\n\nTables:\n${tables}\n\nGoal: ${goal}`,
  )

const ROW = "concat_ws(' ', id, customer, product, total, status, ordered_on)"

test("the table that has most words of the question, and the rows that have the names in it", async () => {
  expect(await ask("In which city is the customer Berg og Dal?")).toBe(
    "SELECT name, city, since FROM customers WHERE concat_ws(' ', name, city, since) ILIKE '%Berg%' AND concat_ws(' ', name, city, since) ILIKE '%Dal%' LIMIT 20",
  )
})

test("other words choose among these rows, and what is counted is none when there are no such rows", async () => {
  expect(await ask("How many orders of Nordlys Sport were cancelled?")).toBe(
    `WITH scored AS (SELECT *, CASE WHEN ${ROW} ILIKE '%cancel%' THEN 1 ELSE 0 END AS hits FROM orders WHERE ${ROW} ILIKE '%Nordlys%Sport%') ` +
      "SELECT 'orders Nordlys Sport' AS what, count(*) AS number FROM scored WHERE hits = (SELECT max(hits) FROM scored) HAVING count(*) > 0",
  )
})

test.each([
  [
    "What is the total of the orders in March 2026?",
    `SELECT 'orders 2026-03' AS what, sum(total) AS total FROM orders WHERE ${ROW} ILIKE '%2026-03%' HAVING count(*) > 0`,
  ],
  ["How many orders are there?", "SELECT 'orders' AS what, count(*) AS number FROM orders"],
  [
    "Show the latest order",
    "SELECT id, customer, product, total, status, ordered_on FROM orders ORDER BY ordered_on DESC LIMIT 1",
  ],
  [
    "Which unit price is the lowest?",
    'SELECT "product name", "unit price" FROM "Unit Prices" ORDER BY "unit price" ASC LIMIT 1',
  ],
])("what is to be worked out is: %s", async (goal, sql) => {
  expect(await ask(goal)).toBe(sql)
})

test("a name cannot end the text that it is in", async () => {
  const sql = await ask(`Which orders has O'Hara'); DROP TABLE orders; --?`)
  expect(sql).toContain("'%O''Hara%'")
  expect(sql.replaceAll(/'(?:[^']|'')*'/g, "")).not.toMatch(/drop|;|--/i)
})

test("tables that have nothing of the question are not asked", async () => {
  expect(await ask("How do I wash a sleeping bag?")).toBe("NONE")
})

test("a word on SELECT without tables is a question like any other", async () => {
  expect(await say("Write one SELECT for me.")).toMatch(/^I am the offline stand-in/)
})

test("rows are quoted with the names of their columns, and the query is not quoted", async () => {
  const context =
    "Source: Shop (postgresql)\nSQL: SELECT name, city FROM customers\n\nname | city\nBerg og Dal | Bergen\nAlpin Haus | Innsbruck"
  expect(await say(`Question: In which city is Alpin Haus?\n\nContext:\n${context}`)).toBe(
    "name: Alpin Haus, city: Innsbruck [1]\n\nSources:\n[1] Shop (postgresql)",
  )
})

test("relationships of a graph are quoted one by one, under their source", async () => {
  const context =
    "[1] company/Person/0:1 (score 3.2)\nJonas Keller\nJonas Keller (Person) {role: test engineer}\n" +
    "Jonas Keller -[WORKS_ON]-> Aurora (Project) {aim: a tent that weighs less than two kilograms}\n" +
    "Jonas Keller -[REPORTS_TO]-> Sindre Haugen (Person) {role: chief engineer}"
  expect(await say(`Question: To whom does Jonas Keller report?\n\nContext:\n${context}`)).toBe(
    "Jonas Keller -[REPORTS_TO]-> Sindre Haugen (Person) {role: chief engineer} [1]\n\nSources:\n[1] company/Person/0:1",
  )
})
