import { once } from "node:events"
import { rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { readdir } from "node:fs/promises"
import { createServer } from "node:net"
import { join } from "node:path"
import { describe, expect, onTestFinished, test, vi } from "vitest"
import { documentIndex } from "./document-index.ts"
import { freshFolder, meaningEmbeddings, openIndex, pdf, put } from "./index.test-support.ts"

// The user who runs the tests may have access to every folder.
vi.mock("node:fs/promises", { spy: true })

const guide = `# Guide

Welcome.

## Install

Run the installer and follow the wizard.

## Remove

Drag the application to the bin.
`

describe("an index of files", () => {
  test("finds a passage by its words, with its title and its line", async () => {
    const folder = freshFolder({ "docs/guide.md": guide, "docs/other.txt": "Nothing of interest.\n" })
    const index = openIndex(folder)
    expect(await index.add([join(folder, "docs")])).toMatchObject({ added: 2, unchanged: 0, problems: [] })
    const [first] = await index.search("how do I run the INSTALLER?")
    expect(first).toMatchObject({
      text: "Run the installer and follow the wizard.",
      source: "docs/guide.md:7",
      title: "Guide › Install",
    })
    expect(first?.score).toBeGreaterThan(0)
  })

  test("has the author and the date that Markdown, pages and PDF files state", async () => {
    const folder = freshFolder({
      "note.md": "---\nauthor: Ada\ndate: 2026-03-14\n---\n\nOwls hunt at night.\n",
      "page.html":
        '<meta name="author" content="Grace"><meta name="date" content="2025-01"><p>Owls are quiet.',
      "paper.pdf": pdf(["Owls have big eyes."], "/Author (Mary) /CreationDate (D:20240229120000Z)"),
      "plain.txt": "Owls eat mice.\n",
    })
    const index = openIndex(folder)
    await index.add([folder])
    const found = await index.search("owls")
    const facts = found.map(({ source, author, date }) => [source.split(/[:#]/)[0], author, date])
    expect(facts.sort()).toEqual([
      ["note.md", "Ada", "2026-03-14"],
      ["page.html", "Grace", "2025-01"],
      ["paper.pdf", "Mary", "2024-02-29"],
      ["plain.txt", undefined, undefined],
    ])
  })

  test("finds nothing for a query without words, and ignores SQLite's query syntax", async () => {
    const folder = freshFolder({ "a.txt": 'x AND y: NEAR "quoted" (brackets) * - col:title' })
    const index = openIndex(folder)
    await index.add([folder])
    expect(await index.search("")).toEqual([])
    expect(await index.search(" ?! *")).toEqual([])
    for (const query of [
      '"',
      "AND",
      "NOT near",
      "title : x",
      "x*",
      "(((",
      "'; DROP TABLE chunks; --",
      "a\0b",
    ]) {
      await index.search(query)
    }
    expect(await index.search("NEAR(quoted brackets)")).toHaveLength(1)
  })

  test("finds words in scripts that have no spaces, and words without their accents", async () => {
    const folder = freshFolder({ "a.txt": "東京都は日本の首都です。", "b.txt": "Der Café-Besuch in Zürich" })
    const index = openIndex(folder)
    await index.add([folder])
    expect(await index.search("首都")).toMatchObject([{ source: "a.txt:1" }])
    expect(await index.search("cafe zurich")).toMatchObject([{ source: "b.txt:1" }])
  })

  test("reads only new and changed documents, and removes missing ones with prune", async () => {
    const folder = freshFolder({
      "d/a.txt": "apples",
      "d/b.txt": "bananas",
      "d/c.txt": "cherries",
      "e.txt": "elderberry",
    })
    const index = openIndex(folder)
    expect(await index.add([folder])).toMatchObject({ added: 4, chunks: 4 })
    expect(await index.add([folder])).toMatchObject({ added: 0, changed: 0, unchanged: 4, chunks: 0 })

    put(folder, { "d/b.txt": "blueberries" })
    unlinkSync(join(folder, "d/c.txt"))
    expect(await index.add([join(folder, "d")])).toMatchObject({ changed: 1, unchanged: 1, removed: 0 })
    expect(await index.search("bananas")).toEqual([])
    expect(await index.search("blueberries")).toHaveLength(1)
    expect(await index.search("cherries")).toHaveLength(1)

    expect(await index.add([join(folder, "d")], { prune: true })).toMatchObject({ unchanged: 2, removed: 1 })
    expect(await index.search("cherries")).toEqual([])
    expect((await index.list()).map(({ source }) => source)).toEqual(["d/a.txt", "d/b.txt", "e.txt"])
  })

  test("removes a source, a path or a folder", async () => {
    const folder = freshFolder({ "d/a.txt": "apples", "d/b.txt": "bananas", "dd.txt": "dates" })
    const index = openIndex(folder)
    await index.add([folder])
    expect(await index.remove("nothing.txt")).toBe(0)
    expect(await index.remove("d/a.txt")).toBe(1)
    expect(await index.remove(join(folder, "d"))).toBe(1)
    expect((await index.list()).map(({ source }) => source)).toEqual(["dd.txt"])
    expect(await index.search("apples bananas dates")).toHaveLength(1)
  })

  test("removes the whole root folder, and nothing for an empty name", async () => {
    const folder = freshFolder({ "d/a.txt": "apples", "b.txt": "bananas" })
    const index = openIndex(folder)
    await index.add([folder])
    await index.add([{ source: "note", text: "nuts" }])
    expect(await index.remove("")).toBe(0)
    expect(await index.remove(`${folder}/`)).toBe(2)
    expect((await index.list()).map(({ source }) => source)).toEqual(["note"])
    expect(await index.remove("note")).toBe(1)
  })

  test("keeps texts that are not files when missing files are pruned", async () => {
    const folder = freshFolder({ "a.txt": "apples", "b.txt": "bananas" })
    const index = openIndex(folder)
    await index.add([{ source: "note", text: "nuts" }])
    await index.add([folder])
    unlinkSync(join(folder, "a.txt"))
    expect(await index.add([folder], { prune: true })).toMatchObject({ removed: 1 })
    expect((await index.list()).map(({ source }) => source)).toEqual(["b.txt", "note"])
  })

  test("accepts texts that are not files, under their own source", async () => {
    const index = openIndex(freshFolder())
    const page = {
      source: "https://example.org/a",
      text: "<title>T</title><h1>Sun</h1><p>It shines.",
      type: "html" as const,
    }
    expect(await index.add([page, { source: "note", text: "It rains." }])).toMatchObject({ added: 2 })
    expect(await index.search("shines")).toEqual([
      {
        text: "It shines.",
        score: expect.any(Number),
        relevance: 1,
        source: "https://example.org/a",
        title: "T › Sun",
      },
    ])
    expect(await index.add([{ source: "note", text: "It snows." }])).toMatchObject({ changed: 1 })
    expect(await index.search("rains")).toEqual([])
    const twice = ["It hails.", "It drizzles."].map((text) => ({ source: "note", text }))
    expect(await index.add(twice)).toMatchObject({ changed: 1, left: 0 })
    expect(await index.search("hails drizzles")).toMatchObject([{ source: "note", text: "It drizzles." }])
  })

  test("knows its files relative to its root, wherever it is opened", async () => {
    const folder = freshFolder({ "docs/a.txt": "apples" })
    const index = openIndex(folder)
    await index.add([folder])
    await index.close()
    const again = openIndex(folder, { root: "/" })
    expect(await again.add([folder])).toMatchObject({ added: 0, unchanged: 1 })
    expect(await again.search("apples")).toMatchObject([{ source: "docs/a.txt:1" }])
  })

  test("reports documents that cannot be read, and adds the rest", async () => {
    const folder = freshFolder({
      "a.txt": "apples",
      "binary.txt": new Uint8Array([1, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0]),
      "broken.pdf": "%PDF-1.4 and then nothing",
      "scan.pdf": pdf(["", ""]),
      "photo.png": new Uint8Array([0x89, 0x50]),
    })
    const index = openIndex(folder)
    const { added, others, problems } = await index.add([folder])
    expect({ added, others }).toEqual({ added: 1, others: 1 })
    expect(problems).toEqual([
      { source: "binary.txt", reason: "it is not text" },
      { source: "broken.pdf", reason: expect.stringContaining("not a readable PDF") },
      { source: "scan.pdf", reason: expect.stringContaining("has no text, only images") },
    ])
    await expect(index.add([join(folder, "nowhere")])).rejects.toMatchObject({
      code: "OPTION_INVALID",
      message: expect.stringContaining("no such file or folder"),
    })
  })

  test("adds files and folders of all kinds, and follows no links", async () => {
    const folder = freshFolder({ "x.md/inner.md": "Inner.", "empty.txt": "", "sub/a.txt": "apples" })
    symlinkSync("..", join(folder, "sub", "loop"))
    symlinkSync("a.txt", join(folder, "sub", "link.txt"))
    const index = openIndex(folder)
    expect(await index.add([folder, join(folder, "sub")])).toMatchObject({ added: 3, problems: [] })
    expect((await index.list()).map(({ source, chunks }) => `${source} ${chunks}`)).toEqual([
      "empty.txt 0",
      "sub/a.txt 1",
      "x.md/inner.md 1",
    ])
    const server = createServer().listen(join(folder, "socket.txt"))
    await once(server, "listening")
    try {
      await expect(index.add([join(folder, "socket.txt")])).rejects.toThrow(
        /socket\.txt cannot be added: it is neither a file nor a folder\.$/,
      )
      expect(await index.add([folder])).toMatchObject({ unchanged: 3, problems: [] })
    } finally {
      server.close()
    }
  })

  test("continues past an unreadable folder, and keeps the documents it has from it", async () => {
    const folder = freshFolder({ "a.txt": "apples", "d/b.txt": "bananas" })
    const index = openIndex(folder)
    await index.add([folder])
    const closed = join(folder, "d")
    vi.mocked(readdir).mockImplementation(async (path, options) => {
      const real = await vi.importActual<typeof import("node:fs/promises")>("node:fs/promises")
      if (path !== closed) return await real.readdir(path, options)
      throw Object.assign(new Error("EACCES: permission denied"), { code: "EACCES", syscall: "scandir" })
    })
    onTestFinished(() => void vi.mocked(readdir).mockReset())
    put(folder, { "c.txt": "cherries" })
    expect(await index.add([folder], { prune: true })).toMatchObject({
      added: 1,
      unchanged: 1,
      removed: 0,
      problems: [{ source: "d", reason: "it is not readable: check its permissions" }],
    })
    expect(await index.search("bananas")).toHaveLength(1)
  })

  test("reads a PDF page by page, and cites the page", async () => {
    const folder = freshFolder({
      "paper.pdf": pdf(["The first page is about whales.", "The second is about owls."]),
    })
    const index = openIndex(folder)
    expect(await index.add([folder])).toMatchObject({ added: 1, chunks: 2, problems: [] })
    expect(await index.search("owls")).toMatchObject([
      { source: "paper.pdf#2", text: "The second is about owls." },
    ])
  })

  test("reports its progress", async () => {
    const folder = freshFolder({ "a.txt": "apples", "b.txt": "bananas!" })
    const index = openIndex(folder)
    const progress: string[] = []
    await index.add([folder], {
      onProgress: ({ source, documents, bytes, chunks }) =>
        progress.push(
          `${source} ${documents.done}/${documents.total} ${bytes.done}/${bytes.total} ${chunks}`,
        ),
    })
    expect(progress[0]).toBe("a.txt 0/2 0/14 0")
    expect(progress.at(-1)).toBe("b.txt 2/2 14/14 2")
  })
})

describe("an index with embeddings", () => {
  const files = { "a.txt": "A kitten sleeps.", "b.txt": "The automobile stopped.", "c.txt": "Cash is king." }

  test("finds by meaning what shares no word with the query", async () => {
    const folder = freshFolder(files)
    const index = openIndex(folder, { embeddings: meaningEmbeddings() })
    await index.add([folder])
    expect(await index.search("feline", { mode: "text" })).toEqual([])
    expect((await index.search("feline", { mode: "vector", limit: 1 }))[0]?.source).toBe("a.txt:1")
    expect((await index.search("the feline stopped"))[0]?.source).toMatch(/^[ab]\.txt:1$/)
    expect((await index.search("vehicle"))[0]?.source).toBe("b.txt:1")
    expect(await index.report()).toMatchObject({
      documents: 3,
      chunks: 3,
      vectorSearch: true,
      embeddings: { name: "test/meanings", dimensions: 16 },
    })
  })

  test("refuses other embeddings, and documents without embeddings", async () => {
    const folder = freshFolder(files)
    const index = openIndex(folder, { embeddings: meaningEmbeddings() })
    await index.add([folder])
    await index.close()
    expect(() => openIndex(folder, { embeddings: meaningEmbeddings("test/others") })).toThrow(
      expect.objectContaining({
        code: "INDEX_EMBEDDINGS_OTHER",
        message: expect.stringMatching(
          /vectors of "test\/meanings" .* "test\/others" .* open it with the same embeddings/,
        ),
      }),
    )
    const plain = openIndex(folder)
    await expect(plain.add([folder])).rejects.toMatchObject({ code: "INDEX_EMBEDDINGS_OTHER" })
    expect(await plain.search("kitten")).toHaveLength(1)
    await expect(plain.search("kitten", { mode: "vector" })).rejects.toThrow(
      /cannot be searched by meaning: it was opened without/,
    )
    expect(await plain.report()).toMatchObject({
      vectorSearch: false,
      reason: expect.stringContaining("test/meanings"),
    })
  })

  test("creates vectors for documents that were added without, when they are added again", async () => {
    const folder = freshFolder(files)
    const plain = openIndex(folder)
    await plain.add([folder])
    await plain.close()
    const index = openIndex(folder, { embeddings: meaningEmbeddings() })
    expect(await index.report()).toMatchObject({ vectorSearch: false })
    expect(await index.add([folder])).toMatchObject({ changed: 3 })
    expect((await index.search("feline", { mode: "vector", limit: 1 }))[0]?.source).toBe("a.txt:1")
  })

  test("reports embeddings that return invalid vectors", async () => {
    const folder = freshFolder(files)
    const odd = { name: "odd", dimensions: 3, embed: async () => [[1, 2]] }
    await expect(openIndex(folder, { embeddings: odd }).add([folder])).rejects.toThrow(
      /"odd" returned a vector of 2 numbers/,
    )
    const few = { name: "few", dimensions: 3, embed: async () => [] }
    await expect(openIndex(folder, { embeddings: few }).add([folder])).rejects.toThrow(
      /returned 0 vectors for 1 texts/,
    )
  })
})

describe("a search", () => {
  test("has a valid limit, and does nothing if its signal is aborted", async () => {
    const index = openIndex(freshFolder())
    await expect(index.search("x", { limit: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" })
    await expect(index.search("x", { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i)
  })

  test("of a closed index is an error", async () => {
    const index = openIndex(freshFolder())
    await index.close()
    await expect(index.search("x")).rejects.toMatchObject({ code: "INDEX_CLOSED" })
  })
})

test("invalid options are refused", () => {
  const folder = freshFolder()
  for (const chunk of [{ size: 10 }, { size: 100, overlap: 60 }, { overlap: -1 }]) {
    expect(() => openIndex(folder, { chunk })).toThrow(/chunk.size/)
  }
  expect(() => documentIndex(":memory:")).toThrow(/needs the path of a file/)
  expect(() => documentIndex(folder)).toThrow(/is a folder/)
  writeFileSync(join(folder, "letter.db"), "Dear reader, this is no database. ".repeat(100))
  expect(() => documentIndex(join(folder, "letter.db"))).toThrow(/is not a SQLite database/)
  rmSync(join(folder, "letter.db"))
})
