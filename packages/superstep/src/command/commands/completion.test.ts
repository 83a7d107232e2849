import { execFileSync } from "node:child_process"
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { COMMANDS } from "../dispatch.ts"
import { superstep, type TestIo, testIo } from "../test-io.test-support.ts"

// Shells that are not installed are skipped, and the name of the test says which one it needs.
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
    expect(offered(io, "storage", "")).toEqual(["report", "prune", "retention", "encrypt"])
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
    expect(offered(io, "validate", "x.yaml", "")).toEqual([])
    expect(offered(io, "run", "x.yaml", "--agents", "")).toEqual([])
  })
})

/** Stands for the installed CLI: prints the kind and the words that the script asks with. */
const STAND_IN = '#!/bin/sh\nshift\nprintf "%s\\n" "kind-$1" "words-$#"\n'

async function withStandIn(shell: string): Promise<TestIo> {
  const { stdout } = await superstep(["completion", shell])
  const io = testIo({ files: { script: stdout, superstep: STAND_IN } })
  chmodSync(join(io.cwd, "superstep"), 0o755)
  return io
}

describe.skipIf(!has("bash"))("bash asks for values of the store (needs bash)", () => {
  test.each([
    [["runs", "show", ""], "kind-runs"],
    [["respond", ""], "kind-runs"],
    [["runs", "diff", "x", ""], "kind-runs"],
    [["run", ""], "kind-definitions"],
    [["run", "a.yaml", "-a", ""], "kind-agents"],
    [["chat", "a.yaml", "--session", ""], "kind-threads"],
  ])("%j", async (words, kind) => {
    const io = await withStandIn("bash")
    const line = words.map((word) => `'${word}'`).join(" ")
    const text = `PATH="$1:$PATH"; source "$1/script"; COMP_WORDS=(superstep ${line}); COMP_CWORD=${words.length}; _superstep; printf '%s\\n' "\${COMPREPLY[@]}"`
    const printed = execFileSync("bash", ["-c", text, "bash", io.cwd], { encoding: "utf8" })
    expect(printed.split("\n")).toContain(kind)
  })
})

/** What a shell asks for at the end of a line, and what it offers by itself. */
const LINES: readonly (readonly [string, readonly string[]])[] = [
  ["superstep runs re", ["resume", "release", "retry", "replay"]],
  ["superstep runs show ", ["kind-runs"]],
  ["superstep runs diff x ", ["kind-runs"]],
  ["superstep respond ", ["kind-runs"]],
  ["superstep run ", ["kind-definitions"]],
  ["superstep delete ", ["kind-registered"]],
  ["superstep schedules show ", ["kind-schedules"]],
  ["superstep run a.yaml -a ", ["kind-agents"]],
  ["superstep chat a.yaml --session ", ["kind-threads"]],
  ["superstep export x --format ", ["yaml", "json"]],
  ["superstep runs events x --fo", ["--follow"]],
]

test.skipIf(!has("fish"))(
  "fish completes commands and flags, and asks for values of the store (needs fish)",
  async () => {
    const io = await withStandIn("fish")
    // One shell completes all lines: `complete -C` prints what a press of the tab key offers.
    const asked = LINES.map(([line]) => `echo '>'; complete -C '${line}'`).join("; ")
    const printed = execFileSync(
      "fish",
      ["-c", `set -p PATH $argv[1]; source $argv[1]/script; ${asked}`, io.cwd],
      { encoding: "utf8", env: { ...process.env, HOME: io.cwd } },
    )
    const offers = printed.split(">\n").slice(1)
    for (const [i, [line, wanted]] of LINES.entries()) {
      const words = (offers[i] ?? "").split("\n").map((one) => one.split("\t")[0])
      for (const word of wanted) expect(words, line).toContain(word)
    }
  },
)

/** An interactive zsh records what its completion adds, and the line after it. Its prompt says when it can be typed to. */
const INNER_ZSH = `
unsetopt prompt_sp
autoload -Uz compinit && compinit -D -u
source ./script
compadd() {
  local -a hits
  case "\${@[1,(i)(-|--)]}" in
    *-(O|A|D)*) builtin compadd "$@"; return ;;
  esac
  builtin compadd -A hits "$@"
  print -rl -- $hits >> ./hits
  builtin compadd "$@"
}
next() { print -r -- "> $BUFFER" >> ./hits; BUFFER="" }
zle -N next
bindkey '^T' next
bindkey '^I' complete-word
PROMPT='READY '
`
const OUTER_ZSH = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./inner.zsh'
zpty -r shell out '*READY *'
for line in "$@"; do zpty -w -n shell "$line"$'\t'$'\x14'; done
zpty -w shell exit
while zpty -r shell out; do :; done
`

test.skipIf(!has("zsh"))(
  "zsh completes commands and flags, and asks for values of the store (needs zsh)",
  async () => {
    const io = await withStandIn("zsh")
    writeFileSync(join(io.cwd, "inner.zsh"), INNER_ZSH)
    writeFileSync(join(io.cwd, "outer.zsh"), OUTER_ZSH)
    execFileSync("zsh", ["-f", "outer.zsh", ...LINES.map(([line]) => line)], {
      cwd: io.cwd,
      env: { ...process.env, HOME: io.cwd, PATH: `${io.cwd}:${process.env.PATH}`, TERM: "vt100" },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: 60_000,
    })
    const offers = readFileSync(join(io.cwd, "hits"), "utf8").split(/^> .*\n/m)
    for (const [i, [line, wanted]] of LINES.entries()) {
      const words = (offers[i] ?? "").split("\n")
      for (const word of wanted) expect(words, line).toContain(word)
      // Files are offered where a definition may be one.
      expect(words.includes("script"), line).toBe(line === "superstep run ")
    }
  },
)

test.each(["zsh", "fish"])("%s gets a script with every command", async (shell) => {
  const { code, stdout } = await superstep(["completion", shell])
  expect(code).toBe(0)
  for (const { name } of COMMANDS) expect(stdout).toContain(name)
  expect(stdout).toContain("follow")
  expect(stdout).toContain("__complete")
})

describe("the values of the store", () => {
  test("are run ids, threads and definitions; agents are those of the file", async () => {
    const helper = "agents: { root: { model: offline }, judge: { model: offline } }\n"
    const io = testIo({ files: { "helper.yaml": helper } })
    const values = async (...words: readonly string[]) =>
      (await superstep(["__complete", ...words], io)).stdout
    expect(await values("runs", "show")).toBe("")
    expect(existsSync(join(io.cwd, ".superstep"))).toBe(false)
    await superstep(["run", "helper.yaml", "Hi", "--run-id", "r1", "--thread", "ada", "--quiet"], io)
    await superstep(["run", "helper.yaml", "Hi", "--run-id", "has space", "--quiet"], io)
    expect(await values("runs", "runs", "show", "")).toBe("r1\n")
    expect(await values("threads", "chat", "")).toBe("ada\n")
    expect(await values("agents", "run", "helper.yaml", "-a", "")).toBe("root\njudge\n")
    expect(await values("definitions", "run", "")).toBe("")
  })
})

test("another shell is refused", async () => {
  expect(await superstep(["completion", "cmd"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("bash, zsh, fish"),
  })
})
