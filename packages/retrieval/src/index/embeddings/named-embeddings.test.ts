import { expect, test } from "vitest"
import { defaultEmbeddings } from "./named-embeddings.ts"

test("the configured embeddings come first, then the offline model that is installed; none is none", () => {
  expect(defaultEmbeddings({ SUPERSTEP_EMBEDDINGS: "openai/text-embedding-3-small" })).toBe(
    "openai/text-embedding-3-small",
  )
  expect(defaultEmbeddings({ SUPERSTEP_EMBEDDINGS: "" })).toBe("offline")
  expect(defaultEmbeddings({})).toBe("offline")
  expect(defaultEmbeddings({ SUPERSTEP_EMBEDDINGS: "none" })).toBeUndefined()
})
