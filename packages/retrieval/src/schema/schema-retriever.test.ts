import type { Database, Table } from "@superstep/engine/patterns"
import fc from "fast-check"
import { describe, expect, test, vi } from "vitest"
import { schemaRetriever } from "./schema-retriever.ts"
import { scoreTables } from "./score.ts"
import { singular, wordsOfGoal, wordsOfName } from "./words.ts"

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
    query: async () => ({ columns: [], rows: [], isCut: false }),
  }
}

const broken: Database = {
  ...database("broken", "postgresql"),
  schema: () => Promise.reject(new Error("cannot be reached")),
}

const score = (goal: string, ...tables: string[]) => scoreTables(wordsOfGoal(goal), tables.map(table)).total
const best = async (goal: string, ...databases: Database[]) =>
  (await schemaRetriever(databases).findBestDatabase(goal))?.database.id

describe("words", () => {
  test("stop words are out, plurals are one with the singular, marks do not matter", () => {
    expect(wordsOfGoal("How many of the Companies' orders were in our cafés' boxes?")).toEqual([
      "company",
      "order",
      "cafe",
      "box",
    ])
  })

  test("names are split at every kind of border", () => {
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
  test("a phrase is over a word, a word over a part", () => {
    const goal = "customer orders of last week"
    expect(score(goal, "customer_orders")).toBeGreaterThan(score(goal, "customer_notes", "order_notes"))
    expect(score(goal, "order_notes")).toBeGreaterThan(score(goal, "reorderings"))
    expect(score(goal, "reorderings")).toBeGreaterThan(0)
  })

  test("tables are over columns, for phrases, words and parts", () => {
    for (const name of ["customer_orders", "order_notes", "reorderings"]) {
      const goal = "customer orders of last week"
      expect(score(goal, name)).toBeGreaterThan(score(goal, `stuff:${name}`))
    }
  })

  test("a phrase in a column is over a word in a table, and that over a part in one", () => {
    expect(score("unit price", "t:unit_price")).toBeGreaterThan(score("unit price", "units", "price_history"))
    expect(score("price", "t:price")).toBeGreaterThan(score("price", "pricelessness"))
  })

  test("plural forms match both ways, and the order of a phrase counts", () => {
    expect(score("order items", "orders_item")).toBe(score("orders item", "order_items"))
    expect(score("items order", "order_items")).toBeLessThan(score("order items", "order_items"))
  })

  test("a phrase may have stop words in it", () => {
    expect(score("the date of birth", "t:date_of_birth")).toBe(score("birth date", "t:birth_date"))
    expect(score("the date of birth", "t:date_of_birth")).toBeGreaterThan(score("date birth", "t:birth,date"))
  })

  test("stop words match nothing", () => expect(score("what is the most of it", "what_is:the,most")).toBe(0))

  test("all tables and columns are looked at, and a thousand of them count no more than one", () => {
    const many = Array.from({ length: 1_000 }, (_, i) => `t${i}:name,id`)
    expect(score("name", ...many)).toBe(score("name", "t:name"))
    expect(score("invoice", ...many, "zz:invoice")).toBeGreaterThan(0)
  })

  test("words of names that many tables share are looked for once, however long the goal is", () => {
    const goal = Array.from({ length: 5_000 }, (_, i) => `goal${i}`)
    const columns = Array.from({ length: 20 }, (_, i) => ({ name: `column_${i}`, type: "text" }))
    const tables = Array.from({ length: 2_000 }, () => ({ name: "orders", columns }))
    let looked = 0
    const includes = vi.spyOn(String.prototype, "includes").mockImplementation(function (this: string, text) {
      looked += 1
      return this.indexOf(text) >= 0
    })
    const { total } = scoreTables(goal, tables)
    includes.mockRestore()
    expect([total, looked < 5_000 * 25]).toEqual([0, true])
  })

  test("a table of that name alone is over one that has more in its name, and a schema is no more", () => {
    expect(score("orders", "orders")).toBeGreaterThan(score("orders", "order_items"))
    expect(score("orders", "sales.orders")).toBe(score("orders", "orders"))
  })
})

describe("the best database", () => {
  const shop = database("shop", "postgresql", "customers:id,name", "orders:id,customer_id,total")
  const weather = database("weather", "csv", "stations:id,city", "readings:station,temperature,day")
  const graph = database("graph", "other", "papers:title,author")

  test("is the one that has what the goal is about, and says why", async () => {
    const found = await schemaRetriever([shop, weather, graph]).findBestDatabase(
      "What temperature did the stations read?",
    )
    expect(found?.database).toBe(weather)
    expect(found?.score).toBe(11)
    expect(found?.reason).toBe(
      'weather fits best of 3 databases (score 11): "station" is a word of the table stations; ' +
        '"temperature" is a word of the column temperature of readings; "read" is like a part of the table readings.',
    )
  })

  test("is none when nothing matches, or there is none", async () => {
    expect(await best("who painted this?", shop, weather)).toBeUndefined()
    expect(await best("orders")).toBeUndefined()
    expect(await best("orders", database("bare", "postgresql"))).toBeUndefined()
  })

  test("of equal ones is PostgreSQL, then CSV, then another", async () => {
    const of = (kind: Database["kind"]) => database(kind, kind, "orders")
    expect(await best("orders", of("other"), of("csv"), of("postgresql"))).toBe("postgresql")
    expect(await best("orders", of("other"), of("csv"))).toBe("csv")
    const found = await schemaRetriever([of("csv"), of("postgresql")]).findBestDatabase("orders")
    expect(found?.reason).toMatch(/\. csv has the same score, and comes after it\.$/)
  })

  test("is found though another cannot be asked; when none can, that is the error", async () => {
    const found = await schemaRetriever([broken, shop]).findBestDatabase("orders")
    expect(found?.database).toBe(shop)
    expect(found?.reason).toMatch(/\. Could not be asked: broken\.$/)
    await expect(schemaRetriever([broken]).findBestDatabase("orders")).rejects.toThrow("cannot be reached")
  })

  test("is not said to be none while one that may be it cannot be asked", async () => {
    const search = schemaRetriever([broken, shop]).findBestDatabase("who painted this?")
    await expect(search).rejects.toThrow("cannot be reached")
  })

  test("is not looked for when the caller has left", async () => {
    const search = schemaRetriever([shop]).findBestDatabase("orders", {
      signal: AbortSignal.abort(new Error("left")),
    })
    await expect(search).rejects.toThrow("left")
  })

  test("all databases can be listed", async () => {
    expect(await schemaRetriever([weather, shop]).listDatabases()).toEqual([weather, shop])
  })

  test("does not depend on the order in which they are given, but for ties of one kind", async () => {
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
    const given = databases.chain((all) =>
      fc.tuple(fc.constant(all), fc.shuffledSubarray(all, { minLength: all.length }), goal),
    )
    await fc.assert(
      fc.asyncProperty(given, async ([all, shuffled, words]) => {
        const one = await schemaRetriever(all).findBestDatabase(words.join(" "))
        const other = await schemaRetriever(shuffled).findBestDatabase(words.join(" "))
        expect(other?.score).toBe(one?.score)
        expect(other?.database.kind).toBe(one?.database.kind)
        const equals = await Promise.all(
          all.map(async (each) => (await schemaRetriever([each]).findBestDatabase(words.join(" ")))?.score),
        )
        const tied = all.filter((each, i) => equals[i] === one?.score && each.kind === one?.database.kind)
        if (tied.length === 1) expect(other?.database).toBe(one?.database)
      }),
    )
  })
})
