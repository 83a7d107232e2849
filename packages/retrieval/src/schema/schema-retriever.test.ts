import type { Database, Table } from "@superstep/engine/patterns"
import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"
import { singular, wordsOfGoal, wordsOfName } from "../words.ts"
import { readQuestion } from "./question.ts"
import { schemaRetriever } from "./source-ranker.ts"
import { tableMatcher } from "./table-matches.ts"

function table(text: string): Table {
  const [name = "", columns = ""] = text.split(":")
  return {
    name,
    columns: columns
      .split(",")
      .filter(Boolean)
      .map((column) => ({ name: column, type: "text" })),
  }
}

function database(id: string, kind: Database["kind"], ...tables: string[]): Database {
  return {
    id,
    name: id,
    kind,
    schema: async () => tables.map(table),
    query: async () => ({ columns: [], rows: [], isTruncated: false }),
  }
}

const broken: Database = {
  ...database("broken", "postgresql"),
  schema: () => Promise.reject(new Error("cannot be reached")),
}

const score = async (goal: string, ...tables: string[]) =>
  (await schemaRetriever([database("one", "postgresql", ...tables)]).findBestDatabase(goal))?.score ?? 0
const best = async (goal: string, ...databases: Database[]) =>
  (await schemaRetriever(databases).findBestDatabase(goal))?.database.id

describe("words", () => {
  test("stop words are removed, plurals equal the singular, diacritics do not matter", () => {
    expect(wordsOfGoal("How many of the Companies' orders were in our cafés' boxes?")).toEqual([
      "company",
      "order",
      "cafe",
      "box",
    ])
  })

  test("names are split at every kind of boundary", () => {
    for (const name of [
      "customer_orders",
      "CustomerOrders",
      '"Customer Orders"',
      "customer-order",
      "CUSTOMER_ORDER",
    ]) {
      expect(wordsOfName(name)).toEqual(["customer", "order"])
    }
    expect(wordsOfName("HTTPStatus2Codes")).toEqual(["http", "status2", "code"])
  })

  test.each([
    ["sales", "sale"],
    ["addresses", "address"],
    ["statuses", "status"],
    ["houses", "house"],
    ["cases", "case"],
    ["branches", "branch"],
    ["countries", "country"],
    ["movies", "movie"],
    ["sizes", "size"],
    ["boxes", "box"],
    ["excuses", "excuse"],
    ["caches", "cache"],
    ["ties", "tie"],
    ["people", "person"],
    ["status", "status"],
    ["bus", "bus"],
    ["gas", "gas"],
  ])("%s → %s", (word, expected) => {
    expect(singular(word)).toBe(expected)
    expect(singular(expected)).toBe(expected)
  })
})

describe("scores", () => {
  test("a phrase ranks above a word, a word above an abbreviation, that above a part", async () => {
    const goal = "customer orders of last week"
    expect(await score(goal, "customer_orders")).toBeGreaterThan(
      await score(goal, "customer_notes", "order_notes"),
    )
    expect(await score(goal, "order_notes")).toBeGreaterThan(await score(goal, "ordr_notes"))
    expect(await score(goal, "ordr_notes")).toBeGreaterThan(await score(goal, "reorderings"))
    expect(await score(goal, "reorderings")).toBeGreaterThan(0)
  })

  test("tables rank above columns, for phrases, words, abbreviations and parts", async () => {
    for (const name of ["customer_orders", "order_notes", "ordr_notes", "reorderings"]) {
      const goal = "customer orders of last week"
      expect(await score(goal, name)).toBeGreaterThan(await score(goal, `stuff:${name}`))
    }
  })

  test("a phrase in a column ranks above a word in a table, and that above a part in one", async () => {
    expect(await score("unit price", "t:unit_price")).toBeGreaterThan(
      await score("unit price", "units", "price_history"),
    )
    expect(await score("price", "t:price")).toBeGreaterThan(await score("price", "pricelessness"))
  })

  test("plural forms match both ways, and the order of a phrase matters", async () => {
    expect(await score("order items", "orders_item")).toBe(await score("orders item", "order_items"))
    expect(await score("items order", "order_items")).toBeLessThan(await score("order items", "order_items"))
  })

  test("a phrase may contain stop words", async () => {
    expect(await score("the date of birth", "t:date_of_birth")).toBe(
      await score("birth date", "t:birth_date"),
    )
    expect(await score("the date of birth", "t:date_of_birth")).toBeGreaterThan(
      await score("date birth", "t:birth,date"),
    )
  })

  test("stop words match nothing", async () =>
    expect(await score("what is the most of it", "what_is:the,most")).toBe(0))

  test("all tables and columns are compared, and a thousand of them count no more than one", async () => {
    const many = Array.from({ length: 1_000 }, (_, i) => `t${i}:name,id`)
    expect(await score("name", ...many)).toBe(await score("name", "t:name"))
    expect(await score("invoice", ...many, "zz:invoice")).toBeGreaterThan(0)
  })

  test("words in one place rank above words in many", async () => {
    const together = await score("berth depth", "berths:depth", "x:y")
    expect(together).toBeGreaterThan(await score("berth depth", "berths:y", "x:depth"))
  })

  test("words of names that many tables share are compared once, however long the goal is", () => {
    const goal = Array.from({ length: 5_000 }, (_, i) => `goal${i}`).join(" ")
    const columns = Array.from({ length: 20 }, (_, i) => ({ name: `column_${i}`, type: "text" }))
    const tables = Array.from({ length: 2_000 }, () => ({ name: "orders", columns }))
    const matcher = tableMatcher(readQuestion(goal))
    let looked = 0
    const includes = vi.spyOn(String.prototype, "includes").mockImplementation(function (this: string, text) {
      looked += 1
      return this.indexOf(text) >= 0
    })
    const found = tables.map((one) => matcher(one).size)
    includes.mockRestore()
    expect([Math.max(...found), looked < 5_000 * 25]).toEqual([0, true])
  })

  test("a table with only that name ranks above one with a longer name, and its schema does not matter", async () => {
    expect(await score("orders", "orders")).toBeGreaterThan(await score("orders", "order_items"))
    expect(await score("orders", "sales.orders")).toBe(await score("orders", "orders"))
  })
})

