/** The real CLI, in a separate process. */
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, existsSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect, it, onTestFinished } from "vitest"
import { bundledTogether } from "../../../../tests/bundled.ts"
import { type ModuleName, moduleFile as sourceOf } from "./modules/index.test-support.ts"

const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url))
const MODULES = ["chatty", "greet", "slow"] as const satisfies ModuleName[]
const programOf = bundledTogether([MAIN, ...MODULES.map(sourceOf)])
const moduleFile = (name: (typeof MODULES)[number]) => programOf(sourceOf(name))

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "superstep-process-"))
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
  return made
}

interface Process {
  readonly child: ChildProcess
  /** Resolves when stdout or stderr contains the text. */
  seen(text: string): Promise<void>
  readonly ended: Promise<{ code: number | null; stdout: string; stderr: string }>
}

function started(
  cwd: string,
  argv: readonly string[],
  env: NodeJS.ProcessEnv = {},
  stdout: "pipe" | number = "pipe",
): Process {
  const child = spawn(process.execPath, [programOf(MAIN), ...argv], {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", stdout, "pipe"],
  })
  const written = { stdout: "", stderr: "" }
  const waiting = new Set<() => void>()
  for (const name of ["stdout", "stderr"] as const) {
    child[name]?.setEncoding("utf8").on("data", (text: string) => {
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

it("is stopped with Ctrl-C and resumed in another process, which repeats nothing", async () => {
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

it.each(["SIGTERM", "SIGHUP"] as const)(
  "releases the run on %s, and prints how to resume it",
  async (signal) => {
    const cwd = folder()
    const first = started(cwd, ["run", moduleFile("slow"), "x"])
    await first.seen("✓ first")
    first.child.kill(signal)
    const stopped = await first.ended
    expect(stopped.code).toBe(130)
    const [, id = ""] = /superstep runs resume (\S+)/.exec(stopped.stderr) ?? []
    const second = await started(cwd, ["runs", "resume", id], { SLOW_MODULE_GOES_ON: "1" }).ended
    expect(second).toMatchObject({ code: 0, stdout: "x first, then on\n" })
  },
)

it("hands its runs to another worker on SIGTERM", async () => {
  const cwd = folder()
  const { stdout } = await started(cwd, ["enqueue", moduleFile("slow"), "x"]).ended
  const worker = (env?: NodeJS.ProcessEnv) =>
    started(cwd, ["worker", moduleFile("slow"), "--grace", "50ms", "--json"], env)
  const first = worker()
  await first.seen("run.started")
  first.child.kill("SIGTERM")
  const { code, stdout: log } = await first.ended
  expect(code).toBe(0)
  const types = log
    .trimEnd()
    .split("\n")
    .map((line) => (JSON.parse(line) as { type: string }).type)
  expect(types.slice(-3)).toEqual(["stopping", "run.released", "stopped"])
  const second = worker({ SLOW_MODULE_GOES_ON: "1" })
  await second.seen('"status":"completed"')
  second.child.kill("SIGTERM")
  expect((await second.ended).stdout).toContain(stdout.trim())
})

it("releases the run when the reader of its output exits, and prints how to resume it", async () => {
  const { child, seen, ended } = started(folder(), ["run", moduleFile("chatty"), "x", "--json"])
  await seen("task.started")
  child.stdout?.destroy()
  const { code, stderr } = await ended
  expect(code).toBe(130)
  expect(stderr).toMatch(/^loaded\nStopped\. .*\n {2}superstep runs resume \S+\n$/)
})

it("prints only JSON on stdout with --json, whatever a module prints", async () => {
  const { child, seen, ended } = started(folder(), ["run", moduleFile("chatty"), "x", "--json"])
  await seen("task.started")
  child.kill("SIGTERM")
  const { code, stdout, stderr } = await ended
  expect(code).toBe(130)
  expect(stderr).toMatch(/^loaded\n/)
  for (const line of stdout.trimEnd().split("\n")) expect(() => JSON.parse(line)).not.toThrow()
})

it("prints how to find the error in a module that Node cannot parse", async () => {
  const cwd = folder()
  writeFileSync(join(cwd, "syntax.mjs"), "export default 1 2")
  const { code, stdout, stderr } = await started(cwd, ["run", "syntax.mjs", "x"]).ended
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
  expect(stderr.replace(/\s+/g, " ")).toMatch(
    /^superstep: Cannot load syntax\.mjs: SyntaxError: .* \(run node syntax\.mjs to find it\) $/,
  )
})

it.skipIf(!existsSync("/dev/full"))(
  "reports that its output cannot be written (skipped without /dev/full)",
  async () => {
    const full = openSync("/dev/full", "w")
    const { ended } = started(folder(), ["run", moduleFile("greet"), "x", "--quiet"], {}, full)
    const { code, stderr } = await ended
    closeSync(full)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^superstep: Cannot write to stdout: ENOSPC.*\n$/)
  },
)
