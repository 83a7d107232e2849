/** The whole store suite on an encrypted file. `encryption.test.ts` has what the check runs. */
import { storeSuite } from "@superstep/engine/testing"
import { describe, test } from "vitest"
import { mortalStores } from "./mortal.test-support.ts"
import { drivers } from "./stores.test-support.ts"

describe("the encrypted SQLite store", () => {
  const [{ driver }] = drivers as [(typeof drivers)[0]]
  const { make, ...options } = mortalStores(driver, [{ id: "k", key: new Uint8Array(32).fill(7) }])
  for (const { name, run } of storeSuite("SQLite", make, options)) test(name, run)
})
