import { expect, test } from "vitest"
import { callContext, toolNamed } from "../call-context.test-support.ts"
import { readArgs } from "../call-tool.ts"
import { type MemoryOptions, memory } from "./memory.ts"
import type { MemoryIndex } from "./owned-memory.ts"

const index: MemoryIndex = {
  of: () => ({
    remember: async ({ id }) => ({ id }),
    recall: async () => [],
    forget: async () => false,
  }),
}

test("a memory has exactly one storage, and one with owners names their labels", () => {
  const refused = (options: unknown) => {
    expect(() => memory(options as MemoryOptions)).toThrow(
      expect.objectContaining({ code: "MEMORY_INVALID" }),
    )
  }
  for (const scope of ["", [], [""], [5], 5, null]) refused({ index, scope })
  refused({ index })
  refused({ scope: "user" })
  refused({ file: "x", scope: "user" })
  refused({ index, scope: "user", file: "x" })
  expect(memory({ index, scope: ["tenant", "user"] }).name).toBe("memory")
})

test("its tools accept text, a query or an id, and no owner; those that write ask", async () => {
  const ctx = { ...callContext().ctx, labels: { user: "ada" } }
  const toolset = memory({ index, scope: "user", approval: "always" })
  const tools = await toolset.tools(ctx)
  expect(tools.map(({ name, approval }) => [name, approval])).toEqual([
    ["remember", "always"],
    ["recall", undefined],
    ["forget", "always"],
  ])
  const valid = { remember: { text: "x" }, recall: { query: "x", limit: 3 }, forget: { id: "x" } }
  for (const tool of tools) {
    const args = valid[tool.name as keyof typeof valid]
    expect(await readArgs(tool, JSON.stringify(args))).toMatchObject({ ok: true })
    for (const name of ["user", "owner", "scope", "labels", "tenant"]) {
      expect(await readArgs(tool, JSON.stringify({ ...args, [name]: "eve" })), name).toMatchObject({
        ok: false,
      })
    }
  }
  await expect(toolNamed(toolset, "recall")).rejects.toThrow()
})
