import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { documentsIn } from "./documents-in.ts"

function folder(): string {
  const root = mkdtempSync(join(tmpdir(), "documents-in-"))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, "notes"))
  writeFileSync(join(root, "notes", "tea.md"), "# Tea\n\nTea is a drink made of leaves.\n")
  return root
}

const sources = async (documents: ReturnType<typeof documentsIn>, query: string) =>
  (await documents.search(query)).map(({ source }) => source)

test("nothing is opened before the first search; then the files are found by their words", async () => {
  const root = folder()
  const documents = documentsIn(["notes"], { root })
  expect(existsSync(join(root, ".superstep"))).toBe(false)
  const [first] = await Promise.all([sources(documents, "tea"), sources(documents, "leaves")])
  expect(first).toEqual(["notes/tea.md:3"])
  expect(readdirSync(join(root, ".superstep")).sort()[0]).toBe(".gitignore")
  await documents.close()
})

test("changed files are found, and missing ones are not", async () => {
  const root = folder()
  const before = documentsIn(["notes"], { root, index: "notes.db" })
  expect(await sources(before, "tea")).toEqual(["notes/tea.md:3"])
  await before.close()
  rmSync(join(root, "notes", "tea.md"))
  writeFileSync(join(root, "notes", "rye.md"), "Rye is a grain.\n")
  const after = documentsIn(["notes"], { root, index: "notes.db" })
  expect(await sources(after, "tea grain")).toEqual(["notes/rye.md:1"])
  await after.close()
})

test("a missing path is reported immediately", () => {
  expect(() => documentsIn(["no"], { root: folder() })).toThrow("Cannot read no: no such file or folder.")
})

test("a caller that aborts does not affect the others", async () => {
  const documents = documentsIn(["notes"], { root: folder() })
  const stop = new AbortController()
  const first = documents.search("tea", { signal: stop.signal })
  const second = sources(documents, "tea")
  stop.abort(new Error("enough"))
  await expect(first).rejects.toThrow("enough")
  expect(await second).toEqual(["notes/tea.md:3"])
  await documents.close()
})

test("files that cannot be read are skipped, and listed", async () => {
  const root = folder()
  writeFileSync(join(root, "notes", "scan.pdf"), "%PDF-1.4 and nothing else")
  const documents = documentsIn(["notes"], { root })
  expect(documents.skipped?.()).toEqual([])
  expect(await sources(documents, "tea")).toEqual(["notes/tea.md:3"])
  expect(documents.skipped?.()).toEqual([{ source: "notes/scan.pdf", reason: expect.any(String) }])
  await documents.close()
})

test("if nothing can be read, the error has the reason", async () => {
  const root = folder()
  writeFileSync(join(root, "scan.pdf"), "%PDF-1.4 and nothing else")
  const documents = documentsIn(["scan.pdf"], { root })
  await expect(documents.search("tea")).rejects.toMatchObject({
    code: "DOCUMENTS_UNREADABLE",
    message: expect.stringMatching(
      /^None of the documents is readable\. scan\.pdf: it is not a readable PDF/,
    ),
  })
  await documents.close()
})

test("an index that could not be opened is retried, and closing it does not fail", async () => {
  const root = folder()
  writeFileSync(join(root, "notes.db"), "no database, whatever it is called".repeat(100))
  const documents = documentsIn(["notes"], { root, index: "notes.db" })
  await expect(documents.search("tea")).rejects.toThrow()
  rmSync(join(root, "notes.db"))
  expect(await sources(documents, "tea")).toEqual(["notes/tea.md:3"])
  await documents.close()
  await documents.close()
})

test("by default documents are found by meaning if a model is installed; with none, by words only", async () => {
  const root = folder()
  const byMeaning = documentsIn(["notes"], { root, index: "notes.db", env: {} })
  expect(await sources(byMeaning, "a hot beverage")).toEqual(["notes/tea.md:3"])
  await byMeaning.close()
  // It keeps the embeddings that it was created with.
  const again = documentsIn(["notes"], {
    root,
    index: "notes.db",
    env: { SUPERSTEP_EMBEDDINGS: "ollama/other" },
  })
  expect(await sources(again, "a hot beverage")).toEqual(["notes/tea.md:3"])
  await again.close()
  const byWords = documentsIn(["notes"], { root, embeddings: "none" })
  expect(await sources(byWords, "a hot beverage")).toEqual([])
  expect(await byWords.describe?.()).toBe("1 document, 1 passage: Tea")
  await byWords.close()
})
