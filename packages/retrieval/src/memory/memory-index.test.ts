import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { openSqliteFile } from "@superstep/store-sqlite/internal"
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest"
import type { Embeddings } from "../index/embeddings/embeddings.ts"
import { SIGNS } from "../index/index-file.ts"
import { type MemoryIndexOptions, memoryIndex } from "./memory-index.ts"

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "superstep-memories-"))
})
afterEach(() => rmSync(folder, { recursive: true }))

/** Places texts by topic, so that "tea" is near "drinks". */
const TOPICS = [
  ["tea", "coffee", "drink"],
  ["oslo", "lives", "home", "city"],
  ["dog", "cat", "pet"],
]
function topics(name = "topics"): Embeddings & { embedded: string[] } {
  const embedded: string[] = []
  return {
    name,
    dimensions: 4,
    embedded,
    embed: async (texts) => {
      embedded.push(...texts)
      return texts.map((text) => [
        ...TOPICS.map((words) => words.filter((word) => text.toLowerCase().includes(word)).length),
        0.1,
      ])
    },
  }
}

const at = { limit: 10 }
const room = { max: 100 }
let made = 0
/** Memories of an owner, with ids like those of calls. */
function of(owner: string, options: MemoryIndexOptions = { embeddings: false }) {
  const memories = memoryIndex(folder, options).of(owner)
  return {
    ...memories,
    keep: (text: string, id = `id-${++made}`) => memories.remember({ id, text }, room),
    texts: async (query?: string) => (await memories.recall(query, at)).map(({ text }) => text),
  }
}

const files = () => readdirSync(folder).filter((name) => name !== ".gitignore")
/** Everything on disk, log files included. */
const bytes = () => Buffer.concat(files().map((name) => readFileSync(join(folder, name))))

describe("memories", () => {
  test("are found by words and, with embeddings, by meaning", async () => {
    const byWords = of("ada")
    await byWords.keep("Ada prefers tea.")
    await byWords.keep("Ada lives in Oslo.")
    expect(await byWords.texts("which drink?")).toEqual([])
    expect(await byWords.texts("tea")).toEqual(["Ada prefers tea."])
    // Memories that were stored without vectors get them.
    const byMeaning = of("ada", { embeddings: topics() })
    expect((await byMeaning.texts("which drink?"))[0]).toBe("Ada prefers tea.")
    await byMeaning.keep("Ada has a dog.")
    expect((await byMeaning.texts("pets"))[0]).toBe("Ada has a dog.")
  })

  test("without a query are the newest; they have their time", async () => {
    const { keep, texts, recall } = of("ada")
    for (const text of ["one", "two", "three"]) await keep(text)
    expect(await texts()).toEqual(["three", "two", "one"])
    expect(await texts("  ")).toHaveLength(3)
    const [found] = await recall("one", { limit: 1 })
    expect(Math.abs(Date.now() - (found?.at ?? 0))).toBeLessThan(600_000)
    expect(await of("nobody").texts()).toEqual([])
  })

  test("are stored once per call and once per text", async () => {
    const { keep, texts, remember } = of("ada")
    expect(await keep("Ada prefers tea.", "a")).toEqual({ id: "a" })
    expect(await keep("Ada prefers tea.", "a")).toEqual({ id: "a" })
    expect(await keep("  ada PREFERS\ntea. ", "b")).toEqual({ id: "a", known: true })
    expect(await texts()).toEqual(["Ada prefers tea."])
    await Promise.all(["c", "d", "e"].map((id) => remember({ id, text: "Twice." }, room)))
    expect(await texts("twice")).toEqual(["Twice."])
  })

  test("are limited, per owner", async () => {
    const { remember } = of("ada")
    const put = (id: string, text: string) => remember({ id, text }, { max: 2 })
    await put("a", "one")
    await put("b", "two")
    await expect(put("c", "three")).rejects.toMatchObject({ code: "MEMORY_FULL", retryable: false })
    expect(await put("b", "two")).toEqual({ id: "b" })
    expect(await of("eve").remember({ id: "c", text: "three" }, { max: 2 })).toEqual({ id: "c" })
    await of("ada").forget("a")
    expect(await put("d", "four")).toEqual({ id: "d" })
  })

  test("survive other embeddings: all are embedded again, with their ids and times", async () => {
    const first = of("ada", { embeddings: topics("one") })
    await first.keep("Ada prefers tea.", "tea")
    await first.keep("Ada has a dog.", "dog")
    const before = await first.recall(undefined, at)
    const other = topics("two")
    expect((await of("ada", { embeddings: other }).texts("pets"))[0]).toBe("Ada has a dog.")
    expect(other.embedded).toEqual(["Ada prefers tea.", "Ada has a dog.", "pets"])
    expect(await of("ada").recall(undefined, at)).toEqual(before)
  })

  test("are stored and found by words when embeddings fail, with a warning; what was missed is embedded later", async () => {
    const warnings: string[] = []
    const warn = (message: string) => void warnings.push(message)
    const broken: Embeddings = { ...topics(), embed: async () => Promise.reject(new Error("no quota")) }
    const { remember, recall } = of("ada", { embeddings: broken })
    expect(await remember({ id: "a", text: "Ada prefers tea." }, { ...room, warn })).toEqual({ id: "a" })
    expect(await recall("tea", { ...at, warn })).toMatchObject([{ id: "a" }])
    expect(warnings).toEqual(Array(2).fill("Memories are searched by words alone: no quota"))
    expect(await of("ada", { embeddings: topics() }).texts("drinks")).toEqual(["Ada prefers tea."])
    const stopped = AbortSignal.abort(new Error("stopped"))
    await expect(recall("tea", { ...at, signal: stopped })).rejects.toThrow("stopped")
  })
})

