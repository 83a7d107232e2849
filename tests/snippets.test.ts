/** Every TypeScript block in the READMEs and docs compiles, runs, and prints what its comments say it prints. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { expectPrinted, ORDERED_PAGES, root } from "./doc-blocks.test-support.ts"
import { typeProblems } from "./type-problems.test-support.ts"

const folder = join(root, "tests", ".snippets")

interface Snippet {
  readonly name: string
  readonly page: string
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
    page: file,
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

test.each(snippets.filter(({ page }) => !ORDERED_PAGES.includes(page)))(
  "$name prints what it says",
  async ({ file, code }) => {
    // A snippet may make files: they go with its folder.
    const place = file.replace(/\.ts$/, "")
    mkdirSync(place)
    await expectPrinted(file, code, place)
  },
)
