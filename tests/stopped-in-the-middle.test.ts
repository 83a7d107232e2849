/** The README's "Stopped in the middle", at a terminal: Ctrl-C at the question, then resuming the run. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { superstep, testIo } from "../packages/superstep/src/command/test-io.test-support.ts"

const readme = readFileSync(join(import.meta.dirname, "../README.md"), "utf8")
const [, definition = ""] = /^```yaml\n(# publish\.yaml\n[\s\S]*?)^```$/m.exec(readme) ?? []

test("a run stopped with Ctrl-C resumes where it was, and does nothing twice", async () => {
  const terminal = testIo({ files: { "publish.yaml": definition }, terminals: ["stdin", "stdout", "stderr"] })
  const stopped = superstep(["run", "publish.yaml", "storks", "--run-id", "storks-1"], terminal)
  await terminal.seen("Publish it?")
  terminal.interrupt()
  const { code, stderr } = await stopped
  expect(code).toBe(130)
  expect(stderr).toContain("superstep runs resume storks-1")

  const script = { ...terminal, stdin: testIo().stdin, stdout: terminal.stdout, stderr: terminal.stderr }
  const answered = await superstep(["respond", "storks-1", "r1", "publish"], script)
  expect(answered.code).toBe(0)
  expect(answered.stdout.trim()).toBe("publish")

  const shown = await superstep(["runs", "show", "storks-1", "--json"], script)
  const { usage } = JSON.parse(shown.stdout) as { usage: { modelCalls: number } }
  expect(usage.modelCalls).toBe(1)
})
