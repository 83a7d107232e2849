/** The search of a graph, over a small one in memory. */
import { SuperstepError } from "@superstep/engine"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  collectInTime,
  type GraphDatabase,
  type GraphQuestion,
  type GraphRelationship,
  graphText,
  type PropertyGraphNode,
} from "./graph-database.ts"
import { graphQuestion, graphRetriever, scoredNodes } from "./graph-retriever.ts"

const thing = (id: string, label: string, name: string, more = {}): PropertyGraphNode => ({
  id,
  labels: [label],
  properties: { name, ...more },
})

const ann = thing("1", "Person", "Ann")
const bob = thing("2", "Person", "Bob")
const paris = thing("3", "City", "Paris", { country: "France" })
const acme = thing("4", "Company", "Acme", { notes: "Makes\nlamps of all kinds, and ships them to Paris." })

const edge = (from: PropertyGraphNode, type: string, to: PropertyGraphNode): GraphRelationship => ({
  id: `${from.id}-${type}-${to.id}`,
  type,
  from,
  to,
  properties: {},
})

function graphOf(
  nodes: readonly PropertyGraphNode[],
  relationships: readonly GraphRelationship[],
): GraphDatabase {
  const labels = [...new Set(nodes.flatMap((node) => node.labels))]
  const fits = ({ words, text }: GraphQuestion, { properties }: PropertyGraphNode) =>
    Object.values(properties).some((value) => {
      const own = String(value).toLowerCase()
      return text.includes(own) || words.some((word) => own.includes(word))
    })
  return {
    id: "town",
    name: "Town",
    schema: async () => ({ labels: labels.map((name) => ({ name, properties: [] })), relationships: [] }),
    query: async () => ({ columns: [], rows: [], isTruncated: false }),
    find: async (question, { limit }) =>
      nodes
        .filter((node) => question.labels?.includes(node.labels[0] as string) ?? true)
        .filter((node) => question.words.length === 0 || fits(question, node))
        .slice(0, limit),
    relationships: async (ends, { limit }) => {
      const ids = new Set(ends.map(({ id }) => id))
      return relationships.filter(({ from, to }) => ids.has(from.id) || ids.has(to.id)).slice(0, limit)
    },
    close: async () => undefined,
  }
}

const town = graphOf(
  [ann, bob, paris, acme],
  [edge(ann, "KNOWS", bob), edge(bob, "LIVES_IN", paris), edge(acme, "SHIPS_TO", paris)],
)

const titles = (found: readonly { title?: string | undefined }[]) => found.map(({ title }) => title)

describe("a question", () => {
  test("finds what it names, with facts as lines and sources for citations", async () => {
    expect(await graphRetriever(town).search("What do we know about Ann?")).toEqual([
      {
        title: "Ann",
        source: "town/Person/1",
        score: expect.any(Number),
        relevance: 1,
        text: [
          "Ann (Person) {name: Ann}",
          "Ann -[KNOWS]-> Bob (Person) {name: Bob}",
          "Bob -[LIVES_IN]-> Paris (City) {name: Paris, country: France}",
        ].join("\n"),
      },
    ])
  })

  test("shows the neighbourhood up to the depth", async () => {
    const at = async (depth: number) =>
      (await graphRetriever(town, { depth }).search("Ann"))[0]?.text.split("\n").length
    expect(await Promise.all([0, 1, 2, 3].map(at))).toEqual([1, 2, 3, 4])
  })

  test("ranks a node with that name before one that only mentions it", async () => {
    const found = await graphRetriever(town).search("Who is in Paris?")
    expect(titles(found)).toEqual(["Paris", "Acme"])
    expect(found[1]?.text).toContain("notes: Makes lamps of all kinds")
  })

  test("shows the relationships first that it mentions", async () => {
    const [found] = await graphRetriever(town, { depth: 1 }).search("What is shipped to Paris? Who ships?")
    expect(found?.text.split("\n")[1]).toContain("SHIPS_TO")
  })

  test("returns no more than its limits, and reports that", async () => {
    expect(await graphRetriever(town).search("Ann Bob Paris", { limit: 2 })).toHaveLength(2)
    const [found] = await graphRetriever(town, { relationships: 1 }).search("Ann")
    expect(found?.text.split("\n")).toHaveLength(3)
    expect(found?.text).toContain("More relationships exist")
  })

  test("finds nodes of the kind that it asks for if it names none", async () => {
    expect(titles(await graphRetriever(town).search("List all persons, please"))).toEqual(["Ann", "Bob"])
  })

  test("without significant words finds nothing", async () => {
    expect(await graphRetriever(town).search("what is it?")).toEqual([])
  })

  test("finds nothing of a kind whose name has no words", async () => {
    const odd = graphOf([thing("1", "!", "Ann")], [])
    expect(await graphRetriever(odd).search("List all lamps")).toEqual([])
  })
})

