/** Research: a question, searched in your own documents, and a report with sources. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { documentsIn } from "@superstep/retrieval"
import { offlineModel } from "superstep/models"
import { documentsTool, iterativeResearch, type Retriever, researchEvents } from "superstep/patterns"

/** Add `webSearchTool` and `pageTool` to search the web too. */
export const research = (documents: Retriever) =>
  iterativeResearch({
    model: offlineModel(), // or "openai/gpt-5"
    tools: [documentsTool(documents, { description: "Notes on birds." })],
    // When it is used up, the report is written from the evidence so far.
    budget: { tokens: 50_000, iterations: 3 },
  })

export const notes = {
  "nests.md": "# Nests\n\nWhite storks build their nests on roofs, chimneys and poles.\n",
  "journeys.md": "# Journeys\n\nWhite storks winter south of the Sahara.\n",
}

export async function inFolder<T>(use: (documents: Retriever) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "birds-"))
  for (const [name, text] of Object.entries(notes)) writeFileSync(join(folder, name), text)
  const documents = documentsIn(["."], { root: folder, index: "index.db" })
  try {
    return await use(documents)
  } finally {
    await documents.close()
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.filename === process.argv[1]) {
  await inFolder(async (documents) => {
    const run = research(documents).stream("Where do white storks build their nests?")
    for await (const { type, message } of researchEvents(run)) {
      if (type !== "streaming") console.log(`${type}: ${message}`)
    }
    console.log(String((await run).outputs[0]).trim())
  })
}
