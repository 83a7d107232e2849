import { describe, expect, test } from "vitest"
import { CYPHER_ATTACKS, CYPHER_FLOODS } from "./cypher-attacks.test-support.ts"
import { checkCypher } from "./cypher-guard.ts"

describe("queries that a model must not run (G1, G2, G3)", () => {
  test.each(Object.entries(CYPHER_ATTACKS))("%s is refused", (_, cypher) => {
    expect(() => checkCypher(cypher)).toThrow(expect.objectContaining({ code: "QUERY_REFUSED" }))
  })

  test("have a message with advice", () => {
    expect(() => checkCypher("MATCH (n) WITH n AS load RETURN load")).toThrow(
      "The query was refused: LOAD is not allowed; if it is a name, put it in backquotes: `load`.",
    )
    expect(() => checkCypher("RETURN '\\u00e9'")).toThrow("write the character itself")
    expect(() => checkCypher("RETURN 1".padEnd(100_001))).toThrow("it has more than 100,000 characters")
  })

  test.each([
    ["spaces before a semicolon", `RETURN 1${" ".repeat(99_000)} + 1;`],
    ["names with many parts", `RETURN ${"a.".repeat(49_000)}b(1)`],
    ["brackets in brackets", `RETURN ${"f(".repeat(30_000)}1${")".repeat(30_000)}`],
    ["quotes", `RETURN ${"''".repeat(49_000)}`],
  ])("are read in linear time: many %s", (_, cypher) => {
    const began = process.cpuUsage()
    try {
      checkCypher(cypher)
    } catch {
      // Whether it is refused is not the question here.
    }
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(1_000)
  })
})

const ALLOWED: Record<string, string> = {
  "a plain query": "MATCH (p:Person)-[r:LIVES_IN]->(c:City) WHERE p.name = 'Ann' RETURN c.name, r.since",
  "a query that begins otherwise":
    "OPTIONAL MATCH (n) WITH n UNWIND [1, 2] AS x RETURN n, x ORDER BY x SKIP 1 LIMIT 2",
  "a union": "MATCH (a:A) RETURN a.name AS name UNION ALL MATCH (b:B) RETURN b.name AS name",
  "a property that is called like a clause": "MATCH (n) WHERE n.set = 1 AND n.load.call > 2 RETURN n.create",
  "a label that is called like a clause": "MATCH (n:Call)-[:SET]->(m:Load) RETURN n, m",
  "a name in backquotes": "MATCH (n) RETURN n AS `set`, n.`delete`, n.`a``b`",
  "words in strings": "MATCH (n) WHERE n.text CONTAINS 'CREATE; DROP' OR n.text = \"LOAD CSV\" RETURN n",
  "a string that an escaped quote does not end": "MATCH (c) WHERE c.name <> 'a\\' SET c.x = ' RETURN c",
  "quotes in strings": "RETURN 'it\\'s SET', \"a \\\"CALL\\\"\", 'C:\\\\temp'",
  "functions of the language":
    "RETURN date.truncate('day', datetime()), duration.inDays(a, b), point.distance(p, q), toLower(x)",
  "subqueries that read": "MATCH (n) WHERE EXISTS { (n)-->(:City) } RETURN COUNT { (n)--() }",
  "numbers of all kinds": "RETURN 1, 1.5, 1e5, 1.5e-3, 0x1F, 0o17, 1_000, [1..2][0..1]",
  "paths of several lengths": "MATCH p = shortestPath((a)-[*1..3]-(b)) RETURN length(p)",
  "parameters and maps": "MATCH (n {name: $name}) RETURN n {.name, age: $age}",
  "names in other scripts": "MATCH (straße:Straße)-[:führtZu]->(市:城市) RETURN straße.name, 市.name",
}

describe("queries that a model may run", () => {
  test.each(Object.entries({ ...ALLOWED, ...CYPHER_FLOODS }))("%s stays unchanged", (_, cypher) => {
    expect(checkCypher(cypher)).toBe(cypher)
  })

  test("comments become spaces, so that no parser can read them differently, and line breaks stay", () => {
    expect(checkCypher("MATCH (n) // all 'of them\nRETURN n /* and\nno more */ LIMIT 1")).toBe(
      `MATCH (n) ${" ".repeat(15)}\nRETURN n ${" ".repeat(6)}\n${" ".repeat(10)} LIMIT 1`,
    )
  })

  test("a comment mark in a string starts no comment", () => {
    const cypher = "MATCH (n) WHERE n.url = 'http://x/*' RETURN n // see above"
    expect(checkCypher(cypher).trim()).toBe("MATCH (n) WHERE n.url = 'http://x/*' RETURN n")
  })

  test("a trailing semicolon is removed", () => {
    expect(checkCypher("RETURN ';' ; // done")).toBe("RETURN ';'")
  })
})