describe("a result", () => {
  const many = Array.from({ length: 12 }, (_, index) => thing(`0:${index}`, "Person", `Ann ${index}`))
  const around = many.flatMap((one, index) =>
    ["LEADS", "KNOWS"].map((type, table) => ({
      ...edge(one, type, many[(index + 1) % many.length] as PropertyGraphNode),
      id: `${table}:${index}`,
    })),
  )
  const questions = [
    "Who is Ann 3?",
    "Who are the Anns?",
    "List all persons",
    "Where is Ann 2, where Ann 10?",
  ]

  test("is the same in whatever order the graph returns nodes", async () => {
    const expected = await Promise.all(
      questions.map((one) => graphRetriever(graphOf(many, around)).search(one, { limit: 20 })),
    )
    const shuffled = <T>(all: readonly T[]) =>
      fc.shuffledSubarray([...all], { minLength: all.length, maxLength: all.length })
    await fc.assert(
      fc.asyncProperty(shuffled(many), shuffled(around), async (nodes, relationships) => {
        const graph = graphRetriever(graphOf(nodes, relationships))
        const found = await Promise.all(questions.map((one) => graph.search(one, { limit: 20 })))
        expect(found).toEqual(expected)
      }),
      { numRuns: 30 },
    )
  })

  test("orders equally good nodes by their ids, as numbers", async () => {
    const graph = graphRetriever(graphOf([...many].reverse(), [...around].reverse()), { depth: 1 })
    const all = await graph.search("List all persons", { limit: 20 })
    expect(titles(all)).toEqual(many.map(({ properties }) => properties.name))
    expect(all[0]?.text.split("\n").slice(1)).toEqual([
      "Ann 0 -[LEADS]-> Ann 1 (Person) {name: Ann 1}",
      "Ann 11 (Person) {name: Ann 11} -[LEADS]-> Ann 0",
      "Ann 0 -[KNOWS]-> Ann 1",
      "Ann 11 -[KNOWS]-> Ann 0",
    ])
  })
})

describe("a part of the graph that takes too long", () => {
  const late = new SuperstepError("QUERY_TIMEOUT", "The query was ended.", { retryable: false })
  const searchOf = (
    person: Promise<readonly PropertyGraphNode[]>,
    city: Promise<readonly PropertyGraphNode[]>,
  ) => {
    const parts = [["Person", () => person] as const, ["City", () => city] as const]
    const find: GraphDatabase["find"] = (_, options) => collectInTime(parts, options)
    return graphRetriever({ ...town, find }, { depth: 0 }).search("Who is Bob in Paris?")
  }

  test("is mentioned in the results from other parts", async () => {
    const found = await searchOf(Promise.reject(late), Promise.resolve([paris]))
    expect(found.map(({ text }) => text)).toEqual([
      "Paris (City) {name: Paris, country: France}\n(Skipped after a timeout: Person.)",
    ])
  })

  test("makes the search fail if nothing is found elsewhere", async () => {
    await expect(searchOf(Promise.reject(late), Promise.resolve([]))).rejects.toBe(late)
  })

  test("does not hide another failure", async () => {
    const broken = new SuperstepError("QUERY_FAILED", "The query failed.", { retryable: false })
    await expect(searchOf(Promise.reject(late), Promise.reject(broken))).rejects.toBe(broken)
  })
})

test("invalid options are rejected immediately", () => {
  expect(() => graphRetriever(town, { depth: 9 })).toThrow("depth must be a whole number from 0 to 4, not 9.")
  expect(() => graphRetriever(town, { limit: 0 })).toThrow(
    "limit must be a whole number from 1 to 1000, not 0.",
  )
})

const WHOLE = { isTruncated: false, late: [] }

describe("the text of a result", () => {
  test("is not cut in the middle of a character", () => {
    const text = graphText(thing("1", "Note", "n", { text: `${"x".repeat(299)}😀😀` }), [], WHOLE)
    expect(text).toBe(`n (Note) {name: n, text: ${"x".repeat(299)}…}`)
  })

  test("stays short however many properties a node has", () => {
    const more = Object.fromEntries(
      Array.from({ length: 1_000 }, (_, index) => [`p${index}`, "y".repeat(100)]),
    )
    const text = graphText(thing("9", "Note", "n", more), [edge(ann, "KNOWS", bob)], WHOLE)
    expect(text.length).toBeLessThan(3_000)
    expect(text).toContain("p0: yyy")
    expect(text).toContain(", …}\nAnn (Person) {name: Ann} -[KNOWS]-> Bob")
  })
})

