/** The real command, in a process of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, onTestFinished } from "vitest"
import { moduleFile } from "./modules/index.test-support.ts"

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url))
const TSX = import.meta.resolve("tsx")

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "superstep-process-"))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

interface Process {
  readonly child: ChildProcess
  /** Resolves when the text is on stdout or stderr. */
  seen(text: string): Promise<void>
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>
}

function started(cwd: string, argv: readonly string[], env: NodeJS.ProcessEnv = {}): Process {
  const child = spawn(process.execPath, ["--conditions=@superstep/source", "--import", TSX, MAIN, ...argv], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const written = { stdout: "", stderr: "" }
  const waiting = new Set<() => void>()
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      written[name] += text
      for (const look of waiting) look()
    })
  }
  return {
    child,
    seen: (text) =>
      new Promise((resolve) => {
        const look = () => {
          if (written.stdout.includes(text) || written.stderr.includes(text)) resolve()
        }
        waiting.add(look)
        look()
      }),
    ended: new Promise((resolve) => child.on("close", (code) => resolve({ code, ...written }))),
  }
}

it("is stopped with Ctrl-C and gone on with in another process, which does nothing twice", async () => {
  const cwd = folder()
  const first = started(cwd, ["run", moduleFile("slow"), "x"])
  await first.seen("✓ first")
  first.child.kill("SIGINT")
  const stopped = await first.ended
  expect(stopped.code).toBe(130)
  const [, id = ""] = /superstep runs resume (\S+)/.exec(stopped.stderr) ?? []

  const second = await started(cwd, ["runs", "resume", id], { SLOW_MODULE_GOES_ON: "1" }).ended
  expect(second).toMatchObject({ code: 0, stdout: "x first, then on\n" })
  expect(second.stderr).not.toContain("✓ first")
})

it("goes quietly when whoever reads its output has gone", async () => {
  const { child, seen, ended } = started(folder(), ["run", moduleFile("slow"), "x", "--json"])
  await seen("run.started")
  child.stdout?.destroy()
  child.kill("SIGINT")
  const { code, stderr } = await ended
  expect(code).toBe(130)
  expect(stderr).not.toContain("    at ")
})
