/** A configuration file with real files and a real index: the right one answers. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { scriptedModel } from "@superstep/engine/models"
import { loadGoalConfig, runGoal } from "@superstep/engine/patterns"
import { expect, onTestFinished, test } from "vitest"
import { goalBackends } from "./goal-backends.ts"
import { documentIndex } from "./index/document-index.ts"

const CONFIG = `agents: { triage: {}, sql: {}, desk: {}, reviewer: {} }
assistants: [desk]
sql_agent: sql
search:
  databases:
    - { type: csv, id: stock, name: Stock, folder: data }
  vector: { index: docs.db }
`

async function shop(): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "goal-"))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  mkdirSync(join(root, "data"))
  writeFileSync(join(root, "data", "lamps.csv"), "colour,pieces\nred,3\nblue,4\n")
  writeFileSync(join(root, "shop.yaml"), CONFIG)
  const index = documentIndex(join(root, "docs.db"), { root })
  await index.add([{ source: "returns.md", text: "Lamps can be returned within 30 days." }])
  await index.close()
  return root
}

/** The assistant's prompt. */
async function promptFor(root: string, goal: string, select: string): Promise<string> {
  const model = scriptedModel({
    triage: ["no JSON"],
    sql: [select],
    desk: ["done"],
    reviewer: [{ json: { decision: "accept" } }],
  })
  const { goal: loaded, diagnostics } = loadGoalConfig(join(root, "shop.yaml"), {
    env: {},
    model: () => model,
    backends: () => goalBackends({ env: {} }),
  })
  expect(diagnostics).toEqual([])
  if (loaded === undefined) throw new Error("there is no configuration")
  try {
    await runGoal(loaded.config, goal)
  } finally {
    await loaded.close()
  }
  return JSON.stringify(model.calls.find(({ agent }) => agent === "desk")?.prompt.at(-1))
}

test("files of tables answer questions about their columns", async () => {
  const prompt = await promptFor(
    await shop(),
    "How many pieces of red lamps?",
    "SELECT pieces FROM lamps WHERE colour = 'red'",
  )
  expect(prompt).toContain("[1] Stock (csv)")
  expect(prompt).toContain("pieces\\n3")
})

test("without results there, the index is searched and cited", async () => {
  const prompt = await promptFor(
    await shop(),
    "Can lamps be returned?",
    "SELECT pieces FROM lamps WHERE colour = 'green'",
  )
  expect(prompt).toContain("returns.md")
  expect(prompt).toContain("within 30 days")
})

test("a query that a model writes there is harmless", async () => {
  const prompt = await promptFor(
    await shop(),
    "Can lamps be returned?",
    "SELECT * FROM read_text('/etc/passwd')",
  )
  expect(prompt).not.toContain("root:")
  expect(prompt).toContain("within 30 days")
})

test("a file that is not an index is reported as such", async () => {
  const root = mkdtempSync(join(tmpdir(), "goal-"))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  writeFileSync(join(root, "docs.db"), "no index at all".repeat(100))
  const open = goalBackends({ root }).index({ index: "docs.db" })
  await expect(open).rejects.toMatchObject({ code: "INDEX_UNUSABLE" })
})

test("a missing index is not created but reported as missing", async () => {
  const open = goalBackends().index({ index: "no/such.db" })
  await expect(open).rejects.toMatchObject({ code: "INDEX_MISSING" })
})
