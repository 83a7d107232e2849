import type { Database, Found, Retriever, Table } from "@superstep/engine/patterns"
import { describe, expect, test } from "vitest"
import type { Embeddings } from "../index/embeddings/embeddings.ts"
import { RELATED_WORDS } from "./meaning.ts"
import { sourceRanker } from "./source-ranker.ts"

function database(id: string, tables: readonly Table[], more: Partial<Database> = {}): Database {
  return {
    id,
    name: `The ${id}`,
    kind: "postgresql",
    schema: async () =>
      tables.map(({ name, columns }) => ({
        name,
        columns: columns.map(({ name, type }) => ({ name, type })),
      })),
    profile: async () => ({ tables }),
    query: async () => ({ columns: [], rows: [], isTruncated: false }),
    ...more,
  }
}

function retriever(name: string, found: readonly Partial<Found>[], more: Partial<Retriever> = {}): Retriever {
  return {
    name,
    search: async () => found.map((one) => ({ text: "", score: 1, source: "a.md", ...one })),
    ...more,
  }
}

const text = (name: string, ...values: string[]) => ({
  name,
  type: "text",
  ...(values.length > 0 && { values }),
})
const port = database("port", [
  { name: "vsl", columns: [text("vsl_nm", "Nordic Halifax", "Cap Verde"), text("flg", "Malta")] },
  { name: "prt_cll", columns: [{ name: "ata", type: "date", range: ["2019-01-01", "2021-12-31"] }] },
])
const stock = database("stock", [
  {
    name: "stk_qty",
    columns: [text("itm", "lamp", "sofa"), { name: "qty", type: "integer", range: [1, 90] }],
  },
])
const rules = retriever("documents", [
  { text: "Visitors show a passport at the gate.", title: "Who may enter" },
])

const order = async (
  goal: string,
  sources: Parameters<typeof sourceRanker>[0],
  options?: Parameters<typeof sourceRanker>[1],
) => (await sourceRanker(sources, options).rank(goal)).sources.map(({ id }) => id)
const first = async (goal: string, documents: Retriever | undefined = rules) =>
  (await order(goal, { databases: [port, stock], documents }))[0]

describe("the best source", () => {
  test("is found by values, also of several words, and by years in the range of its dates", async () => {
    expect(await first("When was Nordic Halifax here?")).toBe("port")
    expect(await first("How many sofas are there?")).toBe("stock")
    expect(await first("What happened in 2020?")).toBe("port")
  })

  test("is found by abbreviated names", async () => {
    expect(await first("What is the stock quantity?")).toBe("stock")
    expect(await first("List the vessels by name")).toBe("port")
  })

  test("is found by comments", async () => {
    const odd = database("odd", [
      { name: "t9", columns: [{ ...text("c1"), description: "tonnage of the ship" }] },
    ])
    expect(await order("Which has the largest tonnage?", { databases: [stock, odd] })).toEqual([
      "odd",
      "stock",
    ])
  })

  test("is the documents for an explanation, and a table for figures, if both have the words", async () => {
    const both = {
      databases: [stock],
      documents: retriever("documents", [{ text: "A lamp that is broken goes back." }]),
    }
    expect((await order("How many lamps are there?", both))[0]).toBe("stock")
    expect((await order("How should a broken lamp be handled?", both))[0]).toBe("documents")
  })

  test("may be a graph", async () => {
    const graph = retriever("graph", [{ text: "Ann -[LIVES_IN]-> Paris", title: "Ann" }])
    const { sources } = await sourceRanker({ databases: [stock], graph }).rank(
      "Where does Ann live, in Paris?",
    )
    expect(sources[0]).toMatchObject({ kind: "graph", id: "graph" })
  })
})

test("scores are from 0 to 1; sources without a match come last with 0", async () => {
  const { sources, failed } = await sourceRanker({ databases: [stock, port], documents: rules }).rank(
    "Cap Verde",
  )
  expect(sources.map(({ id, score }) => [id, score > 0])).toEqual([
    ["port", true],
    ["stock", false],
    ["documents", false],
  ])
  expect(Math.max(...sources.map(({ score }) => score))).toBeLessThanOrEqual(1)
  expect(failed).toEqual([])
})

test("a question without any significant word ranks nothing", async () => {
  const { sources } = await sourceRanker({ databases: [port], documents: rules }).rank("what is it?")
  expect(sources.map(({ score }) => score)).toEqual([0, 0])
})

