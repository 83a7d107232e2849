/**
 * Adding that is stopped, killed, or done by several processes at once: D1 … D3 of documents.ts. Also damaged and locked
 * files.
 */
import { spawn } from "node:child_process"
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { isSuperstepError } from "@superstep/engine"
import { openSqliteFile } from "@superstep/store-sqlite/internal"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../../../../tests/bundled.ts"
import { documentIndex } from "./document-index.ts"
import { documentTable } from "./documents.ts"
import { freshFolder, meaningEmbeddings, openIndex, put } from "./index.test-support.ts"
import { openIndexFile, SIGNS } from "./index-file.ts"

const numbered = (count: number, word = "cat") =>
  Array.from({ length: count }, (_, i) => `Paragraph p${i} has a ${word} in it. `.repeat(15)).join("\n\n")

test("an interrupted document is not found, and the next add continues where it stopped (D1, D2)", async () => {
  const folder = freshFolder({ "a.txt": numbered(300) })
  const embeddings = meaningEmbeddings()
  const index = openIndex(folder, { embeddings })
  const stop = new AbortController()
  const adding = index.add([folder], {
    signal: stop.signal,
    onProgress: ({ chunks }) => chunks >= 128 && stop.abort(new Error("enough")),
  })
  await expect(adding).rejects.toThrow("enough")
  expect(await index.list()).toEqual([])
  expect(await index.search("cat")).toEqual([])
  expect(await index.search("feline", { mode: "vector" })).toEqual([])
  const before = embeddings.embedded

  const { added, chunks } = await index.add([folder])
  expect({ added, chunks }).toEqual({ added: 1, chunks: 300 - 128 })
  expect(embeddings.embedded - before).toBeLessThanOrEqual(300 - 128)
  expect(await index.search("p299", { mode: "text" })).toHaveLength(1)
  expect(await index.report()).toMatchObject({ documents: 1, chunks: 300 })
})

test("the previous version is found until the new one is complete (D1)", async () => {
  const folder = freshFolder({ "a.txt": numbered(200) })
  const index = openIndex(folder, { embeddings: meaningEmbeddings() })
  await index.add([folder])
  put(folder, { "a.txt": numbered(200, "vehicle") })
  const seen = new Set<string>()
  const searches: Promise<unknown>[] = []
  await index.add([folder], {
    onProgress: ({ documents }) => {
      if (documents.done > 0) return
      for (const word of ["cat", "vehicle"]) {
        searches.push(
          index.search(word, { mode: "text" }).then((found) => seen.add(`${word} ${found.length}`)),
        )
      }
    },
  })
  await Promise.all(searches)
  expect(seen).toEqual(new Set(["cat 10", "vehicle 0"]))
  expect(await index.search("cat", { mode: "text" })).toEqual([])
  expect(await index.search("vehicle", { mode: "text" })).toHaveLength(10)
})

test("two processes that add the same document at the same time do the work once (D2)", async () => {
  const files = Object.fromEntries(
    Array.from({ length: 6 }, (_, i) => [`${i}.txt`, numbered(150, `word${i}`)]),
  )
  const folder = freshFolder(files)
  const [one, other] = [1, 2].map(() => openIndex(folder, { embeddings: meaningEmbeddings() }))
  const results = await Promise.all([one?.add([folder]), other?.add([folder])])
  const sum = (key: "added" | "chunks") => results.reduce((all, result) => all + (result?.[key] ?? 0), 0)
  expect({ added: sum("added"), chunks: sum("chunks") }).toEqual({ added: 6, chunks: 6 * 150 })
  expect(await one?.report()).toMatchObject({ documents: 6, chunks: 6 * 150 })
  for (let i = 0; i < 6; i++)
    expect(await one?.search(`word${i}`, { mode: "text", limit: 200 })).toHaveLength(150)
})

test("a document that another process has just finished is not started again (D2)", () => {
  const file = openIndexFile(join(freshFolder(), "index.db"), "/", 0)
  onTestFinished(() => file.close())
  const [mine, theirs] = [documentTable(file), documentTable(file)]
  const document = { source: "a", hash: "1", settings: "", bytes: 1 }
  expect(mine.ready("a")).toBeUndefined()
  const writing = theirs.begin(document, "they")
  expect(writing && theirs.finish(writing, "a")).toBe(true)
  expect(mine.begin(document, "me")).toBeUndefined()
  expect(mine.begin({ ...document, hash: "2" }, "me")).toMatchObject({ writer: "me", chunks: 0 })
})

test("a process that is killed while it adds leaves a consistent index, and the next process continues", {
  timeout: 120_000,
}, async () => {
  const folder = freshFolder({ "a.txt": numbered(2_000) })
  const file = join(folder, "index.db")
  const program = bundled(fileURLToPath(new URL("./add-program.test-support.ts", import.meta.url)))
  let written = 0
  for (const lines of [3, 9]) {
    const args = [program, file, folder, join(folder, "a.txt"), String(lines)]
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] })
    const ended = new Promise((resolve) => child.on("close", (_, signal) => resolve(signal)))
    let seen = 0
    for await (const line of createInterface({ input: child.stdout })) {
      seen += 1
      if (seen === lines) child.kill("SIGKILL")
      written += Number(line) > 0 ? 64 : 0
    }
    expect(await ended).toBe("SIGKILL")
    const embed = async (texts: readonly string[]) => texts.map(() => [1, 0, 0, 0, 0, 0, 0, 0])
    const index = documentIndex(file, { root: folder, embeddings: { name: "slow", dimensions: 8, embed } })
    expect(await index.list()).toEqual([])
    expect(await index.search("paragraph")).toEqual([])
    if (lines === 9) {
      const { added, chunks } = await index.add([join(folder, "a.txt")])
      expect(added).toBe(1)
      expect(chunks).toBe(2_000 - written)
      expect(await index.report()).toMatchObject({ documents: 1, chunks: 2_000 })
    }
    await index.close()
  }
})

