import { expect, test } from "vitest"
import type { Context } from "../runtime/index.ts"
import type { Toolset } from "./tool.ts"
import { tool, toolsetWith } from "./tool.ts"

const named = (name: string) => tool({ name, description: name, run: () => name })

function files(more: Partial<Toolset> = {}): Toolset {
  return { name: "files", tools: () => ["read_file", "read_link", "write_file"].map(named), ...more }
}

function watched(): { ctx: Context; warnings: string[] } {
  const warnings: string[] = []
  return { ctx: { log: (_: string, text: string) => warnings.push(text) } as unknown as Context, warnings }
}

const namesOf = async (toolset: Toolset, { ctx } = watched()) =>
  (await toolset.tools(ctx)).map(({ name }) => name)

test("keeps the named tools, and reports a name that matches none", async () => {
  const seen = watched()
  expect(await namesOf(toolsetWith(files(), { tools: ["read_*", "writefile"] }), seen)).toEqual([
    "read_file",
    "read_link",
  ])
  expect(seen.warnings).toEqual(['"writefile" matches no tool of "files".'])
  expect(await namesOf(toolsetWith(files(), { tools: [] }))).toEqual([])
  expect(await namesOf(toolsetWith(files(), {}))).toHaveLength(3)
})

test("replaces the instructions, and can include the toolset's own", () => {
  let learned: string | undefined
  const toolset: Toolset = {
    name: "files",
    tools: () => [],
    get instructions() {
      return learned
    },
  }
  const added = toolsetWith(toolset, { instructions: "Be brief. {ORIGINAL_INSTRUCTIONS}" })
  expect(added.instructions).toBe("Be brief. ")
  learned = "Read $& first."
  expect(added.instructions).toBe("Be brief. Read $& first.")
  expect(toolsetWith(toolset, { instructions: "Be brief." }).instructions).toBe("Be brief.")
  expect(toolsetWith(toolset, {}).instructions).toBe("Read $& first.")
})

test("closes the original toolset, if it can be closed", async () => {
  let closed = 0
  await toolsetWith(files({ close: () => void closed++ }), {}).close?.()
  expect(closed).toBe(1)
  expect(toolsetWith(files(), {}).close).toBe(undefined)
})
