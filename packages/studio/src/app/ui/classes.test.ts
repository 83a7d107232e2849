import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { expect, test } from "vitest"

const app = resolve(import.meta.dirname, "..")

/** The sheets of a module by the name that it imports them under. */
function* sheetsOf(file: string, source: string): Generator<readonly [name: string, sheet: string]> {
  for (const [, name = "", path = ""] of source.matchAll(/import (\w+) from "([^"]+\.module\.css)"/g))
    yield [name, resolve(dirname(file), path)]
}

/** The types do not know which classes a sheet has: a misspelt one would be "undefined" on the page. */
test("every class that a component uses is in its sheet, and every class of a sheet is used", () => {
  const used = new Map<string, Set<string>>()
  const computed = new Set<string>()
  const files = readdirSync(app, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".tsx"),
  )
  for (const file of files.map((name) => join(app, name))) {
    const source = readFileSync(file, "utf8")
    for (const [name, sheet] of sheetsOf(file, source)) {
      const names = used.get(sheet) ?? new Set()
      used.set(sheet, names)
      for (const [, one = ""] of source.matchAll(new RegExp(`[{ (]${name}\\.(\\w+)`, "g"))) names.add(one)
      if (source.includes(`${name}[`)) computed.add(sheet)
    }
  }
  expect(used.size).toBeGreaterThan(20)
  const problems: string[] = []
  for (const [sheet, names] of used) {
    const text = readFileSync(sheet, "utf8").replace(/\/\*[\s\S]*?\*\//g, "")
    const defined = new Set([...text.matchAll(/\.([a-zA-Z]\w*)(?=[^{}]*\{)/g)].map(([, name]) => name))
    for (const name of names) if (!defined.has(name)) problems.push(`${sheet}: no .${name}`)
    if (computed.has(sheet)) continue
    for (const name of defined)
      if (!names.has(name as string)) problems.push(`${sheet}: .${name} is not used`)
  }
  expect(problems).toEqual([])
})
