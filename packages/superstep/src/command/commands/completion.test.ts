import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { COMMANDS } from "../dispatch.ts"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

function has(shell: string): boolean {
  try {
    execFileSync(shell, ["-c", "true"])
    return true
  } catch {
    return false
  }
}

/** The completions of bash for the last of these words. */
function offered(io: TestIo, ...words: readonly string[]): string[] {
  const line = words.map((word) => `'${word}'`).join(" ")
  const text = `source "$1"; COMP_WORDS=(superstep ${line}); COMP_CWORD=${words.length}; _superstep; printf '%s\\n' "\${COMPREPLY[@]}"`
  const printed = execFileSync("bash", ["-c", text, "bash", join(io.cwd, "completion")], { encoding: "utf8" })
  return printed.split("\n").filter((word) => word !== "")
}

async function scriptFile(): Promise<TestIo> {
  const io = testIo()
  const { code, stdout } = await superstep(["completion", "bash"], io)
  expect(code).toBe(0)
  writeFileSync(join(io.cwd, "completion"), stdout)
  return io
}

describe.skipIf(!has("bash"))("bash completes", () => {
  test("commands and subcommands", async () => {
    const io = await scriptFile()
    expect(offered(io, "ru")).toEqual(["run", "runs"])
    expect(offered(io, "")).toEqual(COMMANDS.map(({ name }) => name))
    expect(offered(io, "runs", "re")).toEqual(["resume", "release", "retry", "replay"])
    expect(offered(io, "storage", "")).toEqual(["report", "prune", "encrypt"])
  })

  test("flags of the command, and their values", async () => {
    const io = await scriptFile()
    expect(offered(io, "runs", "events", "x", "--fo")).toEqual(["--follow"])
    expect(offered(io, "runs", "--st")).toEqual(["--status", "--store"])
    expect(offered(io, "export", "x", "--format", "")).toEqual(["yaml", "json"])
    expect(offered(io, "init", "gr")).toEqual(["graph"])
    expect(offered(io, "completion", "z")).toEqual(["zsh"])
  })

  test("nothing where a file is expected", async () => {
    const io = await scriptFile()
    expect(offered(io, "run", "")).toEqual([])
    expect(offered(io, "run", "x.yaml", "--agents", "")).toEqual([])
  })
})

test.each(["zsh", "fish"])("%s gets a script with every command", async (shell) => {
  const { code, stdout } = await superstep(["completion", shell])
  expect(code).toBe(0)
  for (const { name } of COMMANDS) expect(stdout).toContain(name)
  expect(stdout).toContain("follow")
  if (!has(shell)) return
  const io = testIo({ files: { script: stdout } })
  execFileSync(shell, ["-n", join(io.cwd, "script")])
})

test("another shell is refused", async () => {
  expect(await superstep(["completion", "cmd"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("bash, zsh, fish"),
  })
})
