/** The research in this folder over its documents, with the offline model. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { loadDefinition } from "@superstep/engine/definitions"
import { documentsIn } from "@superstep/retrieval"
import { expect, onTestFinished, test } from "vitest"

function opened() {
  const folder = mkdtempSync(join(tmpdir(), "storks-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const make = (paths: readonly string[]) => documentsIn(paths, { index: join(folder, "storks.db") })
  const { definition, diagnostics } = loadDefinition(join(import.meta.dirname, "steps-research.yaml"), {
    functions: { documentsIn: { from: "@superstep/retrieval", make } },
  })
  expect(diagnostics).toEqual([])
  if (definition === undefined) throw new Error("steps-research.yaml cannot be loaded")
  onTestFinished(() => definition.close())
  return definition.workflow
}

test.each([
  ["Where do white storks build their nests?", /on roofs, chimneys and poles/, "storks/nests.md:3"],
  ["Where do white storks winter?", /south of the Sahara/, "storks/journeys.md:3"],
  ["What do white storks eat?", /frogs, mice, insects and earthworms/, "storks/food.md:3"],
])("%s", async (question, answer, source) => {
  const { status, outputs } = await opened().run(question)
  expect(status).toBe("completed")
  const [text = "", sources = ""] = String(outputs[0]).split("\n\n## Sources\n\n")
  expect(text).toMatch(answer)
  expect(text).toContain("[1]")
  expect(sources).toContain(source)
})
