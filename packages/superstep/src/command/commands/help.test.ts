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

test("every command has a help that fits 80 columns, with an example", async () => {
  for (const line of await commandLines()) {
    const { code, stdout, stderr } = await superstep([...line, "--help"])
    expect([line, code, stderr]).toEqual([line, 0, ""])
    expect(stdout).toContain(`Usage: superstep ${line.join(" ")}`)
    expect([line, stdout.includes("Examples:")]).toEqual([line, true])
    const long = stdout.split("\n").filter((one) => one.length > 80)
    expect([line, long]).toEqual([line, []])
  }
})

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
