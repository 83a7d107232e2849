import { expect, test } from "vitest"
import type { Context } from "../runtime/index.ts"
import { tool } from "./define-tool.ts"
import type { Toolset } from "./tool.ts"
import { toolsetWith } from "./toolset-with.ts"

const named = (name: string) => tool({ name, description: name, run: () => name })

function given(more: Partial<Toolset> = {}): Toolset {
  return { name: "files", tools: () => ["read_file", "read_link", "write_file"].map(named), ...more }
}

function watched(): { ctx: Context; said: string[] } {
  const said: string[] = []
  return { ctx: { log: (_: string, text: string) => said.push(text) } as unknown as Context, said }
}

const namesOf = async (toolset: Toolset, { ctx } = watched()) =>
  (await toolset.tools(ctx)).map(({ name }) => name)

test("keeps the tools that are named, and says which name fits none", async () => {
  const seen = watched()
  expect(await namesOf(toolsetWith(given(), { tools: ["read_*", "writefile"] }), seen)).toEqual([
    "read_file",
    "read_link",
  ])
  expect(seen.said).toEqual(['"writefile" fits no tool of "files".'])
  expect(await namesOf(toolsetWith(given(), { tools: [] }))).toEqual([])
  expect(await namesOf(toolsetWith(given(), {}))).toHaveLength(3)
})

test("says something else about them, with the toolset's own words where it is asked to", () => {
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

test("closes what it was made of, where that can be closed", async () => {
  let closed = 0
  await toolsetWith(given({ close: () => void closed++ }), {}).close?.()
  expect(closed).toBe(1)
  expect(toolsetWith(given(), {}).close).toBe(undefined)
})
