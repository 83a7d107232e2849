import { expect, test } from "vitest"
import { defaultEmbeddings } from "./named-embeddings.ts"

test("the configured embeddings take precedence over the installed offline model; none disables them", () => {
  expect(defaultEmbeddings({ SUPERSTEP_EMBEDDINGS: "openai/text-embedding-3-small" })).toBe(
    "openai/text-embedding-3-small",
  )
  expect(defaultEmbeddings({ SUPERSTEP_EMBEDDINGS: "" })).toBe("offline")
  expect(defaultEmbeddings({})).toBe("offline")
  expect(defaultEmbeddings({ SUPERSTEP_EMBEDDINGS: "none" })).toBeUndefined()
})
