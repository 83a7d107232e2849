import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, onTestFinished, test } from "vitest"
import { bundled } from "../../../../tests/bundled.ts"

const program = fileURLToPath(new URL("./heartbeat-exit.test-support.ts", import.meta.url))

test("a process that ends waits for what its heartbeat thread does in a native module, which would abort it", async () => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-exit-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, "file")
  const child = spawn(process.execPath, [bundled(program), path], { stdio: "inherit" })
  expect(await new Promise((resolve) => child.on("close", resolve))).toBe(7)
  expect(readFileSync(path, "utf8")).toBe("whole")
})
