import { registrySuite, storeSuite } from "@superstep/engine/testing"
import { describe, test } from "vitest"
import { mortalStores } from "./mortal.test-support.ts"
import { drivers, emptyPath, openStore } from "./stores.test-support.ts"

describe.each(drivers)("the SQLite store on $name", ({ driver }) => {
  const { make, ...options } = mortalStores(driver)
  for (const { name, run } of storeSuite("SQLite", make, options)) test(name, run)
  for (const { name, run } of registrySuite("SQLite", () => openStore(emptyPath(driver), driver).registry)) {
    test(name, run)
  }
})
