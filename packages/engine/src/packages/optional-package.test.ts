import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { importOptional, requireFrom, requireOptional, resolveOptional } from "./index.ts"

const wanted = { name: "@superstep/no-such-package", neededBy: "A PostgreSQL database" }
const MISSING =
  "A PostgreSQL database needs the package @superstep/no-such-package, which is not installed: " +
  "npm install @superstep/no-such-package"

/** A folder with a CommonJS package of this name and source, and the URL of a module next to it. */
function moduleBeside(name: string, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-packages-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  mkdirSync(join(folder, "node_modules", name), { recursive: true })
  writeFileSync(join(folder, "node_modules", name, "index.js"), text)
  writeFileSync(join(folder, "module.mjs"), "")
  return pathToFileURL(join(folder, "module.mjs")).href
}

test("a package that is not installed is reported with what needs it and the install command", async () => {
  const importing = importOptional(wanted, (name) => import(name))
  await expect(importing).rejects.toMatchObject({
    code: "PACKAGE_MISSING",
    retryable: false,
    message: MISSING,
  })
  expect(() => requireOptional(wanted, requireFrom(import.meta.url))).toThrow(MISSING)
  expect(() => resolveOptional(wanted, requireFrom(import.meta.url))).toThrow(MISSING)
})

test("a missing entry is reported with the package to install", () => {
  const entry = { ...wanted, name: `${wanted.name}/entry` }
  expect(() => resolveOptional(entry, requireFrom(import.meta.url))).toThrow(MISSING)
})

test("the error has the code that the caller passed", () => {
  const loading = () =>
    requireOptional({ ...wanted, code: "MODEL_PROVIDER_MISSING" }, requireFrom(import.meta.url))
  expect(loading).toThrow(expect.objectContaining({ code: "MODEL_PROVIDER_MISSING" }))
})

test("a package that lacks one of its own files or packages is not reported as missing", () => {
  for (const [needs, reason] of [
    ["left-pad", "Cannot find module 'left-pad'"],
    ["./native.node", "Cannot find module './native.node'"],
  ] as const) {
    const from = moduleBeside("lacking", `require(${JSON.stringify(needs)})`)
    expect(() => requireOptional({ name: "lacking", neededBy: "A test" }, requireFrom(from))).toThrow(
      `A test needs the package lacking, which is installed but does not load: ${reason}. Check its version: npm ls lacking`,
    )
  }
})

test("an installed package is returned unchanged", async () => {
  const from = moduleBeside("present", "exports.answer = 42")
  const present = { name: "present", neededBy: "A test" }
  expect(requireOptional(present, requireFrom(from))).toEqual({ answer: 42 })
  expect(resolveOptional(present, requireFrom(from))).toMatch(/present[\\/]index\.js$/)
  const path = { name: "node:path", neededBy: "A test" }
  expect(await importOptional(path, (name) => import(name))).toHaveProperty("join")
})
