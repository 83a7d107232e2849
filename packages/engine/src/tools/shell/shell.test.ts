import { spawn } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest"
import type { Context } from "../../runtime/index.ts"
import { manualClock } from "../../testing/index.ts"
import { type UseOptions, use } from "../tool-use.test-support.ts"
import { programPath } from "./run-process.ts"
import { type ShellOptions, shell } from "./shell.ts"

let root: string
const node = process.execPath
const run = (cmd: string, options: Partial<ShellOptions> = {}, more: object = {}, under: UseOptions = {}) =>
  use(shell({ enabled: true, root, allow: ["*"], ...options }), "shell", { cmd, ...more }, under)
/** A line for node, in single quotes. */
const js = (code: string) => `${node} -e '${code}'`

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "shell-"))
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true, force: true })
})

describe.skipIf(process.platform === "win32")("the shell toolset", () => {
  test("has no tool unless it is enabled, and asks a person when it is (1)", async () => {
    const tools = (enabled: unknown) => shell({ enabled: enabled as boolean, root }).tools({} as Context)
    for (const value of [false, undefined, "true", "false", 1]) expect(await tools(value)).toEqual([])
    expect(await tools(true)).toMatchObject([{ name: "shell", approval: "always" }])
  })

  test("runs nothing that is not allowed, and nothing that is denied (2)", async () => {
    const only = { allow: ["echo *"], deny: ["echo -n *"] }
    expect(await run("echo hi", only)).toEqual({ exit_code: 0, stdout: "hi\n", stderr: "" })
    for (const cmd of ["ls", "/bin/echo hi", "echo -n hi", "env echo hi", "LD_PRELOAD=x echo hi"]) {
      await expect(run(cmd, only)).rejects.toMatchObject({ code: "COMMAND_DENIED" })
    }
    await expect(run("echo hi", { allow: [] })).rejects.toMatchObject({ code: "COMMAND_DENIED" })
    await expect(run("echo hi; touch evil", only)).rejects.toMatchObject({ code: "COMMAND_INVALID" })
    expect(existsSync(join(root, "evil"))).toBe(false)
    await expect(run("/bin/rm x", { deny: ["rm *"] })).rejects.toMatchObject({ code: "COMMAND_DENIED" })
  })

  test("passes arguments on unchanged: no shell parses them (2)", async () => {
    const { stdout } = await run("echo '$HOME' '`id`' '$(id)' '; touch evil' '*'")
    expect(stdout).toBe("$HOME `id` $(id) ; touch evil *\n")
    expect(existsSync(join(root, "evil"))).toBe(false)
  })

  test("with shellStrings a shell runs the line, and a list of commands is rejected (2)", async () => {
    expect(await run("echo a | tr a b", { shellStrings: true })).toMatchObject({ stdout: "b\n" })
    expect(() => shell({ enabled: true, root, allow: ["ls"], shellStrings: true })).toThrow(
      expect.objectContaining({ code: "SHELL_INVALID" }),
    )
    expect(() => shell({ enabled: true, root, allow: ["*"], deny: ["rm *"], shellStrings: true })).toThrow(
      expect.objectContaining({ code: "SHELL_INVALID" }),
    )
  })

  test("our keys are not in a command's environment (3)", async () => {
    vi.stubEnv("SOME_API_KEY", "sk-very-secret-value")
    vi.stubEnv("NODE_OPTIONS", "--no-warnings")
    const { stdout } = await run("env", { env: { PLAIN: "given" } })
    expect(stdout).not.toContain("sk-very-secret-value")
    expect(stdout).not.toContain("NODE_OPTIONS")
    expect(stdout).toContain("PLAIN=given")
  })

  test("an inherited secret is masked in the output (3)", async () => {
    vi.stubEnv("SOME_API_KEY", "sk-very-secret-value")
    const { stdout, stderr } = await run(
      js(
        "const k = process.env.SOME_API_KEY; console.log(k.length, k); console.error(Buffer.from(k).toString(`base64`))",
      ),
      { secrets: ["SOME_API_KEY"] },
    )
    expect(stdout).toBe("20 [secret]\n")
    expect(stderr).not.toContain(Buffer.from("sk-very-secret-value").toString("base64").slice(0, 20))
  })

  test("so is a variable in env with a secret name, even where the output is cut (3)", async () => {
    const key = "sk-very-secret-value"
    const options = { env: { API_KEY: key, PLAIN: "plain-value" }, maxOutput: 40 }
    expect((await run("env", { env: options.env })).stdout).toContain("API_KEY=[secret]\n")
    expect((await run("env", { env: options.env })).stdout).toContain("PLAIN=plain-value\n")
    // The first twenty kept bytes end within the key, and the last twenty begin within it.
    const { stdout } = await run(
      js("const k = process.env.API_KEY; console.log(`123456789`, k, k, `89`)"),
      options,
    )
    expect(stdout).toBe("123456789 [secret]\n… [15 bytes left out] …\n[secret] 89\n")
  })

  test("a program in the root does not replace one of the system", async () => {
    writeFileSync(join(root, "echo"), "#!/bin/sh\n/bin/echo planted\n")
    chmodSync(join(root, "echo"), 0o755)
    vi.stubEnv("PATH", [".", "", root, process.env.PATH].join(delimiter))
    expect(await run("echo hi", { allow: ["echo *"] })).toMatchObject({ stdout: "hi\n" })
    expect(programPath([".", "rel/bin", `${root}/bin`, "/usr/bin"].join(delimiter), [root])).toBe("/usr/bin")
  })

  test("works in the root, or in a directory inside, and nowhere else", async () => {
    mkdirSync(join(root, "inner"))
    symlinkSync("/", join(root, "out"))
    expect((await run("pwd", {}, { cwd: "inner" })).stdout.trim().endsWith("/inner")).toBe(true)
    for (const cwd of ["..", "/", "out", "out/etc"]) {
      await expect(run("pwd", {}, { cwd })).rejects.toMatchObject({ code: "PATH_OUTSIDE_ROOT" })
    }
  })

  test("an exit code other than 0 is a result; a missing program is an error", async () => {
    expect(await run(js("console.error(`no`); process.exit(3)"))).toEqual({
      exit_code: 3,
      stdout: "",
      stderr: "no\n",
    })
    await expect(run("no-such-program-here")).rejects.toMatchObject({ code: "PROCESS_NOT_STARTED" })
  })

  test("ends a command whose time is up, with its children, and returns its output (4)", async () => {
    const clock = manualClock()
    const script = `
      const child = require("child_process").spawn(process.execPath, ["-e", "setInterval(() => {}, 1e6)"])
      require("fs").writeFileSync("pid.tmp", String(child.pid))
      require("fs").renameSync("pid.tmp", "pid")
      console.log("started")
      setInterval(() => {}, 1e6)`
    writeFileSync(join(root, "hang.cjs"), script)
    const running = run(`${node} hang.cjs`, { timeout: 5_000 }, {}, { clock })
    await vi.waitUntil(() => existsSync(join(root, "pid")), { timeout: 30_000 })
    await clock.advance(5_000)
    const result = await running
    expect(result).toMatchObject({ exit_code: null, note: expect.stringContaining("5 s") })
    const child = Number(readFileSync(join(root, "pid"), "utf8"))
    await vi.waitUntil(() => isGone(child), { timeout: 30_000 })
  })

  test("a model may shorten the time limit, not extend it (4)", async () => {
    const clock = manualClock()
    writeFileSync(join(root, "hang.cjs"), `require("fs").writeFileSync("up", ""); setInterval(() => {}, 1e6)`)
    const running = run(`${node} hang.cjs`, { timeout: 5_000 }, { timeout: 1e9 }, { clock })
    await vi.waitUntil(() => existsSync(join(root, "up")), { timeout: 30_000 })
    await clock.advance(5_000)
    expect((await running).note).toContain("5 s")
  })

  test("ends a command when its task ends (4)", async () => {
    const stop = new AbortController()
    writeFileSync(join(root, "hang.cjs"), `require("fs").writeFileSync("up", ""); setInterval(() => {}, 1e6)`)
    const running = run(`${node} hang.cjs`, {}, {}, { signal: stop.signal })
    await vi.waitUntil(() => existsSync(join(root, "up")), { timeout: 30_000 })
    stop.abort(new Error("stopped"))
    await expect(running).rejects.toThrow("stopped")
  })

  test("the start and the end of long output are kept, and a flood ends the command (4)", async () => {
    const much = await run(js("for (let i = 0; i < 5000; i++) console.log(i)"), { maxOutput: 1_000 })
    expect(much.exit_code).toBe(0)
    expect(much.stdout.length).toBeLessThan(1_100)
    expect(much.stdout.startsWith("0\n1\n")).toBe(true)
    expect(much.stdout.endsWith("4999\n")).toBe(true)
    const flood = await run("yes", { maxOutput: 1_000 })
    expect(flood.note).toContain("too much")
  })

  test("terminal codes are removed from the output", async () => {
    const { stdout } = await run("printf '\\033[31mred\\033[0m\\033]0;title\\007\\b end'")
    expect(stdout).toBe("red end")
  })
})

test.skipIf(process.platform === "win32")("running commands are killed when our process exits", async () => {
  const source = new URL("./run-process.ts", import.meta.url).href
  writeFileSync(
    join(root, "hang.cjs"),
    `require("fs").writeFileSync("pid", String(process.pid)); setInterval(() => {}, 1e6)`,
  )
  writeFileSync(
    join(root, "ours.mts"),
    `import { existsSync, statSync } from "node:fs"
     import { runProcess } from ${JSON.stringify(source)}
     const { signal } = new AbortController()
     void runProcess({ command: process.execPath, args: ["hang.cjs"], env: {}, cwd: process.cwd(), signal })
     setInterval(() => existsSync("pid") && statSync("pid").size > 0 && process.exit(0), 5)`,
  )
  const tsx = ["--import", import.meta.resolve("tsx"), "--conditions", "@superstep/source"]
  await new Promise((resolve) => spawn(node, [...tsx, "ours.mts"], { cwd: root }).once("exit", resolve))
  const left = Number(readFileSync(join(root, "pid"), "utf8"))
  await vi.waitUntil(() => isGone(left), { timeout: 30_000 })
})

/** A killed child may stay a zombie until its parent reaps it. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return true
  }
  return process.platform === "linux" && /\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))
}