test("by default memories are found by meaning, if the offline embeddings are installed", async () => {
  const index = memoryIndex(folder)
  onTestFinished(() => index.close())
  const memories = index.of("ada")
  const warn = (message: string) => expect.fail(message)
  for (const [id, text] of [
    ["drink", "Ada prefers green tea in the morning."],
    ["work", "The deployment runs on Fridays."],
  ] as const) {
    await memories.remember({ id, text }, { ...room, warn })
  }
  const [first] = await memories.recall("favourite beverage at breakfast", { ...at, warn })
  expect(first?.id).toBe("drink")
})

describe("an owner", () => {
  const secret = "Ada's account number is zqxj4711."
  const attacks = [
    secret,
    "zqxj4711",
    "zqxj*",
    '"zqxj4711"',
    "zqxj4711 OR account",
    'text : zqxj4711) OR (words : "',
    "NEAR(account number)",
    "account number",
    "'; SELECT * FROM chunks; --",
    "%",
    "*",
    "",
    "zqxj4711\0",
    "ada",
  ]

  test.each([
    ["words", { embeddings: false }],
    ["meaning", { embeddings: topics() }],
  ] as const)("finds nothing of another by any query (%s)", async (_, options) => {
    await of("ada", options).keep(secret, "ada-1")
    const eve = of("eve", options)
    for (const query of attacks) expect(await eve.texts(query), query).toEqual([])
    await eve.keep("Eve's account number is 1.")
    for (const query of attacks) {
      for (const text of await eve.texts(query)) expect(text, query).toBe("Eve's account number is 1.")
    }
    // The id of another owner's memory is of no use either.
    expect(await eve.forget("ada-1")).toBe(false)
    expect(await eve.keep("Mine.", "ada-1")).toEqual({ id: "ada-1" })
    expect(await of("ada", options).texts("account")).toEqual([secret])
  })

  test("is the same only if its name is: no name is a path", async () => {
    const names = [
      "ada",
      "Ada",
      "ada ",
      "ada\0",
      "ада",
      "a\u030ada",
      "\u00e5da",
      "../ada",
      "ada.db",
      "/etc/passwd",
      "..",
      ".",
      "",
      '["ada"]',
      "x".repeat(5_000),
      "nul",
      "a/b",
      "a\\b",
    ]
    for (const name of names) await of(name).keep(`This is ${JSON.stringify(name).slice(0, 50)}.`)
    for (const name of names)
      expect(await of(name).texts()).toEqual([`This is ${JSON.stringify(name).slice(0, 50)}.`])
    const databases = files().filter((name) => name.endsWith(".db"))
    expect(databases).toHaveLength(names.length)
    for (const name of databases) expect(name).toMatch(/^[0-9a-f]{32}\.db$/)
  })

  test("is erased as a whole, and the others stay", async () => {
    await of("ada").keep(secret)
    await of("eve").keep("Eve stays.")
    await memoryIndex(folder).erase("ada")
    expect(await of("ada").texts()).toEqual([])
    expect(bytes().includes("zqxj4711")).toBe(false)
    expect(await of("eve").texts()).toEqual(["Eve stays."])
  })
})

