import { join } from "node:path"
import { expect, test, vi } from "vitest"
import { documentIndex } from "./document-index.ts"
import { freshFolder, meaningEmbeddings } from "./index.test-support.ts"

vi.mock("node:module", async (original) => {
  const real = await original<typeof import("node:module")>()
  const createRequire = (from: string | URL) => {
    const require = real.createRequire(from)
    return (name: string) => {
      if (name !== "sqlite-vec") return require(name)
      throw Object.assign(new Error("Cannot find module 'sqlite-vec'"), { code: "MODULE_NOT_FOUND" })
    }
  }
  return { ...real, createRequire }
})

test("without sqlite-vec an index finds by words alone, makes no vectors, and says what to install", async () => {
  const folder = freshFolder({ "a.txt": "A kitten sleeps." })
  const embeddings = meaningEmbeddings()
  const index = documentIndex(join(folder, "index.db"), { root: folder, embeddings })
  expect(await index.add([folder])).toMatchObject({ added: 1 })
  expect(embeddings.embedded).toBe(0)
  expect(await index.search("kitten")).toMatchObject([{ source: "a.txt:1" }])
  await expect(index.search("feline", { mode: "vector" })).rejects.toThrow(/npm install sqlite-vec/)
  expect(await index.report()).toMatchObject({
    vectorSearch: false,
    reason: expect.stringContaining("npm install sqlite-vec"),
  })
  await index.close()
})
