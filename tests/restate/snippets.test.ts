/** Every TypeScript block of the docs that needs Restate (`ts restate`) compiles, runs, and prints what its comments say. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest"
import { expectPrinted, root } from "../doc-blocks.test-support.ts"
import { typeProblems } from "../type-problems.test-support.ts"

const folder = join(root, "tests", ".snippets-restate")
const snippets = ["docs/restate.md", "packages/restate/README.md"].flatMap((page) =>
  [...readFileSync(join(root, page), "utf8").matchAll(/^```ts restate\n([\s\S]*?)^```$/gm)].map(
    (match, i) => ({
      name: `${page}, block ${i + 1}`,
      file: join(folder, `${page.replace(/\W+/g, "-")}-${i + 1}.ts`),
      code: match[1] as string,
    }),
  ),
)

beforeAll(() => {
  const { ingress, admin } = inject("restate")
  vi.stubEnv("DATABASE_URL", inject("postgres"))
  vi.stubEnv("RESTATE_INGRESS", ingress)
  vi.stubEnv("RESTATE_ADMIN", admin)
  mkdirSync(folder, { recursive: true })
  for (const { file, code } of snippets) writeFileSync(file, `${code}\nexport {}\n`)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test("every snippet compiles", { timeout: 120_000 }, () => {
  expect(snippets.length).toBeGreaterThan(0)
  expect(typeProblems(snippets.map(({ file }) => file))).toEqual([])
})

test.each(snippets)("$name prints what it says", async ({ file, code }) => {
  const place = file.replace(/\.ts$/, "")
  mkdirSync(place)
  await expectPrinted(file, code, place)
})
