import { registrySuite, storeSuite } from "@superstep/engine/testing"
import { describe, test } from "vitest"
import type { SqliteStore } from "./sqlite-store.ts"
import { drivers, freshPath, openStore } from "./stores.test-support.ts"

describe.each(drivers)("the SQLite store on $name", ({ driver }) => {
  const dispose = (store: SqliteStore) => store.close()
  for (const { name, run } of storeSuite("SQLite", () => openStore(freshPath(), driver), { dispose })) {
    test(name, run)
  }
  for (const { name, run } of registrySuite("SQLite", () => openStore(freshPath(), driver).registry)) {
    test(name, run)
  }
})
