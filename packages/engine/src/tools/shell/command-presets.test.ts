import { execFileSync } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { use } from "../tool-use.test-support.ts"
import { splitCommand } from "./command-line.ts"
import { fitPreset, presetNames, presetSummary, type ShellOptions, shell } from "./shell.ts"

const fits = (preset: string, line: string) => fitPreset(`preset:${preset}`, splitCommand(line)) !== undefined

describe("a preset", () => {
  test.each([
    ["git-read", "git status"],
    ["git-read", "git status -sb --porcelain=v2"],
    ["git-read", "git log --oneline -5 --stat HEAD~3..HEAD -- src"],
    ["git-read", "git log -n 5 --since=yesterday --author Ann --pretty=format:%h"],
    ["git-read", "git show HEAD:package.json"],
    ["git-read", "git diff --cached -U5 main...topic"],
    ["git-read", "git branch -a"],
    ["git-read", "git blame -L 1,5 x.ts"],
    ["inspect", "ls -la src"],
    ["inspect", "cat README.md"],
    ["inspect", "head -n 20 a b"],
    ["inspect", "head -20 a"],
    ["inspect", "grep -rniE 'a|b' src --include=x.ts"],
    ["inspect", "wc -l -- -odd-name"],
    ["npm-test", "npm test"],
    ["npm-test", "npm run lint --silent"],
    ["npm-test", "npm test -w packages/a"],
  ])("%s allows %j", (preset, line) => {
    expect(fits(preset, line)).toBe(true)
  })

  test.each([
    ["git-read", "git log --output=evil"],
    ["git-read", "git log --output evil"],
    ["git-read", "git log --outp=evil"],
    ["git-read", "git log '--output=evil'"],
    ["git-read", "git log --max-count --output=evil"],
    ["git-read", "git log -n --output=evil"],
    ["git-read", "git log --ext-diff"],
    ["git-read", "git log --textconv"],
    ["git-read", "git log --onelin"],
    ["git-read", "git log --stat=evil --Output=evil"],
    ["git-read", "git -c core.pager=sh log"],
    ["git-read", "git -C .. log"],
    ["git-read", "git --exec-path=. log"],
    ["git-read", "git grep -Osh x"],
    ["git-read", "git grep --open-files-in-pager=sh x"],
    ["git-read", "git diff --no-index a b"],
    ["git-read", "git diff /etc/passwd x"],
    ["git-read", "git diff -- ../x y"],
    ["git-read", "git branch evil"],
    ["git-read", "git branch -D main"],
    ["git-read", "git branch -- evil"],
    ["git-read", "git tag evil"],
    ["git-read", "git remote add evil x"],
    ["git-read", "git push"],
    ["git-read", "git config alias.x '!sh'"],
    ["git-read", "git"],
    ["git-read", "GIT log --oneline"],
    ["git-read", "./git log"],
    ["git-read", "git LOG"],
    ["inspect", "cat /etc/passwd"],
    ["inspect", "cat src/../../secret"],
    ["inspect", "cat '~/x'"],
    ["inspect", "cat 'C:\\x'"],
    ["inspect", "grep -f/etc/passwd x"],
    ["inspect", "grep --file=x y"],
    ["inspect", "grep -e x /etc/passwd"],
    ["inspect", "grep x --exclude=/etc"],
    ["inspect", "diff --to-file=/etc/passwd x"],
    ["inspect", "diff -l a b"],
    ["inspect", "tail -f x"],
    ["inspect", "sort -o evil x"],
    ["inspect", "find . -delete"],
    ["inspect", "rm x"],
    ["npm-test", "npm install evil"],
    ["npm-test", "npm run evil"],
    ["npm-test", "npm test -- --evil"],
    ["npm-test", "npm test --script-shell=sh"],
    ["npm-test", "npm test --prefix /tmp"],
    ["npm-test", "npm test -w ../evil"],
  ])("%s does not allow %j", (preset, line) => {
    expect(fits(preset, line)).toBe(false)
  })

  test("has a summary, and an unknown one has none", () => {
    for (const name of presetNames()) expect(presetSummary(name)).not.toBe("")
    expect(presetSummary("preset:git-read")).toContain("git log")
    for (const name of ["preset:evil", "preset:toString", "preset:"])
      expect(presetSummary(name)).toBeUndefined()
  })
})

