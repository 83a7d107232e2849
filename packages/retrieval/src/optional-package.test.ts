import { createRequire } from "node:module"
import { expect, test } from "vitest"
import { optionalPackage } from "./optional-package.ts"

test("a package that is not installed is told with what to install, and for what", async () => {
  const name = "@superstep/no-such-package"
  const loading = optionalPackage(name, "A PostgreSQL database", () => import(name))
  await expect(loading).rejects.toMatchObject({ code: "PACKAGE_MISSING", retryable: false })
  await expect(loading).rejects.toThrow(
    `A PostgreSQL database needs the package ${name}, which is not installed: npm install ${name}`,
  )
})

test("one that is only looked for is told the same way", async () => {
  const name = "@superstep/no-such-package"
  const { resolve } = createRequire(import.meta.url)
  const looking = optionalPackage(name, "SQL over files", async () => resolve(name))
  await expect(looking).rejects.toThrow(
    `SQL over files needs the package ${name}, which is not installed: npm install ${name}`,
  )
})

test("one that is broken is told to be there, and not to load", async () => {
  const loading = optionalPackage("broken", "Nothing", () => Promise.reject(new Error("no native part")))
  await expect(loading).rejects.toThrow("Nothing needs the package broken, which does not load")
})

test("a package that is there is given as it is", async () => {
  expect(await optionalPackage("node:path", "Nothing", () => import("node:path"))).toHaveProperty("join")
})
