/**
 * What READMEs and docs show of the command line is run: files are the blocks that open with a comment that is a file's
 * name, commands are the lines of `console` blocks that begin with `$`, and what follows them is what they print on
 * stdout. `…` on a line of its own stands for any lines. Commands other than superstep are for the reader.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join, resolve } from "node:path"
import { PassThrough } from "node:stream"
import { expect, test } from "vitest"
import { main } from "../packages/superstep/src/command/dispatch.ts"

const root = resolve(import.meta.dirname, "..")
const pages = ["README.md", ...readdirSync(join(root, "docs")).map((file) => join("docs", file))].filter(
  (file) => file.endsWith(".md"),
)

interface Shown {
  readonly argv: readonly string[]
  readonly stdin: string
  readonly code: number
  readonly prints: readonly string[]
}

function blocksOf(page: string): { kind: string; text: string }[] {
  const text = readFileSync(join(root, page), "utf8")
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind = "", body = ""]) => ({
    kind,
    text: body,
  }))
}

function filesOf(page: string): Map<string, string> {
  const files = new Map<string, string>()
  for (const { kind, text } of blocksOf(page)) {
    const [, name] = /^(?:#|\/\/|<!--) ([\w./-]+\.(?:ya?ml|json|ts|mjs|md))(?: -->)?\n/.exec(text) ?? []
    if (name !== undefined && kind !== "console") files.set(name, text)
  }
  return files
}

/** `$ echo "hi" | superstep exec a.yaml -   # exit 3`, and what it prints. */
function shownIn(page: string): Shown[] {
  const shown: Shown[] = []
  for (const { kind, text } of blocksOf(page)) {
    if (kind !== "console") continue
    for (const part of text.split(/^\$ /m).slice(1)) {
      const [line = "", ...prints] = part.trimEnd().split("\n")
      const [, piped = "", command = "", code = "0"] =
        /^(?:echo "([^"]*)" \| )?(?:npx )?superstep (.*?)(?:\s+# exit (\d+))?$/.exec(line) ?? []
      if (command === "") continue
      const argv = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? "")
      shown.push({ argv, stdin: piped, code: Number(code), prints })
    }
  }
  return shown
}

function matches(prints: readonly string[], printed: readonly string[]): boolean {
  const [first, ...rest] = prints
  if (first === undefined) return printed.length === 0
  if (first === "…") return printed.some((_, i) => matches(rest, printed.slice(i))) || matches(rest, [])
  return printed[0] === first && matches(rest, printed.slice(1))
}

const withCommands = pages.filter((page) => shownIn(page).length > 0)

test("README and docs show commands", () => {
  expect(withCommands).toContain("README.md")
})

test.each(withCommands)("the commands of %s print what it says", { timeout: 120_000 }, async (page) => {
  const cwd = mkdtempSync(join(tmpdir(), "superstep-console-"))
  try {
    for (const [name, text] of filesOf(page)) {
      mkdirSync(dirname(join(cwd, name)), { recursive: true })
      writeFileSync(join(cwd, name), text)
    }
    for (const { argv, stdin, code, prints } of shownIn(page)) {
      const { printed, said, ended } = await run(argv, stdin, cwd)
      const command = argv.join(" ")
      expect(`${command}: ${ended}${ended === code ? "" : `\n${said}`}`).toBe(`${command}: ${code}`)
      if (prints.length > 0 && !matches(prints, printed.split("\n"))) expect(printed).toBe(prints.join("\n"))
    }
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
})

async function run(argv: readonly string[], typed: string, cwd: string) {
  const written = { stdout: "", stderr: "" }
  const stream = (name: "stdout" | "stderr") =>
    new PassThrough().setEncoding("utf8").on("data", (text: string) => {
      written[name] += text
    })
  const stdin = new PassThrough()
  stdin.end(typed)
  const io = { stdin, stdout: stream("stdout"), stderr: stream("stderr"), env: {}, cwd }
  const ended = await main(argv, { ...io, onInterrupt: () => () => undefined, exitNow: () => undefined })
  await new Promise((resolve) => setImmediate(resolve))
  return { ended, printed: written.stdout.trimEnd(), said: written.stderr }
}