describe("a forgotten memory", () => {
  test("is in no table and no byte of the folder", async () => {
    const { keep, forget, texts } = of("ada", { embeddings: topics() })
    const secret = "Qwertzuiop drinks wxyzabc tea in oslo with a dog."
    await keep("Ada prefers coffee.", "other")
    await keep(secret, "gone")
    await keep("Ada lives in Bergen.", "another")
    for (const word of ["Qwertzuiop", "qwertzuiop", "wxyzabc"])
      expect(bytes().includes(word), word).toBe(true)
    const before = rows()
    expect(await forget("gone")).toBe(true)
    expect(await forget("gone")).toBe(false)
    for (const word of ["Qwertzuiop", "qwertzuiop", "wxyzabc"])
      expect(bytes().includes(word), word).toBe(false)
    expect(rows()).toEqual(before.map(([table, count]) => [table, (count as number) - 1]))
    expect(terms()).not.toContain("qwertzuiop")
    expect(terms()).toContain("coffe")
    expect(await texts("wxyzabc qwertzuiop")).not.toContain(secret)
    // The centre of the sign bits does not contain it either.
    expect(centre().every((value) => value === 0)).toBe(true)
  })

  test("leaves no trace when it was the only one", async () => {
    const { keep, forget, texts } = of("ada", { embeddings: topics() })
    await keep("Solitary zzyzx tea.", "gone")
    expect(await forget("gone")).toBe(true)
    expect(bytes().includes("zzyzx")).toBe(false)
    expect(rows().every(([, count]) => count === 0)).toBe(true)
    expect(terms()).toEqual([])
    expect(await texts("tea")).toEqual([])
  })

  test("is not restored by a call that is repeated after a crash, and may be remembered again", async () => {
    const { keep, forget, texts } = of("ada")
    await keep("Ada prefers tea.", "a")
    await forget("a")
    expect(await keep("Ada prefers tea.", "a")).toEqual({ id: "a", forgotten: true })
    expect(await texts()).toEqual([])
    expect(await keep("Ada prefers tea.", "b")).toEqual({ id: "b" })
    expect(await texts()).toEqual(["Ada prefers tea."])
  })

  /** Reads the only file of the folder. */
  function inFile<T>(look: (all: (query: string) => Record<string, unknown>[]) => T): T {
    const path = join(folder, files().find((name) => name.endsWith(".db")) ?? "")
    const { database } = openSqliteFile({
      path,
      durability: "normal",
      busyTimeout: 1_000,
      lookAgain: 1_000,
      isCurrent: () => true,
      migrate: () => undefined,
    })
    try {
      return look((query) => database.prepare(query).all() as Record<string, unknown>[])
    } finally {
      database.exec("PRAGMA journal_mode = DELETE")
      database.close()
    }
  }
  const rows = () =>
    inFile((all) =>
      ["documents", "chunks", SIGNS, "vectors", "words_docsize"].map((table) => [
        table,
        all(`SELECT count(*) AS count FROM ${table}`)[0]?.count,
      ]),
    )
  const terms = () =>
    inFile((all) => {
      all("CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', 'words', 'row')")
      return all("SELECT term FROM temp.terms").map(({ term }) => term)
    })
  const centre = () =>
    inFile((all) => [
      ...new Float32Array(new Uint8Array(all("SELECT centre FROM meta")[0]?.centre as never).buffer),
    ])
})