test("a file with an overwritten page is reported as damaged, or still returns its contents", {
  timeout: 120_000,
}, async () => {
  const folder = freshFolder({ "a.txt": numbered(60) })
  const index = openIndex(folder, { embeddings: meaningEmbeddings() })
  await index.add([folder])
  await index.close()
  const path = join(folder, ".superstep", "index.db")
  const bytes = readFileSync(path)
  let damaged = 0
  for (let page = 0; page < bytes.length / 4_096; page++) {
    const hurt = join(folder, `hurt${page}.db`)
    writeFileSync(hurt, Buffer.from(bytes).fill(0xa5, page * 4_096, (page + 1) * 4_096))
    try {
      const after = documentIndex(hurt, { embeddings: meaningEmbeddings() })
      try {
        expect((await after.search("paragraph", { limit: 100, mode: "text" })).length).toBeGreaterThan(0)
        await after.search("feline", { limit: 100, mode: "vector" })
        await after.list()
      } finally {
        await after.close()
      }
    } catch (error) {
      expect(isSuperstepError(error) && error.code, `page ${page}: ${error}`).toMatch(
        /^INDEX_(CORRUPT|UNUSABLE)$/,
      )
      damaged += 1
    }
  }
  expect(damaged).toBeGreaterThan(5)
})

test("a file that another process writes to is reported as locked, and one of a later version is left unchanged", async () => {
  const folder = freshFolder({ "a.txt": "apples" })
  const path = join(folder, "index.db")
  const index = documentIndex(path, { root: folder, lockTimeout: 0 })
  await index.add([folder])
  if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600)
  const options = { path, durability: "normal", busyTimeout: 0, lookAgain: 0 } as const
  const { database } = openSqliteFile({ ...options, migrate: () => undefined })
  database.exec("BEGIN IMMEDIATE")
  put(folder, { "b.txt": "bananas" })
  await expect(index.add([folder])).rejects.toMatchObject({
    code: "INDEX_LOCKED",
    message: expect.stringContaining("locked by another process: try again later"),
  })
  expect(await index.search("apples")).toHaveLength(1)
  // A file that is up to date is opened without the lock.
  const other = documentIndex(path, { lockTimeout: 0 })
  expect(await other.search("apples")).toHaveLength(1)
  await other.close()
  database.exec("ROLLBACK")
  expect(await index.add([folder])).toMatchObject({ added: 1, unchanged: 1 })
  await index.close()

  database.exec("UPDATE meta SET version = 99")
  expect(() => documentIndex(path)).toThrow(/version 99.*update the package/)
  database.close()
})

test("an unfinished document of a killed process can be removed, also by its folder, and does not stay", async () => {
  const folder = freshFolder({ "d/a.txt": numbered(300), "d/b.txt": "bananas", "e/a.txt": numbered(300) })
  const index = openIndex(folder, { embeddings: meaningEmbeddings() })
  const halfOf = async (path: string) => {
    const stop = new AbortController()
    const onProgress = ({ chunks }: { chunks: number }) => chunks >= 64 && stop.abort(new Error("enough"))
    await expect(index.add([join(folder, path)], { signal: stop.signal, onProgress })).rejects.toThrow()
  }
  await halfOf("d/a.txt")
  await halfOf("e/a.txt")
  expect(await index.remove(join(folder, "d"))).toBe(0)
  rmSync(join(folder, "e/a.txt"))
  await index.add([join(folder, "e")], { prune: true })
  await index.close()
  const { database } = openSqliteFile({
    path: join(folder, ".superstep", "index.db"),
    durability: "normal",
    busyTimeout: 0,
    lookAgain: 0,
    migrate: () => undefined,
  })
  const [free] = database.prepare("PRAGMA freelist_count").all() as { freelist_count: number }[]
  expect(free?.freelist_count).toBeLessThan(15)
  for (const table of ["documents", "chunks", SIGNS, "vectors"]) {
    expect(database.prepare(`SELECT count(*) AS count FROM ${table}`).all(), table).toEqual([{ count: 0 }])
  }
  database.close()
})

test("a closed index is one file, unless another process has it open, which can continue", async () => {
  const folder = freshFolder({ "a.txt": "apples" })
  const files = () => readdirSync(join(folder, ".superstep")).sort()
  for (const added of [1, 0]) {
    const index = openIndex(folder)
    expect(await index.add([folder])).toMatchObject({ added })
    expect(await index.search("apples")).toHaveLength(1)
    await index.close()
    expect(files()).toEqual(["index.db"])
  }
  const [one, other] = [openIndex(folder), openIndex(folder)]
  put(folder, { "b.txt": "bananas" })
  await one.add([folder])
  await one.close()
  expect(await other.search("bananas")).toHaveLength(1)
  put(folder, { "c.txt": "cherries" })
  expect(await other.add([folder])).toMatchObject({ added: 1 })
})

test("closing does not wait for another process that writes", async () => {
  const folder = freshFolder({ "a.txt": "apples" })
  const path = join(folder, "index.db")
  const index = documentIndex(path, { root: folder, lockTimeout: 60_000 })
  await index.add([folder])
  if (process.platform !== "win32") expect(statSync(path).mode & 0o777).toBe(0o600)
  const options = { path, durability: "normal", busyTimeout: 0, lookAgain: 0 } as const
  const { database } = openSqliteFile({ ...options, migrate: () => undefined })
  database.exec("BEGIN IMMEDIATE")
  // With the time-out of the lock the test would take a minute.
  await index.close()
  database.exec("ROLLBACK")
  database.close()
}, 20_000)
