/** The command in a clone after `npm ci && npm run build`, and the projects that it makes. No network is needed. */
import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beforeAll, describe, expect, onTestFinished, test } from "vitest"
import { type Ended, ensureBuilt, pack, projectWith, root } from "./installed.ts"

beforeAll(() => ensureBuilt(), 600_000)

const { version } = JSON.parse(readFileSync(join(root, "packages/superstep/package.json"), "utf8"))

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-clone-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function inShell(cwd: string, line: string): Ended {
  const env = { ...process.env, npm_config_offline: "true", npm_config_loglevel: "error" }
  return spawnSync(line, { cwd, env, shell: true, encoding: "utf8" })
}

test("npx superstep works in the clone, and in its folders", () => {
  for (const folder of [root, join(root, "examples")]) {
    expect(inShell(folder, "npx superstep --version")).toMatchObject({ status: 0, stdout: `${version}\n` })
  }
})

test("a clone that is not built says what to do", () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, "packages/superstep/bin"), { recursive: true })
  const bin = readFileSync(join(root, "packages/superstep/bin/superstep.cjs"), "utf8")
  const { status, stderr } = spawnSync(process.execPath, ["-"], { input: bin, cwd: folder, encoding: "utf8" })
  expect(stderr).toContain("Build it first: npm run build")
  expect(status).toBe(2)
})

describe("a project of superstep init", () => {
  test.each(["steps", "graph", "typescript", "chat"])("installs and runs from the clone: %s", (template) => {
    const folder = temporaryFolder()
    // A name that npm and the shell must take as it is.
    const command = JSON.stringify(join(root, "node_modules/.bin/superstep"))
    const init = inShell(folder, `${command} init ${template} "my project" --json`)
    expect(init.status, init.stderr).toBe(0)
    const { next } = JSON.parse(init.stdout) as { next: string[] }
    expect(next.slice(1, 2)).toEqual(["npm install"])
    const place = join(folder, "my project")
    const lines = next.slice(1).filter((line) => !line.includes("superstep chat"))
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines) {
      const { status, stderr } = inShell(place, line)
      expect(status, `${line}: ${stderr}`).toBe(0)
    }
  })

  test("depends on what is on npm, if superstep is installed from there", () => {
    const folder = temporaryFolder()
    const project = projectWith(pack(folder), [])
    onTestFinished(() => rmSync(project, { recursive: true, force: true }))
    const command = JSON.stringify(join(project, "node_modules/superstep/bin/superstep.cjs"))
    const init = inShell(
      folder,
      `node ${command} init typescript made --model anthropic/claude-sonnet-4-5 --quiet`,
    )
    expect(init.status, init.stderr).toBe(0)
    expect(JSON.parse(readFileSync(join(folder, "made/package.json"), "utf8"))).toMatchObject({
      dependencies: { superstep: `^${version}`, "@ai-sdk/anthropic": "^3.0.0" },
      devDependencies: { "@types/node": "^20.19.0", tsx: "^4.20.0", typescript: "^6.0.0" },
    })
  })
})