describe("the best database", () => {
  const shop = database("shop", "postgresql", "customers:id,name", "orders:id,customer_id,total")
  const weather = database("weather", "csv", "stations:id,city", "readings:station,temperature,day")
  const graph = database("graph", "other", "papers:title,author")

  test("is the one that the goal is about, with a reason", async () => {
    const found = await schemaRetriever([shop, weather, graph]).findBestDatabase(
      "What temperature did the stations read?",
    )
    expect(found?.database).toBe(weather)
    expect(found?.score).toBeGreaterThan(0)
    expect(found?.score).toBeLessThanOrEqual(1)
    expect(found?.reason).toMatch(
      /^weather matches best of 3 databases \(score 0\.\d\d\): "station" is a word in the table stations; "read" is a word in the table readings; "temperature" is a word in the column temperature of readings\.$/,
    )
  })

  test("is none if nothing matches, or if there is none", async () => {
    expect(await best("who painted this?", shop, weather)).toBeUndefined()
    expect(await best("orders")).toBeUndefined()
    expect(await best("orders", database("bare", "postgresql"))).toBeUndefined()
  })

  test("of equal ones is PostgreSQL, then CSV, then another", async () => {
    const of = (kind: Database["kind"]) => database(kind, kind, "orders")
    expect(await best("orders", of("other"), of("csv"), of("postgresql"))).toBe("postgresql")
    expect(await best("orders", of("other"), of("csv"))).toBe("csv")
    const found = await schemaRetriever([of("csv"), of("postgresql")]).findBestDatabase("orders")
    expect(found?.reason).toMatch(/\. csv has the same score and ranks second\.$/)
  })

  test("is found even if another cannot be queried; if none can, that is the error", async () => {
    const found = await schemaRetriever([broken, shop]).findBestDatabase("orders")
    expect(found?.database).toBe(shop)
    expect(found?.reason).toMatch(/\. Could not be queried: broken\.$/)
    expect(found?.failed).toEqual([{ source: "broken", reason: "cannot be reached" }])
    expect((await schemaRetriever([shop]).findBestDatabase("orders"))?.failed).toBeUndefined()
    await expect(schemaRetriever([broken]).findBestDatabase("orders")).rejects.toThrow("cannot be reached")
  })

  test("is not reported as missing while an unreachable database may be the one", async () => {
    const search = schemaRetriever([broken, shop]).findBestDatabase("who painted this?")
    await expect(search).rejects.toThrow("cannot be reached")
    const other: Database = { ...broken, schema: () => Promise.reject(new Error("wrong password")) }
    const both = schemaRetriever([broken, other, shop]).findBestDatabase("who painted this?")
    await expect(both).rejects.toThrow("cannot be reached wrong password")
  })

  test("is not searched if the caller has aborted", async () => {
    const search = schemaRetriever([shop]).findBestDatabase("orders", {
      signal: AbortSignal.abort(new Error("left")),
    })
    await expect(search).rejects.toThrow("left")
  })

  test("all databases can be listed", async () => {
    expect(await schemaRetriever([weather, shop]).listDatabases()).toEqual([weather, shop])
  })

  test("does not depend on the order of the databases, except for ties of one kind", async () => {
    const name = fc.constantFrom(
      "orders",
      "order_items",
      "customer",
      "unit_price",
      "prices",
      "stock",
      "reorder",
      "x",
    )
    const tables = fc.array(
      fc.tuple(name, fc.array(name, { maxLength: 4 })).map(([of, columns]) => `${of}:${columns}`),
      { maxLength: 4 },
    )
    const kinds = fc.constantFrom<Database["kind"]>("postgresql", "csv", "other")
    const databases = fc
      .array(fc.tuple(kinds, tables), { minLength: 1, maxLength: 6 })
      .map((all) => all.map(([kind, of], i) => database(`d${i}`, kind, ...of)))
    const goal = fc.array(fc.constantFrom("order", "items", "unit", "price", "customers", "the"), {
      maxLength: 6,
    })
    const cases = databases.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }), goal),
    )
    await fc.assert(
      fc.asyncProperty(cases, async ([all, shuffled, words]) => {
        const one = await schemaRetriever(all).findBestDatabase(words.join(" "))
        const other = await schemaRetriever(shuffled).findBestDatabase(words.join(" "))
        expect(other?.score).toBe(one?.score)
        expect(other?.database.kind).toBe(one?.database.kind)
        const isTied = one?.reason.includes("has the same score")
        if (one !== undefined && !isTied) expect(other?.database).toBe(one.database)
      }),
    )
  })
})
