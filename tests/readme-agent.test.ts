/** The README's agent: its process is killed while it waits, the approval arrives from elsewhere, a new process completes it. */
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { afterAll, expect, test } from "vitest"
import { bundled } from "./bundled.ts"

const root = resolve(import.meta.dirname, "..")
// Inside the repository, so that the program finds `superstep`.
mkdirSync(join(root, ".build"), { recursive: true })
const folder = mkdtempSync(join(root, ".build", "readme-agent-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const readme = readFileSync(join(root, "README.md"), "utf8")
const [, program = ""] = /^```ts\n(\/\/ refunds\.ts\n[\s\S]*?)^```$/m.exec(readme) ?? []

interface Ended {
  readonly stdout: string
  readonly code: number | null
  readonly signal: string | null
}

function start(...args: string[]): Promise<Ended> {
  const child = spawn(process.execPath, args, {
    cwd: folder,
    stdio: ["ignore", "pipe", "inherit"],
  })
  let stdout = ""
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    stdout += chunk
  })
  return new Promise((done, fail) => {
    child.on("error", fail)
    child.on("close", (code, signal) => done({ stdout, code, signal }))
  })
}

test("survives SIGKILL, and completes with an approval that was given to no process", async () => {
  writeFileSync(join(folder, "refunds.ts"), program)
  // Kills the process at the line that reports the run as waiting, before anything is closed.
  writeFileSync(join(folder, "killed.mjs"), 'console.log = () => process.kill(process.pid, "SIGKILL")')
  const refunds = bundled(join(folder, "refunds.ts"))

  const killed = await start("--import", join(folder, "killed.mjs"), refunds)
  expect(killed.signal).toBe("SIGKILL")

  const asked = await start(refunds)
  expect(asked).toEqual({ stdout: 'waiting Allow "support" to call "refund"?\n', code: 0, signal: null })

  const cli = bundled(join(root, "packages/superstep/src/command/main.ts"))
  expect(await start(cli, "respond", "ticket-17", "yes")).toMatchObject({ code: 0 })
  expect(await start(refunds)).toEqual({
    stdout: "completed Your $40 are on the way.\n",
    code: 0,
    signal: null,
  })

  const { stdout } = await start(cli, "runs", "show", "ticket-17", "--json")
  expect(JSON.parse(stdout)).toMatchObject({ status: "completed", usage: { modelCalls: 2, toolCalls: 1 } })
})
