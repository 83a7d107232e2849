/** A real Ladybug database. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest"
import type { GraphDatabase } from "./graph-database.ts"
import { graphRetriever } from "./graph-retriever.ts"
import { ladybugGraph } from "./ladybug.ts"
import { ladybugPackage, TOWN } from "./ladybug-package.test-support.ts"

const ladybug = ladybugPackage()
const folder = mkdtempSync(join(tmpdir(), "superstep-ladybug-"))
const path = join(folder, "town")
let graph: GraphDatabase

afterAll(async () => {
  await graph?.close()
  rmSync(folder, { recursive: true, force: true })
})

describe.skipIf(ladybug === undefined)(
  "a graph in a Ladybug file (needs @ladybugdb/core from a registry)",
  () => {
    const packagesOf = ladybug?.packagesOf

    beforeAll(async () => {
      ladybug?.write(path, TOWN)
      graph = ladybugGraph({ id: "town", path, packagesOf })
    })

    test("returns its labels, relationships and properties", async () => {
      const { labels, relationships } = await graph.schema()
      expect(labels.map(({ name }) => name)).toEqual(["City", "Person"])
      expect(labels[0]?.properties).toEqual([
        { name: "name", type: "STRING" },
        { name: "country", type: "STRING" },
      ])
      expect(relationships).toEqual([
        { type: "Knows", properties: [], between: [["Person", "Person"]] },
        { type: "LivesIn", properties: [{ name: "since", type: "INT64" }], between: [["Person", "City"]] },
      ])
    })

    test("returns nodes, relationships, paths and values as JSON", async () => {
      const { rows } = await graph.query(
        "MATCH (p:Person {id: $id})-[r:LivesIn]->(c:City) RETURN p, r, c, p.born, [p.id, null], {a: 1.5}",
        { params: { id: 1 } },
      )
      const [p, r, c, ...others] = rows[0] as [{ id: string }, { id: string }, { id: string }]
      const big = "170141183460469231731687303715884105727"
      const properties = { id: 1, name: "Ann Lee", born: "1990-01-02", tags: ["a", "b"], big }
      expect(p).toEqual({ id: expect.any(String), labels: ["Person"], properties })
      expect(r).toEqual({ id: r.id, type: "LivesIn", from: p.id, to: c.id, properties: { since: 2000 } })
      expect(others).toEqual(["1990-01-02", [1, null], { a: 1.5 }])
      const paths = await graph.query("MATCH x = (:Person {id: 2})-[:LivesIn]->() RETURN x")
      expect(paths.rows[0]?.[0]).toMatchObject({
        nodes: [{ labels: ["Person"] }, { labels: ["City"] }],
        relationships: [{ type: "LivesIn" }],
      })
    })

    test("stops at its limits of rows and bytes", async () => {
      const rows = await graph.query("UNWIND range(1, 100) AS x RETURN x", { rows: 10 })
      expect(rows).toMatchObject({ isTruncated: true, rows: { length: 10 } })
      const bytes = await graph.query("UNWIND range(1, 100) AS x RETURN repeat('y', 100)", { bytes: 1_000 })
      expect(bytes.isTruncated).toBe(true)
      expect(bytes.rows.length).toBeLessThan(10)
    })

    test("reports the error of a query", async () => {
      await expect(graph.query("MATCH (n:Nobody) RETURN n")).rejects.toMatchObject({
        code: "QUERY_FAILED",
        message: expect.stringContaining("Nobody"),
      })
      await expect(graph.query("RETURN 1 AS a, 2 AS a")).rejects.toThrow("Two columns are named a")
    })

    test("ends a query when its caller aborts, and answers the next", async () => {
      const stop = new AbortController()
      const late = graph.query("RETURN size(range(1, 1000000000))", { signal: stop.signal })
      setImmediate(() => stop.abort(new Error("enough")))
      await expect(late).rejects.toThrow("enough")
      expect((await graph.query("RETURN 1 AS one")).rows).toEqual([[1]])
    })

    test("answers several queries, one after the other", async () => {
      const results = await Promise.all(
        [1, 2, 3].map((n) => graph.query("RETURN $n AS n", { params: { n } })),
      )
      expect(results.map(({ rows }) => rows[0]?.[0])).toEqual([1, 2, 3])
    })

    test("finds what a question names, with its neighbours", async () => {
      const found = await graphRetriever(graph).search("Where does Ann Lee live?")
      expect(found[0]).toMatchObject({
        title: "Ann Lee",
        source: expect.stringMatching(/^town\/Person\/\d+:\d+$/),
      })
      const lines = found[0]?.text.split("\n") ?? []
      expect(lines[0]).toContain("born: 1990-01-02")
      expect(lines).toContain(
        "Ann Lee -[LivesIn {since: 2000}]-> Paris (City) {name: Paris, country: France}",
      )
      expect(lines).toContain("Bob -[LivesIn {since: 2010}]-> New York (City) {name: New York, country: USA}")
    })

    test("finds the kind of node that a question asks for", async () => {
      const found = await graphRetriever(graph, { depth: 0 }).search("Which cities are there?")
      expect(found.map(({ title }) => title).sort()).toEqual(["New York", "Paris"])
    })

    test("is described and searched in full, regardless of the limits on answers", async () => {
      const small = ladybugGraph({ id: "town", path, packagesOf, limits: { rows: 1, bytes: 100 } })
      onTestFinished(() => small.close())
      expect(await small.schema()).toEqual(await graph.schema())
      const question = "Where does Ann Lee live?"
      expect(await graphRetriever(small).search(question)).toEqual(
        await graphRetriever(graph).search(question),
      )
      expect((await small.query("MATCH (p:Person) RETURN p.id")).rows).toHaveLength(1)
    })

    test("returns each relationship once, in the order of creation, up to a limit", async () => {
      const pair = join(folder, "pair")
      const link = (type: string) => `MATCH (a:\`It's a\`), (b:B) CREATE (a)-[:${type}]->(b)`
      ladybug?.write(pair, [
        "CREATE NODE TABLE `It's a`(name STRING PRIMARY KEY)",
        "CREATE NODE TABLE B(name STRING PRIMARY KEY)",
        "CREATE REL TABLE Z(FROM `It's a` TO B)",
        "CREATE REL TABLE Y(FROM `It's a` TO B)",
        "CREATE (:`It's a` {name: 'Ann'}), (:B {name: 'Bob'})",
        ...["Y", "Z", "Y", "Y", "Y"].map(link),
        "CHECKPOINT",
      ])
      const made = ladybugGraph({ id: "pair", path: pair, packagesOf })
      onTestFinished(() => made.close())
      const ends = await made.find({ text: "", words: [] }, { limit: 10 })
      expect(ends.map(({ properties }) => properties.name)).toEqual(["Bob", "Ann"])
      const types = async (limit: number) =>
        (await made.relationships(ends, { limit })).map(({ id, type }) => `${type} ${id.split(":")[1]}`)
      expect(await types(10)).toEqual(["Z 0", "Y 0", "Y 1", "Y 2", "Y 3"])
      expect(await types(4)).toEqual(["Z 0", "Y 0", "Y 1", "Y 2"])
      const [found] = await graphRetriever(made, { relationships: 4 }).search("Ann")
      expect(found?.text).toContain("More relationships exist")
    })

    test("may have names with backquotes", async () => {
      const odd = join(folder, "odd")
      ladybug?.write(odd, [
        "CREATE NODE TABLE `a``b`(`n``m` STRING PRIMARY KEY)",
        "CREATE (:`a``b` {`n``m`: 'Ann'})",
        "CHECKPOINT",
      ])
      const made = ladybugGraph({ id: "odd", path: odd, packagesOf })
      onTestFinished(() => made.close())
      expect(await graphRetriever(made).search("Who is Ann?")).toMatchObject([{ title: "Ann" }])
    })

    test("that is not a graph, or is missing, is reported", async () => {
      const wrong = join(folder, "wrong")
      writeFileSync(wrong, "no graph ".repeat(1_000))
      for (const given of [wrong, join(folder, "nowhere"), folder]) {
        const graph = ladybugGraph({ id: "town", path: given, packagesOf })
        onTestFinished(() => graph.close())
        await expect(graph.query("RETURN 1")).rejects.toMatchObject({
          code: "DATABASE_UNREACHABLE",
          message: expect.stringContaining("town"),
        })
      }
    })

    test("refuses queries after it is closed", async () => {
      const other = ladybugGraph({ id: "town", path, packagesOf })
      const asked = other.query("RETURN size(range(1, 1000000000))").catch((error) => error)
      await other.schema().catch(() => undefined)
      await other.close()
      await asked
      await expect(other.query("RETURN 1")).rejects.toMatchObject({ code: "DATABASE_CLOSED" })
    })
  },
)

test("invalid options are rejected immediately", () => {
  expect(() => ladybugGraph({ id: "town", path, memory: 0 })).toThrow("memory must be a whole number from 1")
})

test("without the package, names the package to install", async () => {
  writeFileSync(join(folder, "some"), "")
  const graph = ladybugGraph({ id: "town", path: join(folder, "some"), packagesOf: folder })
  await expect(graph.query("RETURN 1")).rejects.toMatchObject({
    code: "PACKAGE_MISSING",
    message: expect.stringContaining("npm install @ladybugdb/core"),
  })
})
