import { describe, test } from "vitest"
import { storeSuite } from "../testing/index.ts"
import { memoryStore } from "./memory.ts"

describe("the memory store", () => {
  for (const { name, run } of storeSuite(memoryStore)) test(name, run)
})
