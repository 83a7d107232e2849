/** The example from end to end: a real PostgreSQL, CSV files, documents and a graph, answered by the offline model. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { documentIndex, goalBackends } from "@superstep/retrieval"
import { loadGoalConfig, runGoal } from "superstep/patterns"
import { beforeAll, describe, expect, inject, onTestFinished, test } from "vitest"
import { ladybugPackage } from "../../packages/retrieval/src/graph/ladybug-package.test-support.ts"
import { generated } from "./generate.ts"
import { type Asked, askAll, lineOf, summaryOf } from "./run.ts"

const folder = import.meta.dirname

/** Milliseconds after which something hangs: a busy machine needs a while to start PostgreSQL and to ask 36 questions. */
const HANGS = 180_000

test("the data is the output of generate.ts", () => {
  for (const [path, text] of generated()) {
    expect(readFileSync(join(folder, path), "utf8"), path).toBe(text)
  }
})

const ladybug = ladybugPackage()
const graphs: [string, string | undefined][] = [["in memory", undefined]]
// It answers as the one in memory does: the check asks one of them.
if (ladybug !== undefined && inject("isProof")) graphs.push(["in Ladybug", ladybug.packagesOf])

describe.each(graphs)("with the graph %s", (_, packagesOf) => {
  let asked: ReadonlyMap<string, readonly Asked[]>
  beforeAll(async () => {
    asked = await askAll({ packagesOf })
  }, HANGS)

  test("at least 18 of the 20 questions are answered by the right source", () => {
    const all = asked.get("questions.yaml") ?? []
    const wrong = all.filter(({ went }) => went !== "right")
    process.stdout.write(`${[...wrong.map(lineOf), summaryOf("questions.yaml", all)].join("\n")}\n`)
    expect(all).toHaveLength(20)
    expect(all.filter(({ went }) => went !== "wrong source").length).toBeGreaterThanOrEqual(18)
  })

  test.each(["questions.yaml", "free-questions.yaml"])(
    "%s marks the failing questions, and how they fail",
    (file) => {
      for (const one of asked.get(file) ?? []) {
        expect(one.went, lineOf(one)).toBe(one.fails === undefined ? "right" : `wrong ${one.fails}`)
      }
    },
  )
})

test("without the database the files and the documents answer", async () => {
  const made = mkdtempSync(join(tmpdir(), "goal-over-data-"))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  const documents = join(made, "documents.db")
  const index = documentIndex(documents, { root: folder })
  await index.add([join(folder, "documents")])
  await index.close()
  const { goal } = loadGoalConfig(join(folder, "goal.yaml"), {
    env: { SHOP_DB: "postgresql://reader:reader@127.0.0.1:1/shop", DOCUMENTS: documents },
    backends: () => goalBackends({ root: folder }),
  })
  if (goal === undefined) throw new Error("goal.yaml cannot be read")
  onTestFinished(() => goal.close())
  expect(await runGoal(goal.config, "What is the mileage of the vehicle FB-2041?")).toContain("148220")
  expect(await runGoal(goal.config, "How long does a password have to be?")).toContain("14 characters")
  expect(await runGoal(goal.config, "What is the price of the Skarv 3 tent?")).toMatch(
    /^Incomplete: Shop: The database shop at .* is unreachable: .*\n\nThe context does not answer this directly/,
  )
})
