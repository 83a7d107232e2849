/** Every program of bench/ still runs: smallest sizes, ours and the limit alone. Nothing is held to a time. */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { beforeAll, expect, test } from "vitest"

const root = join(import.meta.dirname, "../..")
const programs = readdirSync(join(root, "bench")).filter(
  (file) => file.endsWith(".mjs") && file !== "tables.mjs",
)

beforeAll(() => {
  if (!existsSync(join(root, "packages/superstep/dist/whole.cjs")))
    execFileSync("npm", ["run", "build"], { cwd: root })
}, 300_000)

test.each(programs)("bench/%s --smoke ends well", (program) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, "bench", program), "--smoke"], {
    encoding: "utf8",
  })
  expect(status, stdout + stderr).toBe(0)
  expect(stdout).not.toContain("Written to")
})
