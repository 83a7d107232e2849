/** The test file that the studio exports runs under Vitest as it is, and fails when the workflow behaves differently. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { memoryStore, node, Runtime, workflow } from "superstep"
import { expect, onTestFinished, test } from "vitest"
import { testFile } from "../../packages/studio/src/app/run/export/test-file.ts"

const root = resolve(import.meta.dirname, "../..")
const SOURCE = `import { node, workflow } from "superstep"
const double = node("double", (n: number) => n * FACTOR)
export const dailyReport = workflow("daily report")
  .chain(double, node("print", (n: number) => \`\${n} pages\`))
  .build()
`
const CONFIG = `export default { resolve: { conditions: ["@superstep/source"] }, ssr: { resolve: { conditions: ["@superstep/source"] } }, test: { include: ["*.test.ts"] } }`

test("an exported test passes against its workflow, and names the difference of a changed one", async () => {
  const double = node("double", (n: number) => n * 2)
  const report = workflow("daily report")
    .chain(
      double,
      node("print", (n: number) => `${n} pages`),
    )
    .build()
  const runtime = new Runtime({ store: memoryStore(), workflows: [report] })
  onTestFinished(() => runtime.close())
  await runtime.start(report, 4, { runId: "r 1" }).result
  const fixture = await runtime.toFixture("r 1")

  mkdirSync(join(root, ".build"), { recursive: true })
  const folder = mkdtempSync(join(root, ".build/exported-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, "vitest.config.mjs"), CONFIG)
  writeFileSync(
    join(folder, "run.test.ts"),
    testFile({ id: "r 1", workflow: "daily report" }, fixture, "./report.ts"),
  )
  const run = (factor: number) => {
    writeFileSync(join(folder, "report.ts"), SOURCE.replace("FACTOR", String(factor)))
    const vitest = join(root, "node_modules/vitest/vitest.mjs")
    return spawnSync(process.execPath, [vitest, "run", "--root", folder], { cwd: folder, encoding: "utf8" })
  }
  const passed = run(2)
  expect(passed.status, passed.stdout + passed.stderr).toBe(0)
  const failed = run(3)
  expect(failed.status).toBe(1)
  expect(failed.stdout + failed.stderr).toContain("REPLAY_DIFFERS")
}, 120_000)
