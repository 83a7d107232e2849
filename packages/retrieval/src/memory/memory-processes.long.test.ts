import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, test } from "vitest"
import { freshFolder } from "../index/index.test-support.ts"
import { memoryIndex } from "./memory-index.ts"

test("several processes remember concurrently: no fact is stored twice, and the limit holds", async () => {
  const folder = freshFolder()
  const program = fileURLToPath(new URL("./remember-program.test-support.ts", import.meta.url))
  const flags = ["--conditions=@superstep/source", "--import", import.meta.resolve("tsx")]
  const run = promisify(execFile)
  const ended = await Promise.all(
    ["a", "b"].map((name) => run(process.execPath, [...flags, program, folder, name])),
  )
  for (const { stdout } of ended) expect(Number(stdout)).toBeGreaterThan(0)
  const texts = (
    await memoryIndex(folder, { embeddings: false }).of("ada").recall(undefined, { limit: 50 })
  ).map(({ text }) => text)
  expect(texts).toHaveLength(15)
  expect(new Set(texts).size).toBe(15)
})
