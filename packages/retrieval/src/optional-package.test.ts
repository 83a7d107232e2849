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

test("a package that is there is given as it is", async () => {
  expect(await optionalPackage("node:path", "Nothing", () => import("node:path"))).toHaveProperty("join")
})
