import { describe, expect, test } from "vitest"
import { matchesWord, pathGlob } from "./glob.ts"

describe("a glob for paths", () => {
  test.each([
    ["*.ts", "a.ts", true],
    ["*.ts", "src/a.ts", false],
    ["**/*.ts", "a.ts", true],
    ["**/*.ts", "src/deep/a.ts", true],
    ["src/**/a.ts", "src/a.ts", true],
    ["src/**", "src", true],
    ["src/**", "srcs/a", false],
    ["**/.git/**", ".git", true],
    ["**/.git/**", "x/.git/hooks/pre-commit", true],
    ["**/.git/**", "x/.gitignore", false],
    ["a?c", "abc", true],
    ["a?c", "a/c", false],
    ["*.{ts,tsx}", "a.tsx", true],
    ["*.{ts,tsx}", "a.js", false],
    ["{a,b}/{c,d}", "b/c", true],
    ["a.c", "abc", false],
  ])("%s on %s is %s", (pattern, path, expected) => {
    expect(pathGlob(pattern)(path)).toBe(expected)
  })

  test("optionally ignores case", () => {
    expect(pathGlob("**/.git/**", { ignoreCase: true })(".GIT/config")).toBe(true)
  })

  test("a pattern designed to hang a regular expression matches fast", () => {
    const began = process.cpuUsage()
    expect(matchesWord(`${"*a".repeat(200)}b`, "a".repeat(5_000))).toBe(false)
    expect(pathGlob(`${"**/a/".repeat(100)}b`)(`${"a/".repeat(2_000)}c`)).toBe(false)
    expect(pathGlob("{a,b}".repeat(40))("x")).toBe(false)
    expect(process.cpuUsage(began).user / 1_000).toBeLessThan(2_000)
  })
})
