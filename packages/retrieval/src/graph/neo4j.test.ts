/** Neo4j's own driver with a simulated Bolt server: the messages it sends, and how results are parsed. */
import { describe, expect, onTestFinished, test } from "vitest"
import { goalBackends } from "../goal-backends.ts"
import {
  type Asked,
  type BoltAnswer,
  type BoltServer,
  boltServer,
  node,
  relationship,
} from "./bolt-server.test-support.ts"
import { CYPHER_ATTACKS } from "./cypher-attacks.test-support.ts"
import { graphRetriever } from "./graph-retriever.ts"
import { type Neo4jOptions, neo4jGraph } from "./neo4j.ts"
import { Structure } from "./packstream.test-support.ts"

function graphAt({ url }: { url: string }, options: Partial<Neo4jOptions> = {}) {
  const graph = neo4jGraph({ id: "town", url, user: "reader", password: "right", ...options })
  onTestFinished(() => graph.close())
  return graph
}

const rowsOf = (...rows: unknown[][]): BoltAnswer => ({
  fields: (rows[0] ?? []).map((_, index) => `c${index}`),
  rows,
})

function* endless(row: readonly unknown[]): Iterable<readonly unknown[]> {
  while (true) yield row
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => undefined,
    (error: { code: string }) => error.code,
  )

const inTransactions = ({ received }: BoltServer) =>
  received.filter((name) => !["HELLO", "LOGON", "GOODBYE", "RESET"].includes(name))

