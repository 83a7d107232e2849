import { afterEach, expect, test, vi } from "vitest"
import { nodeSqlite } from "./driver.ts"

afterEach(() => void vi.restoreAllMocks())

/** Node with a SQLite of its own, as it was built. */
function builtIn(hasFullText: boolean): void {
  class DatabaseSync {
    prepare() {
      return { all: () => [{ used: hasFullText ? 1 : 0 }] }
    }
    close() {}
  }
  vi.spyOn(process, "getBuiltinModule").mockReturnValue({ DatabaseSync } as never)
}

test("Node's own SQLite is used where it has full-text search, which the index of names needs", () => {
  builtIn(true)
  expect(nodeSqlite()).toBeTypeOf("function")
  builtIn(false)
  expect(nodeSqlite()).toBeUndefined()
})