test("a source that fails is reported and does not stop the others", async () => {
  const broken = database("broken", [], { profile: () => Promise.reject(new Error("cannot be reached")) })
  const documents = retriever("documents", [], { search: () => Promise.reject(new Error("no index")) })
  const { sources, failed } = await sourceRanker({ databases: [broken, stock], documents }).rank("lamps")
  expect(sources.map(({ id }) => id)).toEqual(["stock"])
  expect(failed).toEqual([
    { source: "The broken", reason: "cannot be reached" },
    { source: "documents", reason: "no index" },
  ])
})

test("the reason names the places of the words and contains no value of the data; the summary has values for a prompt", async () => {
  const { sources } = await sourceRanker({ databases: [port] }).rank(
    "Which vessel sails under the flag of Malta?",
  )
  expect(sources[0]?.reason).toContain("it contains a value of the column flg of vsl")
  expect(sources[0]?.reason.toLowerCase()).not.toContain("malta")
  expect(sources[0]?.summary).toContain('flg ("Malta")')
})

test("documents are summarized by their description and the results", async () => {
  const documents = retriever("documents", [{ title: "Who may enter" }], {
    describe: async () => "9 documents",
  })
  const { sources } = await sourceRanker({ databases: [], documents }).rank("passport")
  expect(sources[0]?.summary).toBe("9 documents\nNearest: Who may enter")
})

test("an incomplete profile is used, and its summary mentions it", async () => {
  const late = database("late", [{ name: "lamps", columns: [] }], {
    profile: async () => ({ tables: [{ name: "lamps", columns: [] }], incomplete: "too late" }),
  })
  const { sources } = await sourceRanker({ databases: [late] }).rank("lamps")
  expect(sources[0]?.score).toBeGreaterThan(0)
  expect(sources[0]?.summary).toContain("incomplete: too late")
})

test("a caller that aborts does not wait", async () => {
  const signal = AbortSignal.abort(new Error("left"))
  await expect(sourceRanker({ databases: [port] }).rank("lamps", { signal })).rejects.toThrow("left")
})

describe("with embeddings", () => {
  /** Each known word is a direction; synonyms share one. */
  function embeddingsOf(...meanings: readonly string[][]): Embeddings & { readonly embedded: string[] } {
    const embedded: string[] = []
    // The calibration uses them to measure nearness.
    const known = [...RELATED_WORDS, ...meanings]
    return {
      name: "made",
      dimensions: 60,
      embedded,
      async embed(texts) {
        embedded.push(...texts)
        return texts.map((one) => {
          const vector = new Array<number>(60).fill(0.01)
          for (const [i, words] of known.entries()) {
            if (words.some((word) => one.toLowerCase().includes(word))) vector[i] = 1
          }
          // Other words have their own directions.
          let hash = 7
          for (const letter of one) hash = (hash * 31 + letter.charCodeAt(0)) % 20
          vector[40 + hash] = 0.5
          return vector
        })
      },
    }
  }

  test("a table is found by the meaning of its values", async () => {
    const embeddings = embeddingsOf(["sofa", "couch"])
    const databases = [port, stock]
    expect((await order("Is there a couch?", { databases }))[0]).toBe("port")
    expect((await order("Is there a couch?", { databases }, { embeddings }))[0]).toBe("stock")
  })

  test("nothing is embedded before the first ranking, and known texts are not embedded again", async () => {
    const embeddings = embeddingsOf(["sofa", "couch"])
    let loaded = 0
    const ranker = sourceRanker(
      { databases: [stock] },
      {
        embeddings: async () => {
          loaded += 1
          return embeddings
        },
      },
    )
    expect([loaded, embeddings.embedded]).toEqual([0, []])
    await ranker.rank("Is there a couch?")
    const before = embeddings.embedded.length
    await ranker.rank("Is there a couch?")
    expect([loaded, embeddings.embedded.length]).toEqual([1, before])
  })

  test("that fail are replaced by words, and the reason mentions it", async () => {
    const embeddings = { ...embeddingsOf(), embed: () => Promise.reject(new Error("no key")) }
    const { sources } = await sourceRanker({ databases: [stock, port] }, { embeddings }).rank("Cap Verde")
    expect(sources[0]).toMatchObject({ id: "port" })
    expect(sources[0]?.reason).toContain("not compared by meaning: no key")
    const missing = { embeddings: () => Promise.reject(new Error("not installed")) }
    const ranking = await sourceRanker({ databases: [stock, port] }, missing).rank("Cap Verde")
    expect(ranking.sources[0]?.reason).toContain("not compared by meaning: not installed")
  })
})