describe.skipIf(process.platform === "win32")("the shell toolset", () => {
  let root: string
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root })
  const run = (cmd: string, allow: ShellOptions["allow"]) =>
    use(shell({ enabled: true, root, allow }), "shell", { cmd })

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), "presets-"))
    git("init", "-q")
    writeFileSync(join(root, "a.txt"), "one\n")
    git("add", "a.txt")
    git("commit", "-qm", "First")
  })
  afterEach(() => rmSync(root, { recursive: true, force: true }))

  test("runs the commands of a preset", async () => {
    const result = await run("git log --oneline -5 --stat", ["preset:git-read"])
    expect(result).toMatchObject({ exit_code: 0, stdout: expect.stringContaining("First") })
    for (const cmd of [
      "git status -sb",
      "git diff",
      "git show HEAD:a.txt",
      "git branch -a",
      "git blame a.txt",
    ]) {
      expect(await run(cmd, ["preset:git-read"])).toMatchObject({ exit_code: 0, stderr: "" })
    }
    expect(await run("cat a.txt", ["preset:inspect"])).toMatchObject({ stdout: "one\n" })
  })

  test("runs no program that the repository configures for diffs or status", async () => {
    const evil = join(root, "evil.sh")
    writeFileSync(evil, "#!/bin/sh\ntouch ran\n", { mode: 0o755 })
    git("config", "diff.external", evil)
    git("config", "core.fsmonitor", evil)
    git("config", "core.pager", evil)
    writeFileSync(join(root, "a.txt"), "two\n")
    for (const cmd of ["git diff", "git status", "git log -p", "git show"])
      await run(cmd, ["preset:git-read"])
    expect(existsSync(join(root, "ran"))).toBe(false)
    // Without the preset, the configured program runs.
    await run("git diff", ["git diff"])
    expect(existsSync(join(root, "ran"))).toBe(true)
  })

  test.each(["git log --output=evil", "git log --output evil", "git log '--out'put=evil"])(
    "writes no file for %s under a preset or a pattern",
    async (cmd) => {
      const before = readdirSync(root)
      for (const allow of [["preset:git-read"], ["git log *"], ["git *"]]) {
        await expect(run(cmd, allow)).rejects.toMatchObject({ code: "COMMAND_DENIED" })
      }
      expect(readdirSync(root)).toEqual(before)
      // The command writes the file if everything is allowed.
      await run(cmd, ["*"])
      expect(existsSync(join(root, "evil"))).toBe(true)
    },
  )

  test("reports the option that a pattern does not allow, and how to allow it", async () => {
    await expect(run("git log --output=evil", ["git log *"])).rejects.toThrow(
      '"git" is not allowed with these arguments. With --output=evil it can write files or run programs, which a "*" does not allow: ' +
        "write it out in a pattern to allow it. Allowed: git log *.",
    )
    expect(await run("git log --output=log.txt -1", ["git log --output=log.txt *"])).toMatchObject({
      exit_code: 0,
    })
    expect(existsSync(join(root, "log.txt"))).toBe(true)
  })

  test("a denied program is denied in any case and under any path", async () => {
    for (const cmd of ["GIT status", "/usr/bin/Git status", "git.exe status"]) {
      const denied = use(shell({ enabled: true, root, allow: ["*"], deny: ["git *"] }), "shell", { cmd })
      await expect(denied).rejects.toMatchObject({ code: "COMMAND_DENIED" })
    }
  })

  test.each([
    [
      ["preset:evil"],
      'Unknown preset "preset:evil". Presets: preset:git-read, preset:inspect, preset:npm-test.',
    ],
    [
      ["env *"],
      'The pattern "env *" allows every program, because env runs the program that its arguments name.',
    ],
    [["xargs *"], "allows every program"],
    [["sh -c *"], "allows every program"],
  ])("rejects allow %j", (allow, message) => {
    expect(() => shell({ enabled: true, root, allow })).toThrow(message)
    expect(() => shell({ enabled: true, root, allow })).toThrow(
      expect.objectContaining({ code: "SHELL_INVALID" }),
    )
  })

  test("rejects a preset in deny", () => {
    expect(() => shell({ enabled: true, root, allow: ["*"], deny: ["preset:inspect"] })).toThrow(
      expect.objectContaining({ code: "SHELL_INVALID" }),
    )
  })
})
