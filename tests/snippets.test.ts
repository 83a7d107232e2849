/** Every TypeScript block in the READMEs and docs compiles, runs, and prints what its comments say it prints. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { setTelemetry } from "superstep"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { typeProblems } from "./type-problems.test-support.ts"

const root = resolve(import.meta.dirname, "..")
const folder = join(root, "tests", ".snippets")

interface Snippet {
  readonly name: string
  readonly file: string
  readonly code: string
}

function markdownFiles(): string[] {
  const docs = readdirSync(join(root, "docs"), { recursive: true, encoding: "utf8" })
  const readmes = readdirSync(join(root, "packages")).map((name) => join("packages", name, "README.md"))
  return [
    "README.md",
    ...docs.filter((file) => file.endsWith(".md")).map((file) => join("docs", file)),
    ...readmes.filter((file) => existsSync(join(root, file))),
  ]
}

const snippets: Snippet[] = markdownFiles().flatMap((file) =>
  [...readFileSync(join(root, file), "utf8").matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((match, i) => ({
    name: `${file}, block ${i + 1}`,
    file: join(folder, `${file.replace(/\W+/g, "-")}-${i + 1}.ts`),
    code: match[1] as string,
  })),
)

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of snippets) writeFileSync(file, `${code}\nexport {}\n`)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("README and docs have snippets", () => {
  expect(snippets.length).toBeGreaterThan(3)
})

test("every snippet compiles", { timeout: 120_000 }, () => {
  expect(typeProblems(snippets.map(({ file }) => file))).toEqual([])
})

test.each(snippets)("$name prints what it says", async ({ file, code }) => {
  const expected = [...code.matchAll(/\/\/ -> (.*)$/gm)].map((match) => match[1])
  const { formatWithOptions } = await import("node:util")
  const printed: string[] = []
  const log = vi.spyOn(console, "log").mockImplementation((...args) => {
    printed.push(formatWithOptions({ colors: false }, ...args))
  })
  // Exporters print objects; and what a snippet sets for the whole process must not reach the next one.
  const dir = vi.spyOn(console, "dir").mockImplementation(() => undefined)
  // A snippet may make files: they go with its folder.
  const home = process.cwd()
  const place = file.replace(/\.ts$/, "")
  mkdirSync(place)
  process.chdir(place)
  try {
    await import(/* @vite-ignore */ file)
  } finally {
    process.chdir(home)
    setTelemetry(undefined)
    dir.mockRestore()
    log.mockRestore()
  }
  expect(printed).toEqual(expected)
})
