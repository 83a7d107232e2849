import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { Clock } from "../../index.ts"
import { manualClock } from "../../testing/index.ts"
import { callContext, toolNamed } from "../call-context.test-support.ts"
import { callTool, readArgs } from "../call-tool.ts"
import { type MemoryOptions, memory } from "./memory.ts"
import type { Memory, MemoryStore } from "./memory-file.ts"
import { memoryFile } from "./memory-file.ts"

/** A database behind the port. */
function inMap(): MemoryStore {
  const all = new Map<string, Memory>()
  return {
    put: async (one) => void all.set(one.id, one),
    remove: async (id) => all.delete(id),
    all: async () => [...all.values()],
  }
}

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "superstep-memory-"))
})
afterEach(() => rm(directory, { recursive: true }))

function using(options: MemoryOptions, clock: Clock = manualClock()) {
  const toolset = memory(options)
  let count = 0
  return async (name: string, args: object, key = `call-${++count}`) => {
    const one = await toolNamed(toolset, name)
    const parsed = await readArgs(one, JSON.stringify(args))
    if (!parsed.ok) throw new Error(parsed.reason)
    const call = callContext({ idempotencyKey: key })
    const outcome = await callTool(one, parsed.args, { ...call, ctx: { ...call.ctx, clock } })
    if (!outcome.ok) throw Object.assign(new Error(outcome.error.message), { code: outcome.error.code })
    // The results of the tools.
    return outcome.value as {
      id: string
      known?: boolean
      removed?: boolean
      memories: { id: string; text: string }[]
    }
  }
}

const kinds: [string, () => MemoryOptions][] = [
  ["a file", () => ({ file: join(directory, "deep", "memories.jsonl") })],
  ["a store of one's own", () => ({ store: inMap() })],
]

describe.each(kinds)("memory in %s", (_, options) => {
  test("finds memories by words, the best first", async () => {
    const use = using(options())
    await use("memory_add", { text: "Ada prefers tea over coffee.", tags: ["drinks"] })
    await use("memory_add", { text: "The deployment runs on Fridays." })
    await use("memory_add", { text: "Coffee machines are cleaned on Mondays." })
    const texts = async (query: string) =>
      (await use("memory_search", { query })).memories.map(({ text }) => text)
    expect((await texts("what does ADA drink, tea?"))[0]).toBe("Ada prefers tea over coffee.")
    expect(await texts("deployments friday")).toEqual(["The deployment runs on Fridays."])
    expect(await texts("coffee cleaning")).toEqual([
      "Coffee machines are cleaned on Mondays.",
      "Ada prefers tea over coffee.",
    ])
    expect(await texts("drinks")).toHaveLength(1)
    expect(await texts("submarine")).toEqual([])
    expect(await texts("?!")).toEqual([])
  })

  test("stores a repeated call once (M2)", async () => {
    const use = using(options())
    const first = await use("memory_add", { text: "Once." }, "run-1:call-7")
    const again = await use("memory_add", { text: "Once." }, "run-1:call-7")
    expect(again.id).toBe(first.id)
    expect((await use("memory_list", {})).memories).toHaveLength(1)
  })

  test("does not store the same sentence twice", async () => {
    const use = using(options())
    const { id } = await use("memory_add", { text: "Twice." })
    expect(await use("memory_add", { text: "Twice." })).toEqual({ id, known: true })
    expect((await use("memory_list", {})).memories).toHaveLength(1)
  })

  test("replaces and forgets", async () => {
    const use = using(options())
    const { id } = await use("memory_add", { text: "Ada lives in Oslo.", tags: ["home"] })
    await use("memory_update", { id, text: "Ada lives in Bergen." })
    expect(await use("memory_list", {})).toMatchObject({
      memories: [{ id, text: "Ada lives in Bergen.", tags: ["home"] }],
      of: 1,
    })
    await expect(use("memory_update", { id: "nope", text: "x" })).rejects.toMatchObject({
      code: "MEMORY_UNKNOWN",
    })
    expect(await use("memory_remove", { id })).toEqual({ removed: true })
    expect(await use("memory_remove", { id })).toEqual({ removed: false })
    expect((await use("memory_search", { query: "Ada" })).memories).toEqual([])
  })

  test("lists the newest first", async () => {
    const clock = manualClock()
    const use = using(options(), clock)
    for (const text of ["one", "two", "three"]) {
      await clock.advance(1)
      await use("memory_add", { text })
    }
    const { memories } = await use("memory_list", { limit: 2 })
    expect(memories.map(({ text }) => text)).toEqual(["three", "two"])
  })

  test("is full at the maximum, and the error has advice", async () => {
    const use = using({ ...options(), maxMemories: 2 })
    await use("memory_add", { text: "one" }, "a")
    await use("memory_add", { text: "two" }, "b")
    await expect(use("memory_add", { text: "three" }, "c")).rejects.toMatchObject({ code: "MEMORY_FULL" })
    await use("memory_add", { text: "two, again" }, "b")
    await expect(use("memory_add", { text: "x".repeat(10_001) })).rejects.toThrow(/10000 characters/)
  })
})

describe("memory", () => {
  test("persists: another toolset on the same file has it (M1)", async () => {
    const file = join(directory, "m.jsonl")
    await using({ file })("memory_add", { text: "Kept." })
    expect((await using({ file })("memory_search", { query: "kept" })).memories).toMatchObject([
      { text: "Kept." },
    ])
  })

  test("uses a store's own search, and closes the store", async () => {
    const closed: string[] = []
    const found = { id: "x", text: "From the index.", tags: [], at: 0 }
    const store: MemoryStore = {
      ...inMap(),
      search: async (query, limit) => (query === "q" && limit === 3 ? [found] : []),
      close: () => void closed.push("closed"),
    }
    expect((await using({ store })("memory_search", { query: "q", limit: 3 })).memories).toEqual([
      { id: "x", text: "From the index.", at: "1970-01-01T00:00:00.000Z" },
    ])
    await memory({ store }).close?.()
    expect(closed).toEqual(["closed"])
  })

  test("with an approval, asks before writing, and not before reading", async () => {
    const toolset = memory({ store: inMap(), approval: "always" })
    const byName = async (name: string) => (await toolNamed(toolset, name)).approval
    expect(await byName("memory_add")).toBe("always")
    expect(await byName("memory_remove")).toBe("always")
    expect(await byName("memory_search")).toBeUndefined()
  })

  test("needs exactly one storage", () => {
    expect(() => memory({})).toThrow(expect.objectContaining({ code: "MEMORY_INVALID" }))
    expect(() => memory({ file: "x", store: memoryFile("y") })).toThrow(/exactly one/)
  })
})
