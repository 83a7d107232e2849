import { describe, expect, test } from "vitest"
import { fitsCommand, splitCommand } from "./command-line.ts"

describe("a command line without a shell", () => {
  test.each([
    ["git log -n 5", ["git", "log", "-n", "5"]],
    ["  ls\t-la  ", ["ls", "-la"]],
    ["echo 'a b' \"c d\"", ["echo", "a b", "c d"]],
    ["echo a'b'\"c\"d", ["echo", "abcd"]],
    ["echo '$HOME; rm *'", ["echo", "$HOME; rm *"]],
    ['echo "a \\" \\\\ \\n"', ["echo", 'a " \\ \\n']],
    ["echo a\\ b \\;", ["echo", "a b", ";"]],
    ["echo '' x", ["echo", "", "x"]],
    ["git show HEAD~1 stash@{0}", ["git", "show", "HEAD~1", "stash@{0}"]],
  ])("splits %j", (line, words) => {
    expect(splitCommand(line)).toEqual(words)
  })

  test.each([
    "ls; rm -rf /",
    "ls && rm x",
    "ls | sh",
    "ls & rm x",
    "ls > /etc/passwd",
    "cat < /etc/shadow",
    "echo $(id)",
    "echo `id`",
    'echo "$(id)"',
    'echo "`id`"',
    "echo $HOME",
    "ls\nrm x",
    "ls\r\nrm x",
    "cat *",
    "cat ~/.ssh/id_rsa",
    "ls # comment",
    "(ls)",
    "echo 'open",
    'echo "open',
    "echo \\",
    "ls \0",
    "",
    "   ",
    "''",
    "x".repeat(40_000),
  ])("refuses %j", (line) => {
    expect(() => splitCommand(line)).toThrow(expect.objectContaining({ code: "COMMAND_INVALID" }))
  })
})

describe("an allow pattern", () => {
  test.each([
    ["git status", "git status", true],
    ["git status", "git status -s", false],
    ["git status", "git", false],
    ["git log *", "git log", true],
    ["git log *", "git log -n 5 --stat", true],
    ["git log *", "git -c core.pager=sh log", false],
    ["ls", "./ls", false],
    ["ls", "/bin/ls", false],
    ["ls", "ls-evil", false],
    ["l*", "ls", false],
    ["cat docs/*.md", "cat docs/a.md", true],
    ["cat docs/*.md", "cat docs/a.md /etc/passwd", false],
    ["cat docs/*.md", "cat -n docs/a.md", false],
    ["cat docs/*.md", "cat docs/../secret.md", false],
    ["cat docs/*.md", "cat docs/../docs/a.md", true],
    ["cat docs/*.md", "cat ./docs/a.md", false],
    ["*", "anything at all", true],
  ])("%j on %j is %s", (pattern, line, expected) => {
    expect(fitsCommand(pattern, splitCommand(line), "all")).toBe(expected)
  })

  test("treats an argument with spaces as one argument", () => {
    expect(fitsCommand("echo a b", splitCommand("echo 'a b'"), "all")).toBe(false)
  })
})

describe("a deny pattern", () => {
  test.each([
    ["rm *", "rm -rf x", true],
    ["rm *", "/bin/rm x", true],
    ["rm *", "./rm x", true],
    ["rm *", "grm x", false],
    ["cat secrets/*", "cat secrets/key", true],
    ["cat secrets/*", "cat ./secrets/key", true],
    ["cat secrets/*", "cat docs/../secrets/key", true],
    ["cat secrets/*", "cat docs/a.md", false],
  ])("%j on %j is %s", (pattern, line, expected) => {
    expect(fitsCommand(pattern, splitCommand(line), "any")).toBe(expected)
  })
})