describe("words", () => {
  test("are used unchanged, in the singular and without diacritics, except stop words", () => {
    expect(graphQuestion("Which Cities has the Café?")).toEqual({
      text: "which cities has the café?",
      words: ["cities", "city", "café", "cafe"],
    })
  })

  test("of two letters count only if there are no others", () => {
    expect(graphQuestion("Al and Ann").words).toEqual(["ann"])
    expect(graphQuestion("Al?").words).toEqual(["al"])
  })

  const best = (question: string, ...names: string[]) =>
    scoredNodes(
      question,
      names.map((name, index) => thing(`${index}`, "Thing", name)),
    )[0]?.node.properties.name

  test("rank the node first whose whole name is in the question", () => {
    expect(best("flights to New York City hall", "York", "New York City", "City")).toBe("New York City")
    expect(best("東京はどこですか", "京都", "東京")).toBe("東京")
    expect(best("songs of The Who", "Song", "The Who")).toBe("The Who")
  })

  test("of a whole book take linear time", () => {
    const book = Array.from({ length: 20_000 }, (_, index) => `word${index}`)
    const nodes = Array.from({ length: 400 }, (_, index) =>
      thing(`${index}`, "Chapter", book.slice(0, 200).join(" ")),
    )
    const began = process.cpuUsage()
    scoredNodes(book.join(" "), nodes)
    const { user } = process.cpuUsage(began)
    expect(user / 1_000).toBeLessThan(5_000)
  })

  test("that are only stop words are no name", () => {
    expect(scoredNodes("where is it?", [thing("1", "Country", "IT")])[0]?.score).toBe(0)
  })
})

test("the relevance of a node is the share of the question that it and its neighbourhood contain", async () => {
  const search = async (query: string) => (await graphRetriever(town).search(query))[0]?.relevance
  expect(await search("Whom does Ann know?")).toBeGreaterThanOrEqual(0.5)
  expect(
    await search("Which rivers, bridges and museums of Paris are older than the cathedral?"),
  ).toBeLessThan(0.5)
  const east = graphRetriever(graphOf([thing("1", "City", "巴黎")], []))
  expect((await east.search("巴黎在哪里"))[0]).toMatchObject({ source: "town/City/1" })
  expect((await east.search("巴黎在哪里"))[0]?.relevance).toBeUndefined()
})

describe("queries of a model", () => {
  const asked: unknown[] = []
  const graph: GraphDatabase = {
    ...town,
    schema: async () => ({
      labels: [
        { name: "Person", properties: [{ name: "name", type: "STRING" }] },
        { name: "Night `Shift`\n(x)", properties: [] },
      ],
      relationships: [
        { type: "KNOWS", properties: [{ name: "since", type: "INTEGER" }], between: [["Person", "Person"]] },
        { type: "AT", properties: [], between: [] },
      ],
    }),
    query: async (cypher, options) => {
      asked.push([cypher, options?.rows])
      return { columns: ["n"], rows: [[7]], isTruncated: false }
    },
  }
  const { cypher } = graphRetriever(graph)

  test("see the schema as patterns, with names as a query writes them", async () => {
    expect(await cypher?.schema()).toBe(
      [
        "(:Person {name: STRING})",
        "(:`Night ``Shift`` (x)`)",
        "(:Person)-[:KNOWS {since: INTEGER}]->(:Person)",
        "()-[:AT]->()",
      ].join("\n"),
    )
    const labels = Array.from({ length: 500 }, (_, i) => ({ name: `L${i}`, properties: [] }))
    const large = graphRetriever({ ...graph, schema: async () => ({ labels, relationships: [] }) })
    expect((await large.cypher?.schema())?.split("\n").slice(-2)).toEqual(["(:L199)", "… and 300 more"])
    const empty = graphRetriever({ ...graph, schema: async () => ({ labels: [], relationships: [] }) })
    expect(await empty.cypher?.schema()).toBe("")
  })

  test("pass the graph's own guard, with their limits", async () => {
    expect(await cypher?.query("MATCH (n) RETURN n", { rows: 20 })).toMatchObject({ rows: [[7]] })
    expect(asked).toEqual([["MATCH (n) RETURN n", 20]])
  })
})
