/**
 * What READMEs and docs show, as tests run it. Files are the blocks that open with a comment that is a file's name. Commands
 * are the lines of `console` blocks that begin with `$`, and what follows them is what they print on stdout; `…` on a line of
 * its own stands for any lines.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { PassThrough } from "node:stream"
import { formatWithOptions } from "node:util"
import { setTelemetry } from "superstep"
import { expect, vi } from "vitest"
import { main } from "../packages/superstep/src/command/dispatch.ts"

export const root: string = resolve(import.meta.dirname, "..")

/** Pages that a reader works through. One test runs every block of them, in order; the others leave them out. */
export const ORDERED_PAGES: readonly string[] = ["docs/goal.md", "docs/research.md"]

/** README.md and the pages of docs. */
export function docPages(): string[] {
  return ["README.md", ...readdirSync(join(root, "docs")).map((file) => join("docs", file))].filter((file) =>
    file.endsWith(".md"),
  )
}

export interface Block {
  readonly kind: string
  readonly text: string
  /** The file that it is, unless it is one of commands. */
  readonly file: string | undefined
}

export function blocksOf(page: string): Block[] {
  const text = readFileSync(join(root, page), "utf8")
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, kind = "", body = ""]) => {
    const [, name] =
      /^(?:#|\/\/|<!--) ([\w./-]+\.(?:ya?ml|json|ts|mjs|md|csv|sql))(?: -->)?\n/.exec(body) ?? []
    return { kind, text: body, file: kind === "console" ? undefined : name }
  })
}

/** The comment that names a Markdown file is no part of what it says. */
export function writeBlock({ text }: Block, path: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text.replace(/^<!--.*-->\n+/, ""))
}

export interface Shown {
  readonly line: string
  /** Undefined: a command other than superstep, which is for the reader. */
  readonly argv: readonly string[] | undefined
  readonly stdin: string
  readonly code: number
  readonly prints: readonly string[]
}

/** `$ echo "hi" | superstep exec a.yaml -   # exit 3`, and what it prints. */
export function shownIn({ kind, text }: Block): Shown[] {
  if (kind !== "console") return []
  return text
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = "", ...prints] = part.trimEnd().split("\n")
      const [, piped = "", command, code = "0"] =
        /^(?:echo "([^"]*)" \| )?(?:npx )?superstep (.*?)(?:\s+# exit (\d+))?$/.exec(line) ?? []
      const words = [...(command ?? "").matchAll(/"([^"]*)"|(\S+)/g)]
      const argv = command === undefined ? undefined : words.map(([, quoted, word]) => quoted ?? word ?? "")
      return { line, argv, stdin: piped, code: Number(code), prints }
    })
}

/** Runs a command in the folder, and expects what the page shows. */
export async function expectShown({ argv = [], stdin, code, prints }: Shown, cwd: string): Promise<void> {
  const { printed, errors, ended } = await run(argv, stdin, cwd)
  const command = argv.join(" ")
  expect(`${command}: ${ended}${ended === code ? "" : `\n${errors}`}`).toBe(`${command}: ${code}`)
  if (prints.length > 0 && !matches(prints, printed.split("\n"))) expect(printed).toBe(prints.join("\n"))
}

function matches(prints: readonly string[], printed: readonly string[]): boolean {
  const [first, ...rest] = prints
  if (first === undefined) return printed.length === 0
  if (first === "…") return printed.some((_, i) => matches(rest, printed.slice(i))) || matches(rest, [])
  return printed[0] === first && matches(rest, printed.slice(1))
}

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
  return { ended, printed: written.stdout.trimEnd(), errors: written.stderr }
}

/** Imports a module in the folder, and expects it to print what its comments say: `// -> …`. */
export async function expectPrinted(file: string, code: string, cwd: string): Promise<void> {
  const expected = [...code.matchAll(/\/\/ -> (.*)$/gm)].map((match) => match[1])
  const printed: string[] = []
  const log = vi.spyOn(console, "log").mockImplementation((...args) => {
    printed.push(formatWithOptions({ colors: false }, ...args))
  })
  // Exporters print objects; and what a snippet sets for the whole process must not reach the next one.
  const dir = vi.spyOn(console, "dir").mockImplementation(() => undefined)
  const home = process.cwd()
  process.chdir(cwd)
  try {
    await import(/* @vite-ignore */ file)
  } finally {
    process.chdir(home)
    setTelemetry(undefined)
    dir.mockRestore()
    log.mockRestore()
  }
  expect(printed).toEqual(expected)
}