describe("a query", () => {
  test("runs in a read-only transaction with a time limit that is rolled back (N1)", async () => {
    const server = await boltServer(() => rowsOf([1n]))
    const graph = graphAt(server, { database: "movies" })
    const result = await graph.query("RETURN $n AS c0 // a comment", {
      params: { n: 1, of: [1.5] },
      timeout: 700,
    })
    expect(result).toEqual({ columns: ["c0"], rows: [[1]], isTruncated: false })
    expect(server.asked).toEqual([
      {
        cypher: "RETURN $n AS c0             ",
        params: { n: 1n, of: [1.5] },
        transaction: { mode: "r", db: "movies", tx_timeout: 700n },
      },
    ])
    expect(inTransactions(server)).toEqual(["BEGIN", "RUN", "PULL", "ROLLBACK"])
  })

  test("that could do harm is refused before it reaches the server", async () => {
    const server = await boltServer(() => rowsOf([1n]))
    const graph = graphAt(server)
    for (const cypher of Object.values(CYPHER_ATTACKS)) {
      expect(await codeOf(graph.query(cypher)), cypher).toBe("QUERY_REFUSED")
    }
    expect(server.received).toEqual([])
  })

  test("returns nodes, relationships, paths and all kinds of values as JSON", async () => {
    const ann = node(1n, ["Person"], { name: "Ann", big: 9007199254740993n })
    const paris = node(2n, ["City"], { name: "Paris" })
    const step = new Structure(0x72, [7n, "LIVES_IN", {}, "5:x:7"])
    const path = new Structure(0x50, [[ann, paris], [step], [1n, 1n]])
    const server = await boltServer(() =>
      rowsOf([
        ann,
        relationship(7n, "LIVES_IN", 1n, 2n, { since: 2000n }),
        path,
        new Structure(0x44, [7305n]),
        new Structure(0x45, [1n, 2n, 3n, 0n]),
        new Structure(0x58, [7203n, 1.5, 2.5]),
        Number.NaN,
        Buffer.of(1, 2),
        { list: [true, null, 0.5] },
      ]),
    )
    const { rows } = await graphAt(server).query("RETURN 1")
    const annJson = { id: "4:x:1", labels: ["Person"], properties: { name: "Ann", big: "9007199254740993" } }
    const parisJson = { id: "4:x:2", labels: ["City"], properties: { name: "Paris" } }
    expect(rows[0]).toEqual([
      annJson,
      { id: "5:x:7", type: "LIVES_IN", from: "4:x:1", to: "4:x:2", properties: { since: 2000 } },
      {
        nodes: [annJson, parisJson],
        relationships: [{ id: "5:x:7", type: "LIVES_IN", from: "4:x:1", to: "4:x:2", properties: {} }],
      },
      "1990-01-01",
      "P1M2DT3S",
      { srid: 7203, x: 1.5, y: 2.5 },
      "NaN",
      "AQI=",
      { list: [true, null, 0.5] },
    ])
  })

  test("stops at its limit of rows, without fetching all of them", async () => {
    const server = await boltServer(() => ({ fields: ["x"], rows: endless([1n]) }))
    const result = await graphAt(server).query("MATCH (n) RETURN n", { rows: 250 })
    expect(result.rows).toHaveLength(250)
    expect(result.isTruncated).toBe(true)
    expect(server.rows).toBeLessThan(1_000)
  })

  test("stops at its limit of bytes", async () => {
    const server = await boltServer(() => ({ fields: ["x"], rows: endless(["y".repeat(1_000)]) }))
    const { rows, isTruncated } = await graphAt(server).query("MATCH (n) RETURN n.text", { bytes: 10_000 })
    expect(isTruncated).toBe(true)
    expect(rows.length).toBeGreaterThan(5)
    expect(rows.length).toBeLessThanOrEqual(10)
  })

  test("that the server does not end in time is ended, and the connection is reused (N2)", async () => {
    const server = await boltServer(({ cypher }) => (cypher === "RETURN 1" ? rowsOf([1n]) : "silence"))
    const graph = graphAt(server, { connections: 1 })
    expect(await codeOf(graph.query("MATCH (n) RETURN n", { timeout: 20 }))).toBe("QUERY_TIMEOUT")
    expect((await graph.query("RETURN 1")).rows).toEqual([[1]])
    expect(server.received).toContain("RESET")
  })

  test("on an unresponsive connection is abandoned, and the next one gets another (N3)", async () => {
    const server = await boltServer(({ cypher }) => (cypher === "RETURN 1" ? rowsOf([1n]) : "deaf"))
    const graph = graphAt(server)
    expect(await codeOf(graph.query("MATCH (n) RETURN n", { timeout: 20 }))).toBe("QUERY_TIMEOUT")
    expect((await graph.query("RETURN 1")).rows).toEqual([[1]])
    expect(server.connections).toBe(2)
  })

  test("ends when its caller aborts, and the server receives a RESET", async () => {
    const stop = new AbortController()
    const server = await boltServer(() => {
      queueMicrotask(() => stop.abort(new Error("enough")))
      return "silence"
    })
    const graph = graphAt(server)
    await expect(graph.query("MATCH (n) RETURN n", { signal: stop.signal })).rejects.toThrow("enough")
    await expect.poll(() => server.received, { timeout: 30_000 }).toContain("RESET")
  })

  test("whose caller aborts while the driver is loaded never reaches the server", async () => {
    const server = await boltServer(() => rowsOf([1n]))
    const stop = new AbortController()
    const asked = graphAt(server).query("RETURN 1", { signal: stop.signal })
    stop.abort(new Error("enough"))
    await expect(asked).rejects.toThrow("enough")
    expect(server.asked).toEqual([])
  })

  test.each([
    ["Neo.ClientError.Statement.SyntaxError", "QUERY_FAILED"],
    ["Neo.ClientError.Statement.AccessMode", "QUERY_REFUSED"],
    ["Neo.ClientError.Security.Forbidden", "QUERY_REFUSED"],
    ["Neo.ClientError.Transaction.TransactionTimedOut", "QUERY_TIMEOUT"],
    ["Neo.ClientError.Database.DatabaseNotFound", "DATABASE_UNREACHABLE"],
  ])("that fails with %s reports %s", async (code, ours) => {
    const server = await boltServer(() => ({ code, message: "Because of this." }))
    const error = await graphAt(server)
      .query("RETURN 1")
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: ours, retryable: false })
    if (ours !== "QUERY_TIMEOUT") expect(error.message).toContain("Because of this")
  })
})

