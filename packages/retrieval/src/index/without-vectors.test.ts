import { createRequire as realCreateRequire } from "node:module"
import { join } from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { documentIndex } from "./document-index.ts"
import { freshFolder, meaningEmbeddings } from "./index.test-support.ts"

// Optional packages are required through `process.getBuiltinModule("node:module")`.
const getBuiltinModule = process.getBuiltinModule.bind(process) as (id: string) => unknown
vi.spyOn(process, "getBuiltinModule").mockImplementation(((id: string) => {
  if (id !== "node:module") return getBuiltinModule(id)
  const createRequire = (from: string | URL) => {
    const require = realCreateRequire(from)
    return (name: string) => {
      if (name !== "sqlite-vec") return require(name)
      throw Object.assign(new Error("Cannot find module 'sqlite-vec'"), { code: "MODULE_NOT_FOUND" })
    }
  }
  return { createRequire }
}) as typeof process.getBuiltinModule)

// Other test files share the process.
afterAll(() => {
  vi.restoreAllMocks()
})

test("without sqlite-vec an index searches by words only, creates no vectors, and names the package to install", async () => {
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
