import { expect, test } from "vitest"
import { COMMANDS, loadCommand } from "../dispatch.ts"
import { terminal } from "../terminal/terminal.ts"
import { superstep, testIo } from "../test-io.test-support.ts"

async function commandLines(): Promise<string[][]> {
  const io = testIo()
  const cli = {
    io,
    out: terminal(io.stdout),
    err: terminal(io.stderr),
    isVerbose: false,
    exit: () => undefined,
  }
  const lines = await Promise.all(
    COMMANDS.map(async (entry) => {
      const below = (await loadCommand(entry, cli)).commands.map((command) => [entry.name, command.name()])
      return [[entry.name], ...below]
    }),
  )
  return lines.flat()
}

test("every help has one form: an imperative sentence, defaults in brackets, one example, 80 columns", async () => {
  for (const line of await commandLines()) {
    const { code, stdout, stderr } = await superstep([...line, "--help"])
    expect([line, code, stderr]).toEqual([line, 0, ""])
    expect(stdout).toContain(`Usage: superstep ${line.join(" ")}`)
    const [usage = "", about = ""] = stdout.split("\n\n")
    const sentence = about.replace(/\s+/g, " ")
    expect([line, usage.startsWith("Usage:"), sentence]).toEqual([
      line,
      true,
      expect.stringMatching(IMPERATIVE),
    ])
    expect([line, stdout.match(/^Examples?:\n {2}\S.*\n?$/gm)?.length]).toEqual([line, 1])
    expect([line, stdout.split("\nExample:\n")[1]?.trim().split("\n").length]).toEqual([line, 1])
    const options = stdout.replace(/\s+/g, " ")
    const defaults = options.match(/.{2}\bdefaults?\b:/gi) ?? []
    expect([line, defaults.filter((one) => !/(?:\(|, )default:$/.test(one))]).toEqual([line, []])
    expect([line, stdout.includes("default: [")]).toEqual([line, false])
    const described = stdout.match(/^ {2}-.*? {2,}(?=\S)\S.*/gm) ?? []
    expect([line, described.filter((one) => NOT_IMPERATIVE.test(one))]).toEqual([line, []])
    if (/<\w/.test(usage)) expect([line, stdout]).toEqual([line, expect.stringMatching(/^Arguments:$/m)])
    const long = stdout.split("\n").filter((one) => one.length > 80)
    expect([line, long]).toEqual([line, []])
  }
})

/** The description of an option that says what something is instead of what to do. */
const NOT_IMPERATIVE = / {2,}(?:an?|the|its?|this|where|what|who|whether|how|webhooks)\b/

/** One sentence that begins with a verb, not with its third person. */
const IMPERATIVE = /^(?:Do|[A-Z][a-z]*[a-rt-z]|Process|Pass),? (?:(?!\. ).)+\.$/

test("help accepts commands and subcommands", async () => {
  for (const words of [["runs"], ["runs", "list"]]) {
    const { code, stdout } = await superstep(["help", ...words])
    expect([code, stdout]).toEqual([0, (await superstep([...words, "--help"])).stdout])
  }
})

test.each([
  ["runs", "lst", "list, show, events"],
  ["storage", "report2", "report, prune"],
  ["index", "find", "add, search, list, rm"],
])("%s %s is an unknown command: the error lists the known ones", async (command, word, names) => {
  const { code, stderr } = await superstep([command, word])
  expect(code).toBe(2)
  const said = stderr.replace(/\s+/g, " ")
  expect(said).toContain(`superstep: Unknown command "superstep ${command} ${word}". Available: ${names}`)
})

test("commands that run nothing offer no label for a run", async () => {
  for (const command of ["validate", "graph", "eject", "apply", "diff"])
    expect((await superstep([command, "--help"])).stdout).not.toContain("--label")
  expect((await superstep(["run", "--help"])).stdout).toContain("--label")
})