describe("a server", () => {
  test("that rejects the password is reported, without the password", async () => {
    const server = await boltServer(() => rowsOf([1n]))
    const error = await graphAt(server, { password: "wrong" })
      .query("RETURN 1")
      .catch((thrown) => thrown)
    expect(error).toMatchObject({ code: "DATABASE_UNREACHABLE", retryable: false })
    expect(error.message).toContain("Check the user and the password")
    expect(error.message).not.toContain("wrong")
  })

  test("that does not exist is unreachable, and may be retried", async () => {
    const graph = graphAt({ url: "bolt://127.0.0.1:1" })
    await expect(graph.query("RETURN 1")).rejects.toMatchObject({
      code: "DATABASE_UNREACHABLE",
      retryable: true,
      message: expect.stringContaining("127.0.0.1:1"),
    })
  })

  test("whose database is not available yet is unreachable, and may be retried", async () => {
    const code = "Neo.TransientError.General.DatabaseUnavailable"
    const server = await boltServer(() => ({ code, message: "The database is starting." }))
    await expect(graphAt(server).query("RETURN 1")).rejects.toMatchObject({
      code: "DATABASE_UNREACHABLE",
      retryable: true,
      message: expect.stringContaining("The database is starting."),
    })
  })

  test.each(["HELLO", "BEGIN"])("that sends nothing from %s on is unreachable", async (deafFrom) => {
    const server = await boltServer(() => rowsOf([1n]), { deafFrom })
    const graph = graphAt(server, { connectTimeout: 50 })
    expect(await codeOf(graph.query("RETURN 1"))).toBe("DATABASE_UNREACHABLE")
  })

  test("is not queried after it was closed", async () => {
    const graph = graphAt(await boltServer(() => rowsOf([1n])))
    await graph.query("RETURN 1")
    await graph.close()
    expect(await codeOf(graph.query("RETURN 1"))).toBe("DATABASE_CLOSED")
  })

  test.each(["localhost:7687", "http://localhost", "bolt://", "bolt://ann:secret@localhost"])(
    "is not accepted at %s",
    (url) => {
      const make = () => neo4jGraph({ id: "town", url })
      expect(make).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }))
      expect(make).not.toThrow(/secret/)
    },
  )
})

const ann = node(1n, ["Person"], { name: "Ann" })
const paris = node(2n, ["City"], { name: "Paris", country: "France" })
const livesIn = relationship(7n, "LIVES_IN", 1n, 2n, { since: 2000n })

/** A town of one person and one city, as Neo4j would return it. */
function town({ cypher, params }: Asked, indexes: unknown[][] = []): BoltAnswer {
  if (cypher.includes("FULLTEXT INDEXES")) return rowsOf(...indexes)
  if (cypher.includes("db.labels")) return rowsOf(["City"], ["Person"])
  if (cypher.includes("db.relationshipTypes")) return rowsOf(["LIVES_IN"])
  if (cypher.includes("properties(r)")) return rowsOf([{ since: 2000n }, ["Person"], ["City"]])
  if (cypher.includes("properties(n)")) {
    return rowsOf([
      cypher.includes("City") ? { name: "Paris", country: "France" } : { name: "Ann", age: 30n },
    ])
  }
  if (cypher.includes("fulltext.queryNodes")) return rowsOf([paris])
  if (cypher.includes("elementId(n) IN")) return rowsOf([livesIn, ann, paris])
  const isAsked = (name: string) => String(params.text).includes(name)
  if (cypher.includes(":`Person`")) return isAsked("ann") ? rowsOf([ann]) : rowsOf()
  return isAsked("paris") ? rowsOf([paris]) : rowsOf()
}

