import { spawn } from "node:child_process"
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import fc from "fast-check"
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest"
import type { Memory } from "./memory-file.ts"
import { memoryFile } from "./memory-file.ts"

let directory: string
let path: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "superstep-memory-"))
  path = join(directory, "memories.jsonl")
})
afterEach(() => rm(directory, { recursive: true }))

const made = (id: string, text = id): Memory => ({ id, text, tags: [], at: 1 })
const idsOf = async () => (await memoryFile(path).all()).map(({ id }) => id)

describe("a memory file", () => {
  test("does not exist before the first memory, and is private to its owner", async () => {
    const store = memoryFile(path)
    expect(await store.all()).toEqual([])
    expect(await store.remove("x")).toBe(false)
    await expect(stat(path)).rejects.toMatchObject({ code: "ENOENT" })
    await store.put(made("a"))
    expect((await stat(path)).mode & 0o777).toBe(0o600)
  })

  test.skipIf(process.platform === "win32")(
    "that others can read is made private on the next write, with a warning (not on Windows)",
    async () => {
      const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
      onTestFinished(() => warnings.mockRestore())
      await memoryFile(path).put(made("a"))
      await chmod(path, 0o644)
      await memoryFile(path).put(made("b"))
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      expect(warnings).toHaveBeenCalledOnce()
      expect(await idsOf()).toEqual(["a", "b"])
    },
  )

  test("returns what was stored, whatever it contains", async () => {
    const store = memoryFile(path)
    const text = 'line\nbreak "quotes" \u2028 漢字 😀 \\ \0'
    await store.put({ id: "a", text, tags: ["x\ny"], at: 5 })
    expect(await store.all()).toEqual([{ id: "a", text, tags: ["x\ny"], at: 5 }])
  })

  test("behaves like a map, for any sequence of changes", async () => {
    const change = fc.record({
      id: fc.constantFrom("a", "b", "c"),
      text: fc.option(fc.string({ unit: "grapheme", maxLength: 8 }), { nil: undefined }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 12 }), async (changes) => {
        await rm(path, { force: true })
        const store = memoryFile(path)
        const model = new Map<string, string>()
        for (const { id, text } of changes) {
          if (text === undefined) expect(await store.remove(id)).toBe(model.delete(id))
          else {
            await store.put(made(id, text))
            model.set(id, text)
          }
        }
        const kept = new Map((await store.all()).map(({ id, text }) => [id, text]))
        expect(Object.fromEntries(kept)).toEqual(Object.fromEntries(model))
      }),
      { numRuns: 20 },
    )
  })

  test("no longer contains memories that were removed or replaced (F2)", async () => {
    const store = memoryFile(path)
    await store.put(made("a", "first secret"))
    await store.put(made("b", "stays"))
    await store.put(made("a", "second secret"))
    expect(await readFile(path, "utf8")).not.toContain("first secret")
    await store.remove("a")
    const text = await readFile(path, "utf8")
    expect(text).not.toContain("secret")
    expect(text).toContain("stays")
  })

  test("loses only the line that a crash left incomplete (F1)", async () => {
    const store = memoryFile(path)
    await store.put(made("a"))
    await store.put(made("b"))
    const { size } = await stat(path)
    await truncate(path, size - 5)
    expect(await idsOf()).toEqual(["a"])
    await store.put(made("c"))
    expect(await idsOf()).toEqual(["a", "c"])
  })

  test("uses the later of two lines after a crash between writing and blanking (F2)", async () => {
    const store = memoryFile(path)
    await store.put(made("a", "old"))
    await appendFile(path, `${JSON.stringify({ v: 1, ...made("a", "new") })}\n`)
    expect(await store.all()).toMatchObject([{ id: "a", text: "new" }])
    await store.remove("a")
    expect(await store.all()).toEqual([])
  })

  test("does not change lines that it does not understand (F3)", async () => {
    const foreign = [
      '{"v":2,"id":"z","body":"later"}',
      "not json",
      "[]",
      "null",
      '{"v":1,"id":5}',
      '{"v":1,"id":"q","text":"t","at":1e300}',
    ]
    await writeFile(path, `${foreign.join("\n")}\n`)
    const store = memoryFile(path)
    await store.put(made("a"))
    await store.remove("z")
    expect(await idsOf()).toEqual(["a"])
    for (const line of foreign) expect(await readFile(path, "utf8")).toContain(line)
  })

  test("supports many concurrent writers, even in other processes (F1)", async () => {
    const source = new URL("./memory-file.ts", import.meta.url).href
    const writer = `
      const { memoryFile } = await import(${JSON.stringify(source)})
      const [path, name] = process.argv.slice(1)
      const store = memoryFile(path)
      for (let at = 0; at < 20; at++) {
        const memory = { id: name + "-" + at, text: "first ".repeat(50), tags: [], at }
        await store.put(memory)
        await store.put({ ...memory, text: "second" })
      }`
    const node = ["--import", "tsx", "--conditions", "@superstep/source", "--input-type=module", "-e", writer]
    const other = (name: string) =>
      new Promise<number | null>((resolve) =>
        spawn(process.execPath, [...node, path, name], { stdio: "inherit" }).once("exit", resolve),
      )
    const store = memoryFile(path)
    const own = Array.from({ length: 20 }, (_, index) => store.put(made(`own-${index}`)))
    const codes = await Promise.all([other("p"), other("q"), ...own])
    expect(codes.slice(0, 2)).toEqual([0, 0])
    const ids = await idsOf()
    expect(ids).toHaveLength(20 + 2 * 20)
    expect(new Set(ids).size).toBe(60)
    expect(await readFile(path, "utf8")).not.toContain("first")
  })

  test("does not change a file that is something else (F4)", async () => {
    const database = Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(100, "\n{")])
    await writeFile(path, database)
    const store = memoryFile(path)
    for (const use of [() => store.put(made("a")), () => store.remove("a"), () => store.all()]) {
      await expect(use()).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" })
    }
    expect(await readFile(path)).toEqual(database)
  })

  test("reports that it cannot be opened", async () => {
    await mkdir(path)
    await expect(memoryFile(path).all()).rejects.toThrow()
    await expect(memoryFile(path).put(made("a"))).rejects.toMatchObject({ code: "MEMORY_UNAVAILABLE" })
  })
})
