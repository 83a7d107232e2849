import * as fc from "fast-check"
import { expect, test } from "vitest"
import { idlePatterns, toolFilter, toolNames } from "./mcp-tool.ts"

test.each([
  [undefined, true],
  [[], false],
  [["read_*"], true],
  [["*_file"], true],
  [["read?file"], true],
  [["read"], false],
  [{ deny: ["read_*"] }, false],
  [{ allow: ["read_file"], deny: ["*"] }, false],
  [{ deny: ["write_*"] }, true],
])("with %j read_file is admitted: %s", (filter, isIn) => {
  expect(toolFilter(filter)("read_file")).toBe(isIn)
})

test("allow patterns that match nothing are found", () => {
  expect(idlePatterns({ allow: ["a*", "b*"], deny: ["c*"] }, ["apple"])).toEqual(["b*"])
})

test("a valid name is kept, even if another one is converted to it", () => {
  const names = toolNames(["read.file", "read_file", "fs/list"])
  expect(names.get("read_file")).toBe("read_file")
  expect(names.get("fs/list")).toBe("fs_list")
  expect(names.get("read.file")).toMatch(/^read_file_[0-9a-f]{8}$/)
})

test("names are valid and unique, whatever the names and the order of a server's tools", () => {
  const anyNames = fc.uniqueArray(fc.oneof(fc.string(), fc.string({ minLength: 60, maxLength: 130 })), {
    maxLength: 12,
  })
  fc.assert(
    fc.property(anyNames, fc.constantFrom("", "github_"), (listed, prefix) => {
      const names = toolNames(listed, prefix)
      expect(new Set(names.values()).size).toBe(listed.length)
      for (const name of names.values()) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
      expect(Object.fromEntries(toolNames([...listed].reverse(), prefix))).toEqual(Object.fromEntries(names))
    }),
  )
})
