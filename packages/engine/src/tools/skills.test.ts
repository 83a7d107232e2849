import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import type { Context } from "../runtime/index.ts"
import { skills } from "./skills.ts"
import { use } from "./tool-use.test-support.ts"

let folder: string
const put = (path: string, text: string) => {
  mkdirSync(join(folder, path, ".."), { recursive: true })
  writeFileSync(join(folder, path), text)
}
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "skills-"))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

async function opened(options: Parameters<typeof skills>[0]) {
  const warnings: string[] = []
  const ctx = { log: (_: string, text: string) => warnings.push(text) } as unknown as Context
  const toolset = skills(options)
  const names = (await toolset.tools(ctx)).map(({ name }) => name)
  return { toolset, names, warnings, prompt: toolset.instructions }
}

test("the prompt has names and descriptions; a tool returns the rest", async () => {
  put("all/invoices/SKILL.md", "---\nname: invoices\ndescription: >\n  Writes\n  invoices.\n---\nUse form A.")
  put("all/invoices/forms/a.txt", "Form A")
  put("all/notes.md", "no skill")
  const inline = [{ name: "greet", description: "Greets.", instructions: "Say hello." }]
  const { toolset, names, prompt, warnings } = await opened({ folders: [join(folder, "all")], inline })
  expect(names).toEqual(["read_skill", "read_skill_file"])
  expect(prompt).toContain("- greet: Greets.\n- invoices: Writes invoices.")
  expect(prompt).not.toContain("form A")
  expect(warnings).toEqual([])
  expect(await use(toolset, "read_skill", { name: "invoices" })).toContain("Use form A.")
  expect(await use(toolset, "read_skill", { name: "greet" })).toBe("Say hello.")
  expect(await use(toolset, "read_skill_file", { skill_name: "invoices", path: "forms/a.txt" })).toBe(
    "Form A",
  )
  await expect(use(toolset, "read_skill", { name: "x" })).rejects.toMatchObject({ code: "SKILL_UNKNOWN" })
})

test("no path and no link leads out of the folder of a skill", async () => {
  put("secret.txt", "secret")
  put("all/a/SKILL.md", "---\nname: a\ndescription: A.\n---\n")
  symlinkSync(join(folder, "secret.txt"), join(folder, "all/a/link.txt"))
  mkdirSync(join(folder, "other/b"), { recursive: true })
  symlinkSync(join(folder, "secret.txt"), join(folder, "other/b/SKILL.md"))
  const { warnings } = await opened({ folders: [join(folder, "other")] })
  expect(warnings).toEqual([expect.stringContaining("outside the root")])
  const { toolset } = await opened({ folders: [join(folder, "all")] })
  for (const path of ["../../secret.txt", "link.txt", join(folder, "secret.txt")]) {
    await expect(use(toolset, "read_skill_file", { skill_name: "a", path })).rejects.toMatchObject({
      code: "PATH_OUTSIDE_ROOT",
    })
  }
})

test("a skill without a name or a description is left out with a warning; without skills there are no tools", async () => {
  put("all/a/SKILL.md", "# No front matter")
  put("all/b/SKILL.md", "---\nname: b\n---\n")
  put("all/c/SKILL.md", "---\nname: ../c\ndescription: C.\n---\n")
  const { names, prompt, warnings } = await opened({ folders: [join(folder, "all"), join(folder, "none")] })
  expect([names, prompt]).toEqual([[], undefined])
  expect(warnings.map((text) => text.replace(/^.*SKILL.md: /, ""))).toEqual([
    "it does not begin with name and description between lines of ---.",
    "it has no description.",
    'its name must be 1 to 64 letters, digits, ".", "_" or "-".',
  ])
})