describe("the content of the graph", () => {
  test("is described by samples of its labels and types", async () => {
    const graph = graphAt(await boltServer((asked) => town(asked)))
    expect(await graph.schema()).toEqual({
      labels: [
        {
          name: "City",
          properties: [
            { name: "country", type: "STRING" },
            { name: "name", type: "STRING" },
          ],
        },
        {
          name: "Person",
          properties: [
            { name: "age", type: "INTEGER" },
            { name: "name", type: "STRING" },
          ],
        },
      ],
      relationships: [
        { type: "LIVES_IN", properties: [{ name: "since", type: "INTEGER" }], between: [["Person", "City"]] },
      ],
    })
  })

  test("is found by its texts and returned with its neighbours and its source", async () => {
    const server = await boltServer((asked) => town(asked))
    const found = await graphRetriever(graphAt(server)).search("Where does Ann live?")
    expect(found).toEqual([
      {
        title: "Ann",
        source: "town/Person/4:x:1",
        score: expect.any(Number),
        relevance: expect.any(Number),
        text: "Ann (Person) {name: Ann}\nAnn -[LIVES_IN {since: 2000}]-> Paris (City) {name: Paris, country: France}",
      },
    ])
    expect(server.asked.every(({ transaction }) => transaction.mode === "r")).toBe(true)
  })

  test("is found by a full-text index if there is one, and its label is not scanned", async () => {
    const server = await boltServer((asked) => town(asked, [["cities", ["City"], ["name"]]]))
    const found = await graphRetriever(graphAt(server)).search('Who works in "Paris" OR 1=1?')
    expect(found.map(({ title }) => title)).toEqual(["Paris"])
    const asked = server.asked.find(({ cypher }) => cypher.includes("queryNodes"))
    expect(asked?.params).toMatchObject({ index: "cities", query: '"works" "work" "paris"' })
    expect(server.asked.filter(({ cypher }) => /:`City`\)\nWITH/.test(cypher))).toEqual([])
  })

  test("is scanned in addition to an index without its name", async () => {
    const server = await boltServer((asked) => town(asked, [["countries", ["City"], ["country"]]]))
    await graphRetriever(graphAt(server)).search("Who works in Paris?")
    expect(server.asked.filter(({ cypher }) => /:`City`\)\nWITH/.test(cypher))).toHaveLength(1)
  })

  test("is found if a name is usually, but not always, a string", async () => {
    const server = await boltServer((asked) =>
      /`Person`.*properties\(n\)/.test(asked.cypher)
        ? rowsOf([{ name: 7n }], [{ name: "Ann" }])
        : town(asked),
    )
    const graph = graphAt(server)
    const { labels } = await graph.schema()
    expect(labels[1]?.properties).toEqual([{ name: "name", type: "INTEGER | STRING" }])
    expect(await graphRetriever(graph).search("Ann")).toHaveLength(1)
  })

  test("with other labels than the requested ones is omitted, even if an index finds it", async () => {
    const server = await boltServer((asked) => town(asked, [["all", ["City", "Person"], ["name"]]]))
    const question = { text: "paris", words: ["paris"] }
    const find = (labels: string[]) => graphAt(server).find({ ...question, labels }, { limit: 5 })
    expect(await find(["City"])).toHaveLength(1)
    expect(await find(["Person"])).toEqual([])
  })

  test("that was not scanned in time is mentioned in the results", async () => {
    const server = await boltServer((asked) => {
      const isLate = asked.cypher.includes(":`Person`)\nWITH")
      const code = "Neo.ClientError.Transaction.TransactionTimedOut"
      return isLate ? { code, message: "Too late." } : town(asked)
    })
    const [found] = await graphRetriever(graphAt(server), { depth: 0 }).search("Is Ann in Paris?")
    expect(found?.text.split("\n")).toEqual([
      "Paris (City) {name: Paris, country: France}",
      "(Skipped after a timeout: Person.)",
    ])
    expect(await codeOf(graphRetriever(graphAt(server)).search("Ann"))).toBe("QUERY_TIMEOUT")
  })

  test("is found without indexes if the user may not see them", async () => {
    const server = await boltServer((asked) =>
      asked.cypher.includes("FULLTEXT")
        ? { code: "Neo.ClientError.Security.Forbidden", message: "No." }
        : town(asked),
    )
    expect(await graphRetriever(graphAt(server)).search("Ann")).toHaveLength(1)
  })
})

test.each([{ connections: 0 }, { connections: 1.5 }, { connectTimeout: -1 }])(
  "invalid options are rejected immediately: %j",
  (options) => {
    expect(() => neo4jGraph({ id: "town", url: "bolt://localhost", ...options })).toThrow(
      "must be a whole number from 1",
    )
  },
)

test("a configuration of the goal pipeline can name it", async () => {
  const server = await boltServer((asked) => town(asked))
  const settings = {
    type: "neo4j" as const,
    url: server.url,
    user: "reader",
    password: "right",
    database: "movies",
  }
  const retriever = await goalBackends().graph?.(settings)
  onTestFinished(async () => retriever?.close?.())
  expect(await retriever?.search("Where does Ann live?")).toMatchObject([{ source: "movies/Person/4:x:1" }])
})
